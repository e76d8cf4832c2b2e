"""The rows of the table that choose: which nodes, shared with whom, of which partition and account."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from jobs.parsing.fields import READERS
from jobs.parsing.moments import parse_seconds
from jobs.parsing.options import readers
from jobs.parsing.options.table import Option

_SHARING = readers.choice(
    {
        "": "exclusive",
        "exclusive": "exclusive",
        "allocation": "exclusive",
        "oversubscribe": "oversubscribe",
        "user": "user",
        "mcs": "mcs",
        "topo": "topo",
    }
)
_GRES_FLAGS = readers.choice({"disable-binding": "disable-binding", "enforce-binding": "enforce-binding"})
_DISTRIBUTION = readers.matching(
    r"(?i:(?:\*|block|cyclic|arbitrary)(?::(?:\*|block|cyclic|fcyclic)){0,2}(?:,(?:no)?pack)?|plane=\d+)",
    "block:cyclic",
)
_SEGMENTS = (26, 5)

PLACEMENT: tuple[Option, ...] = (
    Option(
        name="constraint",
        short="C",
        field="constraint",
        reader=readers.line,
        text=_("Features that the nodes must have."),
    ),
    Option(name="prefer", field="prefer", reader=readers.line, text=_("Features that are preferred.")),
    Option(
        name="batch",
        field="batch_constraint",
        reader=readers.line,
        text=_("Features of the node on which the script runs."),
    ),
    Option(
        name="nodelist",
        short="w",
        field="nodelist",
        reader=readers.node_names,
        text=_("Nodes that must be among those of the job."),
    ),
    Option(
        name="exclude",
        short="x",
        field="exclude",
        reader=readers.node_names,
        text=_("Nodes that must not be among those of the job."),
    ),
    Option(
        name="exclusive",
        takes="maybe",
        field="sharing",
        reader=_SHARING,
        text=_("No other job on the nodes."),
    ),
    Option(
        name="oversubscribe",
        short="s",
        takes="nothing",
        field="sharing",
        reader=lambda _text: "oversubscribe",
        text=_("Other jobs may share the resources."),
    ),
    Option(
        name="overcommit",
        short="O",
        takes="nothing",
        field="overcommit",
        reader=readers.flag,
        text=_("More tasks than CPUs."),
    ),
    Option(
        name="contiguous",
        takes="nothing",
        field="contiguous",
        reader=readers.flag,
        text=_("Nodes that are numbered one after the other."),
    ),
    Option(
        name="spread-job",
        takes="nothing",
        field="spread",
        reader=readers.flag,
        text=_("Over as many nodes as possible."),
    ),
    Option(
        name="use-min-nodes",
        takes="nothing",
        field="fewest_nodes",
        reader=readers.flag,
        text=_("On as few nodes of a range as possible."),
    ),
    Option(
        name="distribution",
        short="m",
        field="distribution",
        reader=_DISTRIBUTION,
        text=_("How srun lays tasks out over nodes, sockets and cores."),
    ),
    Option(
        name="switches",
        field="switches",
        also=("switches_wait",),
        reader=readers.switches,
        text=_("Most network switches between the nodes, and how long to wait for that."),
    ),
    Option(
        name="segment",
        field="segment_size",
        reader=readers.count(most=65534),
        since=(24, 11),
        text=_("Nodes of each segment in a block topology."),
    ),
    Option(
        name="spread-segments",
        takes="nothing",
        field="spread_segments",
        reader=readers.flag,
        since=_SEGMENTS,
        text=_("Each segment in a block of its own."),
    ),
    Option(
        name="consolidate-segments",
        takes="nothing",
        field="consolidate_segments",
        reader=readers.flag,
        since=_SEGMENTS,
        text=_("Segments in as few blocks as possible."),
    ),
    Option(
        name="core-spec",
        short="S",
        field="core_spec",
        reader=readers.count(most=32767),
        text=_("Cores of each node that are kept for the system."),
    ),
    Option(
        name="thread-spec",
        field="thread_spec",
        reader=readers.count(most=32767),
        text=_("Threads of each node that are kept for the system."),
    ),
    Option(
        name="cpu-freq",
        field="cpu_frequency",
        reader=readers.matching(r"[\w:-]+", "medium, 2400000-2600000:performance"),
        text=_("Frequency of CPUs."),
    ),
    Option(
        name="licenses", short="L", field="licenses", reader=readers.line, text=_("Licences of software.")
    ),
    Option(
        name="resources",
        field="resources",
        also=("licenses",),
        reader=readers.line,
        since=(25, 11),
        text=_("Resources of a hierarchy; they are sent among the licences."),
    ),
    Option(
        name="network",
        field="network",
        reader=readers.line,
        text=_("Network of the nodes, where it has kinds."),
    ),
    Option(name="bb", field="burst_buffer", reader=readers.line, text=_("Burst buffer, where there is one.")),
    Option(
        name="partition",
        short="p",
        field="partition",
        reader=readers.names,
        text=_("Partition, or several of which the earliest is taken."),
    ),
    Option(
        name="reservation",
        field="reservation",
        reader=readers.names,
        text=_("Reservation, or several."),
    ),
    Option(name="account", short="A", field="account", reader=READERS["account"], text=_("Slurm account.")),
    Option(name="qos", short="q", field="qos", reader=readers.names, text=_("Quality of service.")),
    Option(
        name="wait-all-nodes",
        field="wait_all_nodes",
        reader=readers.choice({"0": False, "1": True}),
        text=_("Whether the script starts before all nodes have booted."),
    ),
    Option(
        name="reboot",
        takes="nothing",
        field="reboot",
        reader=readers.flag,
        text=_("Nodes are booted anew before the job; for administrators."),
    ),
    Option(
        name="delay-boot",
        field="delay_boot",
        reader=parse_seconds,
        text=_("How long to wait for nodes that need no boot."),
    ),
    Option(
        name="no-kill",
        short="k",
        takes="maybe",
        field="keep_on_node_failure",
        reader=readers.choice({"": True, "set": True, "off": None, "no": None}),
        text=_("The job goes on when one of its nodes fails."),
    ),
    Option(
        name="oom-kill-step",
        takes="maybe",
        field="oom_kill_step",
        reader=readers.choice({"": True, "1": True, "0": False}),
        since=(24, 5),
        text=_("Whether a whole step ends when one of its tasks is out of memory."),
    ),
    Option(
        name="stepmgr",
        takes="nothing",
        field="step_manager",
        reader=readers.flag,
        since=(24, 5),
        text=_("Steps are managed on the first node."),
    ),
)
