"""The rows of the table that a portal cannot honour, and those that concern a terminal only."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from jobs.parsing.options.table import Option

_ENDS = _("sbatch prints something and submits nothing. Remove it.")
_OTHER_CLUSTER = _("A cluster is chosen by its page: open the form of the other cluster.")
_OTHER_USER = _("Jobs run as your own account in the cluster.")
_QUIET = _("It changes what sbatch prints, and nothing of the job.")

TERMINAL: tuple[Option, ...] = (
    Option(name="help", short="h", takes="nothing", refused=_ENDS),
    Option(name="usage", takes="nothing", refused=_ENDS),
    Option(name="version", short="V", takes="nothing", refused=_ENDS),
    Option(name="autocomplete", example="x", since=(23, 11), refused=_ENDS),
    Option(
        name="test-only",
        takes="nothing",
        refused=_("sbatch submits nothing with it. Remove it, and press Check to see what would be sent."),
    ),
    Option(name="clusters", example="other", short="M", refused=_OTHER_CLUSTER),
    Option(name="cluster", example="other", refused=_OTHER_CLUSTER),
    Option(name="cluster-constraint", example="x", refused=_OTHER_CLUSTER),
    Option(name="uid", example="root", refused=_OTHER_USER),
    Option(name="gid", example="root", refused=_OTHER_USER),
    Option(
        name="bbf",
        example="file",
        refused=_("It names a file on the machine of sbatch, which is not here. Write the lines as --bb."),
    ),
    Option(
        name="export-file",
        example="file",
        refused=_("It names a file on the machine of sbatch, which is not here. Use the field Environment."),
    ),
    Option(
        name="nodefile",
        example="file",
        short="F",
        refused=_(
            "It names a file on the machine of sbatch, which is not here. Write the nodes as --nodelist."
        ),
    ),
    Option(
        name="propagate",
        example="NOFILE",
        takes="maybe",
        refused=_("It hands on the limits of the machine of sbatch. Set limits by ulimit in the script."),
    ),
    Option(
        name="mem-bind",
        example="local",
        refused=_("No version of Slurm's API passes it on whole. Give it to srun in the script."),
    ),
    Option(
        name="power",
        example="level",
        until=(24, 5),
        refused=_("No version of Slurm's API carries it, and newer Slurm lost it."),
    ),
    Option(
        name="resv-ports",
        example="2",
        takes="maybe",
        since=(23, 11),
        refused=_("No version of Slurm's API carries it. Give it to srun in the script."),
    ),
    Option(
        name="external",
        takes="nothing",
        since=(25, 11),
        refused=_("A job that runs outside of Slurm has no script. Remove it."),
    ),
    Option(
        name="wrap",
        example="hostname",
        ignored=_("sbatch takes it on its command line only; in a script it does nothing."),
    ),
    Option(name="quiet", short="Q", takes="nothing", ignored=_QUIET),
    Option(name="verbose", short="v", takes="nothing", ignored=_QUIET),
    Option(name="parsable", takes="nothing", ignored=_QUIET),
    Option(
        name="wait",
        short="W",
        takes="nothing",
        ignored=_("sbatch would wait for the end; here the page of the job shows it."),
    ),
    Option(
        name="ignore-pbs",
        takes="nothing",
        ignored=_("#PBS lines are never read here."),
    ),
)
