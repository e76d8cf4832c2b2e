"""The rows of the table about the job itself: name, time, order, files, environment, mail."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from jobs.parsing.fields import READERS
from jobs.parsing.moments import parse_moment
from jobs.parsing.options import readers
from jobs.parsing.options.export import read_export
from jobs.parsing.options.table import Option
from jobs.parsing.paths import parse_any_path

JOBWIDE: tuple[Option, ...] = (
    Option(
        name="job-name", example="train", short="J", field="name", reader=READERS["name"], text=_("Name.")
    ),
    Option(
        name="comment", example="second", field="comment", reader=READERS["comment"], text=_("A comment.")
    ),
    Option(
        name="time",
        example="1-12:00:00",
        short="t",
        field="time_limit_minutes",
        reader=readers.time_limit,
        text=_("Time limit."),
    ),
    Option(
        name="time-min",
        example="2:00:00",
        field="time_min_minutes",
        reader=readers.time_limit,
        text=_("To how little Slurm may cut the time limit for an earlier start."),
    ),
    Option(
        name="begin",
        example="2027-01-31T18:30",
        short="b",
        field="begin",
        reader=parse_moment,
        text=_("Not before this moment."),
    ),
    Option(
        name="deadline",
        example="2027-02-01",
        field="deadline",
        reader=parse_moment,
        text=_("Ended by this moment, or removed."),
    ),
    Option(
        name="signal",
        example="USR1@120",
        field="warning",
        also=("warning_batch",),
        reader=readers.warning,
        text=_("A signal some seconds before the time limit; B: (to the script) from v0.0.39."),
    ),
    Option(
        name="array",
        example="0-15%4",
        short="a",
        field="array",
        reader=READERS["array"],
        text=_("Tasks of an array."),
    ),
    Option(
        name="dependency",
        example="singleton",
        short="d",
        field="dependency",
        reader=READERS["dependency"],
        text=_("Other jobs for which this one waits."),
    ),
    Option(
        name="kill-on-invalid-dep",
        example="yes",
        field="kill_on_invalid_dependency",
        reader=readers.choice({"yes": True, "no": False}),
        text=_("Whether a job whose dependency can never be met is removed."),
    ),
    Option(
        name="hold",
        short="H",
        takes="nothing",
        field="hold",
        reader=readers.flag,
        text=_("Held until released."),
    ),
    Option(
        name="nice",
        example="50",
        takes="maybe",
        field="nice",
        reader=readers.nice,
        text=_("By how much the priority is lowered."),
    ),
    Option(
        name="priority",
        example="100",
        field="priority",
        reader=readers.priority,
        text=_("Priority; only operators of the cluster may set it."),
    ),
    Option(
        name="requeue",
        takes="maybe",
        field="requeue",
        also=("requeue_expedited",),
        reader=lambda text: (
            {"requeue": True, "requeue_expedited": True}
            if readers.choice({"": "", "expedite": "expedite"})(text)
            else {"requeue": True, "requeue_expedited": None}
        ),
        text=_("Started again after a failure of a node; =expedite from v0.0.45."),
    ),
    Option(
        name="no-requeue",
        takes="nothing",
        field="requeue",
        reader=lambda _text: False,
        text=_("Never started again."),
    ),
    Option(
        name="output",
        example="%x-%j.out",
        short="o",
        field="stdout",
        reader=readers.output_path,
        text=_("File of the output."),
    ),
    Option(
        name="error",
        example="%x-%j.err",
        short="e",
        field="stderr",
        reader=readers.output_path,
        text=_("File of the errors."),
    ),
    Option(
        name="input",
        example="in.txt",
        short="i",
        field="stdin",
        reader=readers.output_path,
        text=_("File of the input."),
    ),
    Option(
        name="open-mode",
        example="append",
        field="open_mode",
        reader=readers.open_mode,
        text=_("Whether output is added to a file that is there."),
    ),
    Option(
        name="chdir",
        example="runs",
        short="D",
        field="working_directory",
        reader=parse_any_path,
        text=_("Working directory; below your home unless it begins with /."),
    ),
    Option(
        name="export",
        example="ALL,STEPS=100",
        field="export",
        also=("environment",),
        reader=read_export,
        text=_("Which variables of the environment the job gets."),
    ),
    Option(
        name="get-user-env",
        takes="maybe",
        field="get_user_env",
        also=("environment",),
        reader=lambda text: readers.matching(r"\d*[LSls]?", "60L")(text) is not None,
        text=_("The environment of a login of yours on the node."),
    ),
    Option(
        name="mail-type",
        example="END,FAIL",
        field="mail_types",
        reader=readers.mail_types,
        adds_up=True,
        text=_("At which events Slurm sends mail."),
    ),
    Option(
        name="mail-user",
        example="ada@example.org",
        field="mail_user",
        reader=readers.mail_user,
        text=_("Who gets the mail."),
    ),
    Option(
        name="wckey",
        example="project",
        field="wckey",
        reader=readers.line,
        text=_("Key by which use is counted."),
    ),
    Option(
        name="profile",
        example="task",
        field="profile",
        reader=readers.profile,
        text=_("What is measured in detail."),
    ),
    Option(
        name="acctg-freq",
        example="task=30",
        field="accounting_frequency",
        reader=readers.matching(
            r"(?:\d+|(?i:task|energy|network|filesystem)=\d+)"
            r"(?:,(?i:task|energy|network|filesystem)=\d+)*",
            "task=30,energy=60",
        ),
        text=_("How often use is measured, in seconds."),
    ),
    Option(name="mcs-label", example="x", field="mcs_label", reader=readers.line, text=_("Security label.")),
    Option(
        name="context", example="x", field="selinux_context", reader=readers.line, text=_("SELinux context.")
    ),
    Option(
        name="container",
        example="/images/train",
        field="container",
        reader=parse_any_path,
        text=_("Folder of an OCI container."),
    ),
    Option(
        name="container-id",
        example="x",
        field="container_id",
        reader=readers.line,
        since=(23, 2),
        text=_("Id of an OCI container."),
    ),
    Option(
        name="container-type",
        example="x",
        field="container_type",
        reader=readers.line,
        since=(26, 5),
        text=_("Kind of container."),
    ),
    Option(
        name="extra",
        example="rack=1",
        field="extra",
        reader=readers.line,
        since=(23, 11),
        text=_("Filter of nodes, where it is on."),
    ),
)
