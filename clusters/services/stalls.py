"""Tells operators by mail that a step stalled: nothing goes on there before one of them acts."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from clusters.models import Cluster
from clusters.reasons import explain
from clusters.words import title_of
from tenants.models import User
from tenants.services.outbox import queue_mail, queue_mail_to


class _Title:
    """A step's title in the language of whoever reads it."""

    def __init__(self, step: str) -> None:
        self.step = step

    def __str__(self) -> str:
        return title_of(self.step)


class _Why:
    """What a reason means, with what the step told."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason, self.message = reason, message

    def __str__(self) -> str:
        return explain(self.reason, self.message)


def tell_operators(cluster: Cluster, *, step: str = "", reason: str, message: str, hint: str = "") -> None:
    """Queue one mail for each operator about one stall; needs the open transaction that writes the stall.

    Without a step nothing of the cluster could be looked at. Goes to OPERATOR_EMAILS, else to the known
    operators' verified addresses.
    """
    named = _Title(step) if step else _("Looking at it")
    mail: dict[str, Any] = {
        "subject": format_lazy(
            _("{cluster} of {tenant} needs a person: {step}"),
            cluster=cluster.name,
            tenant=cluster.tenant,
            step=named,
        ),
        "template": "stalled.txt",
        "context": {
            "cluster": cluster,
            "step": named,
            "reason": reason,
            "why": _Why(reason, message),
            "hint": hint,
            "link": settings.PUBLIC_URL + reverse("admin:clusters_cluster_change", args=[cluster.pk]),
        },
        "kind": "cluster.stalled",
        "about_id": cluster.pk,
    }
    if settings.OPERATOR_EMAILS:
        for address in settings.OPERATOR_EMAILS:
            queue_mail(to=address, **mail)
        return
    for person in operators():
        queue_mail_to(person, **mail)


def operators() -> list[User]:
    """People who signed in as operators: of the operators' issuer, or named."""
    known = Q(pk__in=[])
    for issuer, subject in settings.OPERATORS:
        known |= Q(identities__issuer=issuer, identities__subject=subject)
    if settings.OPERATOR_ISSUER:
        known |= Q(identities__issuer=settings.OPERATOR_ISSUER)
    return list(User.objects.filter(known, is_active=True).distinct().order_by("pk"))
