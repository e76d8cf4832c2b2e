"""What of a removal hangs, since when, and what an operator can do about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.db.models import Min
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from clusters.models import Cluster, StepEvent, StepState, StepStatus
from clusters.reasons import explain
from clusters.words import HELD_OUTSIDE, component_of, title_of
from portal.lib.types import JSONDict

HELD = re.compile(r" is held by (?P<names>\S+(?:, \S+)*) for ")
# By what a finalizer's name holds: who guards with it, and what to look at. The first that fits.
ADVICE: tuple[tuple[str, str], ...] = (
    (
        "metal3.io",
        gettext_noop(
            "Metal3 wipes the machine before it lets go. Look at the host's state and at its BMC."
            " Do not take this finalizer off: the machine would count as free without a wipe."
        ),
    ),
    (
        "argocd.argoproj.io",
        gettext_noop(
            "Argo CD removes what the Application made. Look at the Application there. If its cluster"
            " no longer exists, delete the Application without its resources (non-cascading)."
        ),
    ),
    (
        "fluxcd.io",
        gettext_noop(
            "Flux uninstalls the release first. Look at the conditions of the HelmRelease and at the log"
            " of helm-controller."
        ),
    ),
    (
        "slurm",
        gettext_noop("The Slurm operator empties its workers first. Look at running jobs and at its log."),
    ),
    (
        "loft",
        gettext_noop("The vCluster Platform takes the cluster's nodes back first. Look at it there."),
    ),
    (
        "foregroundDeletion",
        gettext_noop("Kubernetes removes what belongs to the object first. Look for what of it is left."),
    ),
)
IN_GENERAL = gettext_noop(
    "Look at the log of the controller that owns the finalizer. If that controller is gone for good: make"
    " sure by hand that what it guarded is gone, take the finalizer off this one object, then retry."
)
WITHOUT_A_NAME = gettext_noop("Look at the outside system; when it lets go, the next look goes on by itself.")


def hanging(cluster: Cluster, steps: Sequence[StepState]) -> list[JSONDict]:
    """The steps of a removal that are held outside or stalled, the last one of the plan first."""
    if cluster.wanted:
        return []
    found = [step for step in reversed(steps) if _hangs(step)]
    asked = _asked(cluster) if found else {}
    return [
        {
            "state": step,
            "title": title_of(step.name),
            "component": component_of(step.component),
            "why": explain(step.reason, step.message),
            "since": asked.get(step.name, step.since),
            "advice": advice(step.message),
        }
        for step in found
    ]


def advice(message: str) -> list[str]:
    """What to look at, for each finalizer that the message names."""
    held = HELD.search(message)
    if held is None:
        return [_(WITHOUT_A_NAME)]
    names = held["names"].split(", ")
    known = [next((text for part, text in ADVICE if part in name), IN_GENERAL) for name in names]
    return [_(text) for text in dict.fromkeys(known)]


def _hangs(step: StepState) -> bool:
    if step.status == StepStatus.STALLED:
        return True
    return step.status == StepStatus.REMOVING and step.reason in HELD_OUTSIDE


def _asked(cluster: Cluster) -> JSONDict:
    """Since when each step is asked to go."""
    rows = StepEvent.objects.filter(cluster=cluster, status=StepStatus.REMOVING).order_by()
    return dict(rows.values_list("step").annotate(at=Min("at")))
