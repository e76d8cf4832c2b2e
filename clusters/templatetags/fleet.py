"""What the first page of Operations shows; Django's admin renders that page without a view of ours."""

from __future__ import annotations

from django import template
from django.http import HttpRequest

from clusters.fleet import fleet_context
from portal.lib.types import JSONDict
from tenants.operations import actor_of

register = template.Library()


@register.simple_tag(takes_context=True)
def fleet(context: template.Context) -> JSONDict:
    """Orders that wait, capacity, stalled steps and clusters by phase, for the operator who asks."""
    request: HttpRequest = context["request"]
    return fleet_context(actor_of(request))
