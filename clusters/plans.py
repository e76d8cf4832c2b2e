"""How the lines of a stored plan read to people: plans are data, written in English by a worker."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from django.utils.translation import gettext, gettext_noop, ngettext

from clusters.models import Order, OrderKind
from clusters.words import component_of
from portal.lib.types import JSONDict

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
        re.compile(r"unix account (?P<account>\S+) \((?:member|observer|administrator)\)"),
        gettext_noop("unix account %(account)s"),
    ),
)
PORTS = re.compile(r"VPC (?P<vpc>\S+) with (?P<ports>\d+) switch ports? \(books only\)")


def said(line: str) -> str:
    """A line of a plan in the reader's language; one that nobody knows stays as it is."""
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
    return line


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


def _lines(told: object) -> list[str]:
    return [str(line) for line in told] if isinstance(told, Sequence) else []
