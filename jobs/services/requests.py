"""The request of a submit: made from a draft, kept without its secrets, and made again to be resent."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from django.utils.translation import gettext as _

from clusters.clients.slurmrest.models import SubmitRequest
from clusters.models import SlurmIdentity, StepState
from jobs.models import Submission
from jobs.observer.marks import add_mark, split_mark
from jobs.parsing.environment import safe_environment
from jobs.services.drafts import BY_DEFAULT, Draft
from portal.lib import crypto
from portal.lib.errors import WrongState
from portal.lib.types import JSONDict

_NOT_KEPT = ("script", "environment")


def build(draft: Draft, *, identity: SlurmIdentity, mark: str) -> tuple[SubmitRequest, dict[str, str]]:
    """(request, where each of its values came from). What is blank is not in the request at all."""
    home = home_of(identity)
    values: dict[str, Any] = dict(draft.values)
    origins = dict(draft.origins)
    if "working_directory" not in values:
        values["working_directory"], origins["working_directory"] = home, BY_DEFAULT
    values["comment"] = add_mark(values.get("comment"), mark)
    environment = safe_environment(account=identity.name, home=home) | dict(draft.environment)
    return SubmitRequest(script=draft.script, environment=environment, **values), origins


def home_of(identity: SlurmIdentity) -> str:
    """The account's home in the cluster. Raises WrongState until the account was seen working."""
    step = StepState.objects.filter(cluster_id=identity.cluster_id, name="identity").first()
    facts = step.facts if step else {}
    if identity.name not in str(facts.get("accounts", "")).split(",") or not facts.get("homes"):
        raise WrongState(
            _("Your account in this cluster is still being made."), hint=_("Try again in a few seconds.")
        )
    return f"{facts['homes']}/{identity.name}"


def to_json(request: SubmitRequest) -> JSONDict:
    """To be kept and shown: what is set, without script, environment values and our mark."""
    built: JSONDict = msgspec.to_builtins(request)
    # 0 is a value (all memory of the node), so nothing is dropped for being false
    shown = {
        name: value
        for name, value in built.items()
        if name not in _NOT_KEPT and value is not None and value is not False
    }
    comment, _ = split_mark(request.comment or "")
    shown.pop("comment", None)
    if comment:
        shown["comment"] = comment
    shown["environment"] = sorted(request.environment)
    return shown


def seal_environment(request: SubmitRequest) -> bytes:
    """The values, for the submitter only."""
    return crypto.seal(json.dumps(request.environment).encode())


def unseal_environment(submission: Submission) -> dict[str, str]:
    """The values again."""
    values: dict[str, str] = json.loads(crypto.unseal(bytes(submission.sealed_environment)))
    return values


def own_environment(submission: Submission) -> dict[str, str]:
    """The values that the submitter typed, without the safe ones that every job gets."""
    values = unseal_environment(submission)
    safe = safe_environment(account=submission.identity.name, home=values.get("HOME", ""))
    return {name: value for name, value in values.items() if safe.get(name) != value}


def again(submission: Submission) -> SubmitRequest:
    """The same request, with the same mark."""
    kept = {name: value for name, value in submission.request.items() if name != "environment"}
    kept["comment"] = add_mark(kept.get("comment"), submission.mark)
    kept["script"] = submission.script
    kept["environment"] = unseal_environment(submission)
    return msgspec.convert(kept, SubmitRequest)
