"""How steps read to people, and whom an order waits for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils import translation
from django.utils.translation import get_language, gettext_noop, pgettext
from django.utils.translation import gettext as _

from clusters import told
from clusters.models import Cluster, Order, OrderKind, OrderState, StepState, StepStatus
from clusters.reasons import explain
from portal.lib.types import JSONDict

TITLES = {
    "machines": gettext_noop("Take machines"),
    "fabric": gettext_noop("Separate the network"),
    "slurm": gettext_noop("Start Slurm"),
    "identity": gettext_noop("Make accounts"),
    "smoke": gettext_noop("Run a test job"),
    "control-plane": gettext_noop("Start Kubernetes"),
    "nodes": gettext_noop("Join the nodes"),
    "access": gettext_noop("Open the access"),
    "gpu": gettext_noop("Set up the GPUs"),
    "addons": gettext_noop("Install the add-ons"),
    "home": gettext_noop("Provide home folders"),
    "accounting": gettext_noop("Start the accounting"),
    "accounts": gettext_noop("Make Slurm's users"),
    "isolation": gettext_noop("Show the isolation"),
}
OPERATOR, US, NOBODY = "an operator", "Freehold", "nobody"
HELD_OUTSIDE = frozenset(
    {"BeingRemoved", "Finalizer", "NamespaceEnding"}
)  # asked for, and not done there yet
# notes that no person wrote; stored with an order as they are here
SHRINKING = gettext_noop("By policy: shrinking needs no operator.")
ENDING = gettext_noop("By policy: an owner may end a cluster without an operator.")
POLICIES = frozenset({SHRINKING, ENDING})


def title_of(step: str) -> str:
    """A step's title; one that nobody named reads as it is called."""
    known = TITLES.get(step)
    return _(known) if known else step.replace("-", " ").capitalize()


def who_of(whom: str) -> str:
    """Whom something waits for, as it reads behind "waits for"; an unknown one as it is stored."""
    known = {
        OPERATOR: pgettext("waits for", "an operator"),
        US: pgettext("waits for", "Freehold"),
        NOBODY: pgettext("waits for", "nobody"),
        "running jobs": pgettext("waits for", "running jobs"),
        "the Kubernetes programs": pgettext("waits for", "the Kubernetes programs"),
        "jobs ahead in the queue": pgettext("waits for", "jobs ahead in the queue"),
    }
    return known.get(whom, whom)


def note_of(order: Order) -> str:
    """The note of the decision: as a person wrote it, or the policy in the reader's language."""
    return stored_policy(order.decision_note)


def stored_policy(note: str) -> str:
    """A note as it was stored: a policy in the reader's language, else what a person wrote."""
    return _(note) if note in POLICIES else note


def in_a_sentence(label: object) -> str:
    """A label as it reads within an English sentence. Elsewhere it stays, as German nouns must."""
    text = str(label)
    return text[:1].lower() + text[1:] if (get_language() or "en").startswith("en") else text


def is_phase(cluster: Cluster) -> str:
    """In which phase it is: a refusal's sentence."""
    phase = in_a_sentence(cluster.get_phase_display())
    return _("%(cluster)s is %(phase)s.") % {"cluster": cluster.name, "phase": phase}


def stored_order(label: str) -> str:
    """An order as an audit row calls it, in English, in the reader's language."""
    for kind in OrderKind:
        with translation.override(settings.LANGUAGE_CODE):
            english = str(kind.label)
        if label.startswith(f"{english} "):
            return f"{kind.label} {label.removeprefix(english).strip()}"
    return label


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whom something waits for, since when, and why."""

    who: str  # "an operator", "Freehold", "nobody", "running jobs"; `whom` is the word for it
    what: str  # a sentence
    since: dt.datetime | None = None
    reason: str = ""
    message: str = ""
    why: str = ""  # the reason in a sentence, with what was stored where the reader may know it

    @property
    def whom(self) -> str:
        """As it reads behind "waits for"."""
        return who_of(self.who)

    @property
    def is_ours(self) -> bool:
        """It goes on by itself, and nobody outside of the portal is waited for."""
        return self.who == US

    @property
    def needs_a_person(self) -> bool:
        """Nothing goes on by itself."""
        return self.who == OPERATOR


def waiting_of(order: Order, steps: Sequence[StepState]) -> Waiting | None:
    """Whom the order waits for; None when it is decided and done."""
    if order.state == OrderState.SUBMITTED:
        return _undecided(order)
    if order.state != OrderState.APPROVED:
        return None
    if order.kind == OrderKind.TERMINATE and order.cluster is not None and order.cluster.terminate_at:
        return Waiting(NOBODY, _("Removal is scheduled; it can be called off."), order.decided_at)
    return waiting_of_steps(steps) or Waiting(US, _("A worker is about to begin."), order.decided_at)


def _undecided(order: Order) -> Waiting:
    error = (order.plan or {}).get("error")
    if error:
        return Waiting(
            OPERATOR,
            _("An operator looks at the order; it cannot be built as things are."),
            order.submitted_at,
            str(error["reason"]),
            str(error["message"]),
            explain(str(error["reason"]), str(error["message"])),
        )
    return Waiting(OPERATOR, _("An operator looks at the order and its plan."), order.submitted_at)


def waiting_of_steps(steps: Iterable[StepState], *, inside: bool = False) -> Waiting | None:
    """Whom the work waits for: the first step that a person must see to, else the first that is under way.

    `inside`: for operators, with what drivers told; a tenant gets our words.
    """
    rows = list(steps)
    for step in rows:
        if step.status == StepStatus.STALLED:
            what = _("%(step)s needs a person; operators see it in their list.")
            return _waiting(step, OPERATOR, what, inside=inside)
        if step.status == StepStatus.DRIFTED:
            what = _("%(step)s was changed from outside; it works, and an operator decides about it.")
            return _waiting(step, OPERATOR, what, inside=inside)
    for step in rows:
        if step.waits_for:
            what = _("%(step)s goes on by itself then. No time runs out.")
            return _waiting(step, step.waits_for, what, inside=inside)
        if step.status == StepStatus.PROGRESSING:
            return _waiting(step, US, _("%(step)s, by %(component)s."), inside=inside)
        if step.status == StepStatus.REMOVING:
            # what Freehold has asked for is held by whoever guards it
            whom = component_of(step.component) if step.reason in HELD_OUTSIDE else US
            return _waiting(step, whom, _("Remove: %(step)s, by %(component)s."), inside=inside)
    return None


def _waiting(step: StepState, who: str, what: str, *, inside: bool) -> Waiting:
    words = {"step": title_of(step.name), "component": component_of(step.component)}
    why = explain(step.reason, step.message) if inside else told.detail_of(step)
    return Waiting(who, what % words, step.since, step.reason, step.message, why)


COMPONENTS = {
    "Freehold's local site": gettext_noop("Freehold's local site"),
    "This machine's user files": gettext_noop("This machine's user files"),
}


def component_of(stored: str) -> str:
    """Who provides a step; a product's own name stays."""
    known = COMPONENTS.get(stored)
    return _(known) if known else stored


def timeline_of(steps: Sequence[StepState], *, change: int = 0) -> list[JSONDict]:
    """Items of components/timeline.html. Of a change, steps that have not come to its generation yet wait."""
    if change:
        return [_of_change(step, change) for step in steps]
    return [
        {
            "title": title_of(step.name),
            "status": step.status,
            "component": component_of(step.component),
            "at": step.since if step.status != StepStatus.WAITING else None,
            "took": step.ready_at - step.started_at if step.ready_at and step.started_at else "",
            "reason": step.reason,
            "detail": told.detail_of(step)
            or ("" if step.status != StepStatus.WAITING else _("Waits its turn.")),
        }
        for step in steps
    ]


def _of_change(step: StepState, generation: int) -> JSONDict:
    waits = step.status == StepStatus.READY and step.generation < generation
    return {
        "title": title_of(step.name),
        "status": StepStatus.WAITING if waits else step.status,
        "component": component_of(step.component),
        "at": None if waits or step.status == StepStatus.READY else step.since,
        "reason": step.reason,
        "detail": _("Works as before; its turn comes.") if waits else told.detail_of(step),
    }
