"""What a tenant is told of provisioning: our words, and a driver's own only about the tenant's things.

Drivers write for operators: their texts name hosts, controllers and namespaces of the provider. What a
tenant reads of such a step is the reason's sentence, or that operators see more. It fails closed: a
component that nobody listed counts as the provider's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

from clusters.models import StepState
from clusters.reasons import explain, sentence_of

# Components whose texts speak of the tenant's own cluster only.
OWN: set[str] = {"Slurm", "Kubernetes", "Freehold", "Freehold's local site", "This machine's user files"}
# Facts that a tenant needs, whoever tells them.
FACTS = frozenset({"api_version", "endpoint", "release", "url", "version"})
# What drivers say of these is a list of objects and fields, whoever the driver is.
INSIDE = frozenset(
    {"Drift", "Drifted", "Finalizer", "LeftOver", "NotPrunedYet", "NotTakenYet", "ObjectsMissing"}
)
# Written by a person for the tenant, or by Freehold about the site's free machines.
FOR_TENANTS = frozenset({"GivenUp", "NoCapacity"})


def is_own(component: str) -> bool:
    """Whether what this component tells is about the tenant's things only."""
    return component in OWN


def detail(component: str, reason: str, stored: str) -> str:
    """Why a step is as it is, for a tenant; "" where there is nothing to say."""
    if reason in FOR_TENANTS or (is_own(component) and reason not in INSIDE):
        return explain(reason, stored)
    if not reason:
        return ""  # all is well: what a driver says of it is for operators
    return sentence_of(reason) or _("Operators see the details.")


def detail_of(step: StepState) -> str:
    """The same, of a step's state."""
    return detail(step.component, step.reason, step.message)


def raw(component: str, reason: str, stored: str) -> str:
    """What the API gives as the message: as stored where a tenant may read it, else our sentence."""
    if reason in FOR_TENANTS or (is_own(component) and reason not in INSIDE):
        return stored
    return detail(component, reason, stored)


def facts_of(step: StepState) -> dict[str, str]:
    """What a step made, as far as a tenant may know."""
    return {
        str(name): str(value) for name, value in step.facts.items() if is_own(step.component) or name in FACTS
    }


def components(steps: Iterable[StepState]) -> Mapping[str, str]:
    """The component of each step by its name, for rows that know the name only."""
    return {step.name: step.component for step in steps}
