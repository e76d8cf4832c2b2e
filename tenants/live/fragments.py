"""Renders the fragment of a live region: the same partial for page, poll and socket."""

from __future__ import annotations

from django.db import models
from django.template.loader import render_to_string

from tenants.actor import Actor
from tenants.live.registry import LiveKind


def render_fragment(known: LiveKind, actor: Actor, row: models.Model, *, version: int, oob: bool) -> str:
    """The fragment as this actor's role sees it; `oob` marks it for the socket's swap.

    `version` was read before the row: a change in between only means that it is rendered once more.
    """
    context = {
        "actor": actor,
        "live_oob": oob,
        "live_versions": {known.topic(row).name: version},
        **known.context(actor, row),
    }
    return render_to_string(known.template, context).strip()
