"""How the lines of a stored plan read to people: plans are data, written in English by a worker."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from django.utils.translation import gettext, gettext_noop, ngettext

from clusters.models import Order, OrderKind
from clusters.told import is_own
from clusters.touched import counted
from clusters.words import component_of
from portal.lib.types import JSONDict

NUMBERS = r"(?P<members>\d+) of members who may submit jobs, (?P<own>\d+) of Freehold's own"
# what drivers write, with its changing parts, and how it is said
SAID: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"machine (?P<machine>\S+) for pool (?P<pool>\S+)"),
        gettext_noop("machine %(machine)s for pool %(pool)s"),
    ),
    (
        re.compile(r"slurmctld and slurmrestd of cluster (?P<cluster>\S+), with keys of their own"),
        gettext_noop("slurmctld and slurmrestd of cluster %(cluster)s, with keys of their own"),
    ),
    (
        re.compile(r"node (?P<node>\S+) of pool (?P<pool>\S+) \(simulated\)"),
        gettext_noop("node %(node)s of pool %(pool)s (simulated)"),
    ),
    (
        re.compile(r"API server of cluster (?P<cluster>\S+), with a store and keys of its own"),
        gettext_noop("API server of cluster %(cluster)s, with a store and keys of its own"),
    ),
    (
        re.compile(r"rights of (?P<account>\S+) in it: nodes, and accounts of members"),
        gettext_noop("rights of %(account)s in it: nodes, and accounts of members"),
    ),
    (
        re.compile(r"slurmdbd of cluster (?P<cluster>\S+), with a database and a password of its own"),
        gettext_noop("slurmdbd of cluster %(cluster)s, with a database and a password of its own"),
    ),
    (
        re.compile(r"slurmd (?P<node>\S+) in partition (?P<pool>\S+)"),
        gettext_noop("slurmd %(node)s in partition %(pool)s"),
    ),
    (
        re.compile(r"a test job in partition (?P<pool>\S+) on one GPU"),
        gettext_noop("a test job in partition %(pool)s on one GPU"),
    ),
    (
        re.compile(r"a test job in partition (?P<pool>\S+)"),
        gettext_noop("a test job in partition %(pool)s"),
    ),
    (
        re.compile(rf"accounts in this machine's user files: {NUMBERS}"),
        gettext_noop(
            "accounts in this machine's user files: %(members)s of members who may submit jobs,"
            " %(own)s of Freehold's own"
        ),
    ),
    (
        re.compile(rf"accounts by files in Slurm's pods: {NUMBERS}"),
        gettext_noop(
            "accounts by files in Slurm's pods: %(members)s of members who may submit jobs,"
            " %(own)s of Freehold's own"
        ),
    ),
    (
        re.compile(rf"accounts by the site's SSSD: {NUMBERS}"),
        gettext_noop(
            "accounts by the site's SSSD: %(members)s of members who may submit jobs,"
            " %(own)s of Freehold's own"
        ),
    ),
    (
        re.compile(r"Slurm account (?P<account>\S+) with the cluster's accounts as its users"),
        gettext_noop("Slurm account %(account)s with the cluster's accounts as its users"),
    ),
    (
        re.compile(r"unix account (?P<account>\S+) \((?:member|observer|administrator)\)"),
        gettext_noop("unix account %(account)s"),
    ),
    (
        re.compile(r"account (?P<account>\S+) \((?:member|observer|administrator)\)"),
        gettext_noop("account %(account)s"),
    ),
    (
        re.compile(r"a shared volume of (?P<size>\S+) for home folders, of class \S+"),
        gettext_noop("a shared volume of %(size)s for home folders"),
    ),
    (
        re.compile(r"partition (?P<pool>\S+): (?P<workers>\d+) workers of (?P<flavor>\S+)"),
        gettext_noop("partition %(pool)s: %(workers)s workers of %(flavor)s"),
    ),
    (
        re.compile(r"a quota in namespace default: (?P<pods>\d+) pods, (?P<gpus>\d+) GPUs"),
        gettext_noop("a quota in namespace default: %(pods)s pods, %(gpus)s GPUs"),
    ),
    (
        re.compile(r"a test job in queue (?P<queue>\S+)"),
        gettext_noop("a test job in queue %(queue)s"),
    ),
    (
        re.compile(r"tokens of this cluster tried at other tenants' servers"),
        gettext_noop("tokens of this cluster tried at other tenants' servers"),
    ),
    (
        re.compile(r"machines compared with switch ports and nodes"),
        gettext_noop("machines compared with switch ports and nodes"),
    ),
)
PORTS = re.compile(r"VPC (?P<vpc>\S+) with (?P<ports>\d+) switch ports? \(books only\)")


def said(line: str) -> str:
    """A line of a plan in the reader's language; one that nobody knows stays as it is."""
    return _known(line) or line


def _known(line: str) -> str:
    if found := PORTS.fullmatch(line):
        text = ngettext(
            "VPC %(vpc)s with %(ports)d switch port (books only)",
            "VPC %(vpc)s with %(ports)d switch ports (books only)",
            int(found["ports"]),
        )
        return text % {"vpc": found["vpc"], "ports": int(found["ports"])}
    for pattern, text in SAID:
        if found := pattern.fullmatch(line):
            return gettext(text) % found.groupdict()
    return ""


def made_by(order: Order, step: Mapping[str, object]) -> JSONDict:
    """What a step of the order's plan makes and ends, and by whom, as it is shown."""
    makes = [said(line) for line in _lines(step.get("makes"))]
    if not makes and step.get("name") == "identity" and order.kind == OrderKind.CREATE:
        # who is a member is read when the accounts are made, not when the plan is
        makes = [gettext("an account for each member who may submit jobs")]
    return {
        "component": component_of(str(step.get("component", ""))),
        "makes": makes,
        "ends": [said(line) for line in _lines(step.get("ends"))],
    }


def for_tenant(order: Order, step: Mapping[str, object]) -> JSONDict:
    """The same without what is the provider's: no manifests, and lines that nobody vetted by number."""
    lines = {name: readable(step, name) for name in ("makes", "ends")}
    told: JSONDict = {**step, **lines}
    hidden = sum(len(_lines(step.get(name))) - len(shown) for name, shown in lines.items())
    # who is a member is not known to the plan: only a plan without lines says so
    made = made_by(order, told if not hidden else {**told, "name": ""})
    more = counted(step)
    if hidden and not more:
        more = [ngettext("%(count)d more thing", "%(count)d more things", hidden) % {"count": hidden}]
    return {"name": step.get("name"), **made, "counted": more}


def readable(step: Mapping[str, object], name: str) -> list[str]:
    """The lines `makes` or `ends` of a step that a tenant may read, as they are stored."""
    own = is_own(str(step.get("component", "")))
    return [line for line in _lines(step.get(name)) if own or _known(line)]


def _lines(told: object) -> list[str]:
    return [str(line) for line in told] if isinstance(told, Sequence) else []
