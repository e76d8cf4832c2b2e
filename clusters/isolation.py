"""What keeps a cluster apart from other tenants: each layer, who provides it, the last check, its evidence.

It tells what steps saw and what the books say, and says so where nothing checks a layer.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from clusters import fact_words, told
from clusters.isolation_words import CHECKS, PASSED, said
from clusters.models import Allocation, Cluster, SlurmIdentity, StepState, StepStatus
from clusters.words import component_of
from portal.lib.cells import csv_line
from portal.lib.types import JSONDict

# step, layer, what holds there
LAYERS: tuple[tuple[str, str, str], ...] = (
    (
        "machines",
        gettext_noop("Machines"),
        gettext_noop(
            "Machines that are allocated to this cluster and to no other; a database rule holds it."
        ),
    ),
    (
        "fabric",
        gettext_noop("Network"),
        gettext_noop("A network of its own, with the ports of these machines only."),
    ),
    (
        "control-plane",
        gettext_noop("Control plane"),
        gettext_noop("An API server of its own, with a store and keys of its own."),
    ),
    (
        "nodes",
        gettext_noop("Nodes"),
        gettext_noop("The API server lists the nodes of this cluster and no others."),
    ),
    ("slurm", "Slurm", gettext_noop("A Slurm of its own, whose tokens are signed by a key of its own.")),
    (
        "identity",
        gettext_noop("Accounts"),
        gettext_noop("Accounts of this cluster's own, each shown to run as itself."),
    ),
    (
        "isolation",
        gettext_noop("Other tenants' servers"),
        gettext_noop("This cluster's tokens are refused by the servers of other clusters."),
    ),
)
# without these layers there is something to say: nobody provides or checks it at the site
ALWAYS = frozenset({"machines", "fabric", "isolation"})
STATUS = {
    StepStatus.READY: "good",
    StepStatus.STALLED: "attention",
    StepStatus.DRIFTED: "attention",
    StepStatus.GONE: "ended",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """One wall: `status` is good, attention, waiting, ended or unknown."""

    name: str
    component: str
    holds: str
    status: str
    checked_at: dt.datetime | None
    evidence: tuple[tuple[str, str], ...]
    why: str = ""  # why it is not good


def layers(cluster: Cluster) -> list[Layer]:
    """In the order of design; of a cluster that was found through the door. Three queries."""
    steps = {step.name: step for step in StepState.objects.filter(cluster=cluster)}
    rows = Allocation.objects.filter(pool__cluster=cluster, released_at=None).select_related("machine")
    machines = list(rows.order_by("machine__name"))
    return [
        _layer(name, _(title), _(holds), steps.get(name), machines)
        for name, title, holds in LAYERS
        if name in steps or name in ALWAYS
    ]


def _layer(
    name: str, title: str, holds: str, step: StepState | None, machines: Sequence[Allocation]
) -> Layer:
    evidence = tuple(_machines(machines)) if name == "machines" else ()
    if step is None:
        why = _("No step of this site provides or checks this.")
        return Layer(title, "", holds, "unknown", None, evidence, why)
    status, why = STATUS.get(StepStatus(step.status), "waiting"), told.detail_of(step)
    checked = step.observed_at
    if name == "isolation":
        evidence, checked = tuple(_checks(step)), _moment(step.facts.get("checked_at"))
        if status == "good" and not any(str(found).startswith(PASSED) for found in step.facts.values()):
            # what was not tried is not good
            status, why = "unknown", _("Nothing of this could be tried; the evidence says why.")
    elif name != "machines":
        evidence = tuple(fact_words.shown(step))
    if name == "identity":
        evidence = tuple(_accounts(step, evidence))
    component = component_of(step.component)
    return Layer(title, component, holds, status, checked, evidence, "" if status == "good" else why)


def _accounts(step: StepState, evidence: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The evidence, with accounts of who left told apart: closed, and never given to anybody else."""
    there = [name for name in str(step.facts.get("accounts", "")).split(",") if name]
    rows = SlurmIdentity.objects.filter(cluster=step.cluster_id, active=True)
    usable = set(rows.values_list("name", flat=True))
    for name, value in evidence:
        if name == fact_words.word_of("accounts"):
            yield name, ", ".join(one for one in there if one in usable)
        else:
            yield name, value
    if closed := [one for one in there if one not in usable]:
        yield _("Closed, and never given to anybody else"), ", ".join(closed)


def _checks(step: StepState) -> Iterator[tuple[str, str]]:
    """Each check with what it found."""
    for name, title in CHECKS:
        if found := str(step.facts.get(name, "")):
            yield _(title), said(found)


def _moment(stored: object) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(str(stored))
    except ValueError:
        return None


def _machines(rows: Sequence[Allocation]) -> Iterator[tuple[str, str]]:
    """Each with since when it is here, and when it was wiped before."""
    for row in rows:
        wiped = f"{row.machine.wiped_at:%Y-%m-%d %H:%M} UTC" if row.machine.wiped_at else _("never here")
        yield (
            row.machine.name,
            _("here since %(since)s; last wiped: %(wiped)s")
            % {"since": f"{row.allocated_at:%Y-%m-%d %H:%M} UTC", "wiped": wiped},
        )


def as_json(cluster: Cluster, found: Sequence[Layer], *, at: dt.datetime) -> str:
    """For auditors: the same as on the page."""
    content: JSONDict = {
        "cluster": cluster.external_name,
        "name": cluster.name,
        "tenant": cluster.tenant.slug,
        "made_at": at.isoformat(),
        "layers": [
            {
                "layer": one.name,
                "component": one.component,
                "holds": one.holds,
                "status": one.status,
                "checked_at": one.checked_at.isoformat() if one.checked_at else None,
                "evidence": [{"name": name, "value": value} for name, value in one.evidence],
                "why": one.why,
            }
            for one in found
        ],
    }
    return json.dumps(content, ensure_ascii=False, indent=2)


def as_csv(found: Sequence[Layer]) -> str:
    """One line for each piece of evidence."""
    lines = [csv_line(["layer", "component", "holds", "status", "checked_at", "evidence", "value", "why"])]
    for one in found:
        checked = one.checked_at.isoformat() if one.checked_at else ""
        for name, value in one.evidence or (("", ""),):
            lines.append(
                csv_line([one.name, one.component, one.holds, one.status, checked, name, value, one.why])
            )
    return "".join(lines)
