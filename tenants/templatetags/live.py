"""Live regions in templates.

    {% load live %}
    {% partialdef steps inline %}
      <section class="card" {% live "order" order %}> ... </section>
    {% endpartialdef %}

The element that carries the tag is the root of the partial that its LiveKind names, one element per
partial: page, poll and socket all replace it as a whole. The view lists the topics of its page as
`live_topics`; base.html opens the socket with `{% live_url as live_url %}`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import template
from django.db import models
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from tenants.live.registry import KINDS
from tenants.live.topics import Topic, version_of, versions_of

register = template.Library()
MOST_TOPICS = 20  # per socket; what is beyond asks every 30 s


@register.simple_tag(takes_context=True)
def live(context: template.Context, kind: str, row: models.Model) -> SafeString:
    """The attributes of a live region: its id, where and when it asks, which version it shows."""
    known = KINDS[kind]
    topic = known.topic(row)
    version = _version(context, topic)
    etag = (context.get("live_etags") or {}).get(topic.name) or known.etag(version, row)
    return format_html(
        'id="live-{}-{}" data-region hx-get="{}" hx-trigger="every 30s, poll from:body" hx-target="this"'
        ' hx-swap="outerHTML" hx-disinherit="hx-target hx-swap" hx-headers=\'{{"If-None-Match": "{}"}}\'{}',
        kind,
        topic.object_id.hex,
        reverse("live", args=[context["actor"].tenant.slug, kind, topic.object_id]),
        etag.replace('"', '\\"'),
        SafeString(' hx-swap-oob="true"') if context.get("live_oob") else "",
    )


@register.simple_tag(takes_context=True)
def live_url(context: template.Context) -> str:
    """The address of this page's socket, with what it shows already; empty outside of a tenant."""
    topics: list[Topic] = list(context.get("live_topics") or [])[:MOST_TOPICS]
    actor = context.get("actor")
    if actor is None or actor.tenant is None:
        return ""
    shown = [f"{topic.kind}:{topic.object_id}:{_version(context, topic)}" for topic in topics]
    query = urlencode([("topic", one) for one in shown], safe=":")
    return f"/ws/t/{actor.tenant.slug}/{'?' if query else ''}{query}"


def _version(context: template.Context, topic: Topic) -> int:
    """The version, of the snapshot that the page reads; all of the page's topics in one query."""
    known: dict[str, int] = context.get("live_versions") or _page_versions(context)
    if topic.name not in known:
        known[topic.name] = version_of(topic)
    return known[topic.name]


def _page_versions(context: template.Context) -> dict[str, int]:
    holder: Any = context.get("request") or context.render_context
    versions: dict[str, int] | None = getattr(holder, "live_versions", None)
    if versions is None:
        versions = versions_of(context.get("live_topics") or [])
        holder.live_versions = versions
    return versions
