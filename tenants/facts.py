"""How the facts of an audit event read: names and values in words. Exports hold them as they were written."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from portal.lib.types import Words
from tenants.models import AuditEvent, Role

NAMES: Mapping[str, Words] = {
    "account": gettext_lazy("Slurm account"),
    "added": gettext_lazy("added"),
    "as": gettext_lazy("as"),
    "at_once": gettext_lazy("at once"),
    "cancel_jobs_on_leave": gettext_lazy("cancel jobs of leavers"),
    "cluster": gettext_lazy("cluster"),
    "currency": gettext_lazy("currency"),
    "differences": gettext_lazy("differences"),
    "email": gettext_lazy("e-mail"),
    "expires_at": gettext_lazy("ends"),
    "form": gettext_lazy("form"),
    "jobs_end": gettext_lazy("jobs end"),
    "job": gettext_lazy("job"),
    "kubernetes_role": gettext_lazy("role in Kubernetes"),
    "machines": gettext_lazy("machines"),
    "name": gettext_lazy("name"),
    "nodes": gettext_lazy("nodes"),
    "owner": gettext_lazy("of"),
    "new": gettext_lazy("new"),
    "note": gettext_lazy("note"),
    "old": gettext_lazy("before"),
    "others": gettext_lazy("others with this address"),
    "others_closed": gettext_lazy("other invitations closed"),
    "partition": gettext_lazy("partition"),
    "person": gettext_lazy("person"),
    "policy": gettext_lazy("policy"),
    "price_per_hour": gettext_lazy("price per hour"),
    "q": gettext_lazy("searched for"),
    "reason": gettext_lazy("reason"),
    "removed": gettext_lazy("removed"),
    "role": gettext_lazy("role"),
    "scopes": gettext_lazy("scopes"),
    "service_account": gettext_lazy("ServiceAccount"),
    "since": gettext_lazy("from"),
    "slug": gettext_lazy("short name"),
    "slurm_job_id": gettext_lazy("Slurm's number"),
    "state": gettext_lazy("state"),
    "steps": gettext_lazy("steps"),
    "target": gettext_lazy("thing"),
    "tenant": gettext_lazy("tenant"),
    "until": gettext_lazy("to"),
    "user": gettext_lazy("account"),
    "verb": gettext_lazy("did"),
    "was": gettext_lazy("was"),
    "who": gettext_lazy("who"),
    "why": gettext_lazy("why"),
}
# By which programs find things again: nobody reads them, and the export has them.
UNREAD = frozenset({"kubeconfig", "mark", "order", "plan", "plan_hash", "up_to"})
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[0-9a-f]{32,}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
WAYS: Mapping[str, Words] = {
    "web": pgettext_lazy("way", "in the browser"),
    "admin": pgettext_lazy("way", "in Operations"),
    "api": pgettext_lazy("way", "by API"),
    "worker": pgettext_lazy("way", "by itself"),
    "command": pgettext_lazy("way", "by command"),
}
KINDS: Mapping[str, Words] = {
    "person": pgettext_lazy("kind of actor", "a person"),
    "operator": pgettext_lazy("kind of actor", "an operator"),
    "system": pgettext_lazy("kind of actor", "the portal itself"),
    "anonymous": pgettext_lazy("kind of actor", "nobody known"),
}
LONGEST = 300
# By type of thing: its stored name in the reader's language. Upper layers add theirs in AppConfig.ready.
THINGS: dict[str, Callable[[str], str]] = {}


def _amount(stored: str) -> str:
    """25.00 as the reader writes it."""
    try:
        return str(number_format(Decimal(stored), 2, force_grouping=True))
    except InvalidOperation:
        return stored


# By name of a fact: its stored value in the reader's language. Upper layers add theirs, too.
VALUES: dict[str, Callable[[str], str]] = {"price_per_hour": _amount}


def facts_of(event: AuditEvent) -> Iterator[tuple[str, str]]:
    """Name and value of each fact that says something, in words; nothing for empty ones and bare ids."""
    for name, value in event.detail.items():
        if isinstance(value, str) and value and name in VALUES:
            yield _name(name, value), VALUES[name](value)[:LONGEST]
        elif name not in UNREAD and (text := _value(value, role=name in {"role", "old", "new"})):
            yield _name(name, value), text[:LONGEST]


def thing_of(event: AuditEvent) -> str:
    """What was acted on, as it was called then; a job by its name, an invitation in the reader's language."""
    label = event.target_label
    if event.target_type == "submission":
        return str(event.detail.get("name") or ("" if label.startswith("Submission ") else label))
    if event.target_type == "invitation" and label.startswith("Invitation of "):
        return _("Invitation of %(email)s") % {"email": label.removeprefix("Invitation of ")}
    if event.target_type == "membership" and " in " in label:
        person, _in, tenant = label.rpartition(" in ")
        return _("%(person)s in %(tenant)s") % {"person": person, "tenant": tenant}
    return THINGS[event.target_type](label) if event.target_type in THINGS else label


def way_of(event: AuditEvent) -> str:
    """Through what it was done."""
    return str(WAYS.get(event.via, event.via))


def _name(name: str, value: object = None) -> str:
    if name == "others" and isinstance(value, bool):
        return _("job of another person")
    return str(NAMES.get(name) or name.replace("_", " "))


def _value(value: object, *, role: bool) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if value is None or not str(value) or (isinstance(value, list | dict) and not value):
        return ""
    if isinstance(value, dict):
        return _pairs(value, role=role)
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, int) for one in value):
        return f"{value[0]} → {value[1]}"  # nodes of a pool, before and after
    if isinstance(value, list):
        texts = [_value(one, role=role) for one in value]
        return ", ".join(text for text in texts if text) or str(len(value))
    return _word(str(value), role=role)


def _pairs(value: Mapping[str, object], *, role: bool) -> str:
    if {"old", "new"} == value.keys():
        old, new = (_value(value[name], role=True) or _("(none)") for name in ("old", "new"))
        return f"{old} → {new}"
    read = (
        (NAMES.get(name) or name.replace("_", " "), _value(one, role=role)) for name, one in value.items()
    )
    return ", ".join(f"{name} {text}" for name, text in read if text)


def _word(text: str, *, role: bool) -> str:
    if ID.fullmatch(text):
        return ""
    if role and text in Role.values:
        return str(Role(text).label)
    if text in {"yes", "no"}:
        return _("yes") if text == "yes" else _("no")
    if MOMENT.match(text):
        try:
            at = dt.datetime.fromisoformat(text)
        except ValueError:
            return text
        return f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC" if at.tzinfo else text
    return text
