"""The request of a submit: made from a draft, kept without its secrets, and made again to be resent."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from typing import Any

import msgspec
from django.utils.translation import gettext as _

from clusters.clients.slurmrest.models import JobSpec, SubmitRequest
from jobs.models import Submission
from jobs.observer.marks import add_mark, split_mark
from jobs.parsing.client_environment import component_variables, exported, is_of_client, job_variables
from jobs.parsing.environment import safe_environment
from jobs.services.drafts import BY_DEFAULT, GIVEN, Draft
from portal.lib import crypto
from portal.lib.errors import WrongState
from portal.lib.types import JSONDict

_NOT_KEPT = ("script", "environment", "components")


def assemble(draft: Draft, *, account: str, home: str, mark: str) -> tuple[SubmitRequest, dict[str, str]]:
    """(request, where each of its values came from). What is blank is not in the request at all."""
    values: dict[str, Any] = dict(draft.values)
    origins = dict(draft.origins)
    is_given = origins.get("working_directory") in GIVEN
    submit_directory = values["working_directory"] if is_given else home
    if "working_directory" not in values:
        values["working_directory"], origins["working_directory"] = home, BY_DEFAULT
    values["working_directory"] = posixpath.join(home, values["working_directory"])
    values["comment"] = add_mark(values.get("comment"), mark)
    environment = exported(safe_environment(account=account, home=home), draft.environment, draft.export)
    environment |= _of_client(draft, submit_directory)
    request = SubmitRequest(
        script=draft.script,
        environment=environment,
        components=tuple(JobSpec(**part) for part in _components(draft, values, home=home)),
        **_sendable(values, draft),
    )
    return request, origins


def _of_client(draft: Draft, submit_directory: str) -> dict[str, str]:
    """The variables that sbatch itself adds."""
    found = job_variables(
        draft.values,
        draft.target,
        submit_directory=submit_directory,
        rule=draft.export,
        login=draft.login_environment,
    )
    if not draft.more:
        return found | component_variables(draft.values, draft.target)
    for index, part in enumerate((draft.values, *draft.more)):
        found |= component_variables(part, draft.target, component=index)
    return found


def _components(draft: Draft, first: dict[str, Any], *, home: str) -> list[dict[str, Any]]:
    """The further components; a file that is named once for several is in the folder of the first of them."""
    parts: list[dict[str, Any]] = []
    before, prefix = first, ""
    for index, part in enumerate(draft.more, start=1):
        own = _sendable(part, draft)
        folder = own.get("working_directory", first["working_directory"])
        own["working_directory"] = posixpath.join(home, folder)
        for name in ("stdin", "stdout", "stderr"):
            if name in own and draft.origins.get(f"{index}.{name}") == draft.origins.get(f"{prefix}{name}"):
                own[name] = posixpath.join(before["working_directory"], before[name])
        parts.append(own)
        before, prefix = own, f"{index}."
    return parts


def _sendable(values: Mapping[str, Any], draft: Draft) -> dict[str, Any]:
    """Without what only srun reads, from the environment: a hint, and a layout that the API drops."""
    kept = {name: value for name, value in values.items() if name != "hint"}
    if not draft.target.carries("distribution"):
        kept.pop("distribution", None)
    return kept


def home_in(facts: Mapping[str, object] | None, account: str) -> str:
    """The account's home, of what the identity step tells. Raises WrongState until it was seen working."""
    found = facts or {}
    if account not in str(found.get("accounts", "")).split(",") or not found.get("homes"):
        raise WrongState(
            _("Your account in this cluster is still being made."), hint=_("Try again in a few seconds.")
        )
    return f"{found['homes']}/{account}"


def to_json(request: SubmitRequest) -> JSONDict:
    """To be kept and shown: what is set, without script, environment values and our mark."""
    shown = _set_values(request)
    comment, _ = split_mark(request.comment or "")
    shown.pop("comment", None)
    if comment:
        shown["comment"] = comment
    if request.components:
        shown["components"] = [_set_values(part) for part in request.components]
    shown["environment"] = sorted(request.environment)
    return shown


def _set_values(spec: JobSpec) -> JSONDict:
    """0 and False are values (all memory of the node, no requeue): only what is not set is left out."""
    built: JSONDict = msgspec.to_builtins(spec)
    return {
        name: value
        for name, value in built.items()
        if name not in _NOT_KEPT and value is not None and not (name == "hold" and value is False)
    }


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
    return {
        name: value for name, value in values.items() if safe.get(name) != value and not is_of_client(name)
    }


def again(submission: Submission) -> SubmitRequest:
    """The same request, with the same mark."""
    kept = {name: value for name, value in submission.request.items() if name != "environment"}
    kept["comment"] = add_mark(kept.get("comment"), submission.mark)
    kept["script"] = submission.script
    kept["environment"] = unseal_environment(submission)
    return msgspec.convert(kept, SubmitRequest)
