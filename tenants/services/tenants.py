"""Founding a tenant, and its settings."""

from __future__ import annotations

import re
import secrets
import unicodedata

from django.db import IntegrityError
from django.utils.translation import gettext as _

from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, WrongState
from tenants.actor import Actor
from tenants.commands import command
from tenants.hooks import tell_membership_changed
from tenants.models import Membership, Role, Tenant
from tenants.rights import Action, require

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?!-)){1,38}[a-z0-9]")
LONGEST_NAME = 100
MOST_OWNED = 10
# Words that are addresses, or that would let a tenant pass for the provider.
RESERVED = frozenset(
    """
    about account accounts admin administrator api app auth billing blog callback cluster clusters
    console dashboard docs download export freehold health help home internal invitation invitations job
    jobs live login logout mail media members metrics new null oidc operations operator operators orders
    owner portal provider public root security settings shared signin signout signup slurm static status
    styleguide support system templates tenant tenants terms test undefined usage user users welcome www
    """.split()  # noqa: SIM905  # a list of words reads best as one
)


def found_tenant(*, actor: Actor, name: str, slug: str, terms_accepted: bool) -> Tenant:
    """A new tenant with the actor as its owner. The slug is for ever.

    Raises NotAllowed for nobody, WrongState with too many tenants, BadInput per field. Sent twice by the
    same person it is one tenant.
    """
    if actor.user is None:
        raise NotAllowed(_("Sign in to found a tenant."))
    name, slug = " ".join(name.split()), slug.strip()
    _check(name, slug, terms_accepted)
    mine = Membership.objects.filter(user=actor.user, role=Role.OWNER, ended_at=None)
    if again := mine.select_related("tenant").filter(tenant__slug=slug, tenant__name=name).first():
        return again.tenant
    if mine.count() >= MOST_OWNED:
        raise WrongState(
            _("You own %(most)d tenants already.") % {"most": MOST_OWNED},
            hint=_("Ask the provider for more."),
        )
    try:
        with command("tenant.founded", actor=actor, detail={"slug": slug}) as done:
            tenant = Tenant.objects.create(name=name, slug=slug, terms_accepted_at=clock.now())
            done.tenant = tenant
            done.target = tenant
            tell_membership_changed(
                Membership.objects.create(tenant=tenant, user=actor.user, role=Role.OWNER)
            )
    except IntegrityError as error:
        raise _taken(slug) from error
    return tenant


def change_settings(*, actor: Actor, cancel_jobs_on_leave: bool) -> Tenant:
    """What an owner decides for the tenant of the address. It holds for who leaves from now on."""
    require(actor, Action.CHANGE_SETTINGS)
    assert actor.tenant is not None  # noqa: S101  # `require` has seen a role, which only a tenant gives
    with command("tenant.settings_changed", actor=actor, target=actor.tenant) as done:
        tenant = Tenant.objects.select_for_update().get(pk=actor.tenant.pk)
        old = tenant.cancel_jobs_on_leave
        tenant.cancel_jobs_on_leave = cancel_jobs_on_leave
        tenant.save(update_fields=["cancel_jobs_on_leave"])
        done.detail = {"cancel_jobs_on_leave": {"old": _yes(old), "new": _yes(cancel_jobs_on_leave)}}
    return tenant


def suggest_slug(name: str) -> str:
    """A free slug that resembles the name; with a few random characters where it is taken."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:34].strip("-")
    if len(stem) < 3 or stem in RESERVED:
        stem = f"{stem or 'tenant'}-lab"
    if not Tenant.objects.filter(slug=stem).exists():
        return stem
    return f"{stem}-{secrets.token_hex(2)}"


def _check(name: str, slug: str, terms_accepted: bool) -> None:
    fields: dict[str, str] = {}
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        fields["name"] = _("Enter a name of 1 to %(most)d printable characters.") % {"most": LONGEST_NAME}
    if not 3 <= len(slug) <= 40 or SLUG.fullmatch(slug) is None:
        fields["slug"] = _(
            "Use 3 to 40 of the characters a to z, 0 to 9 and single hyphens, not at the beginning or end."
        )
    elif slug in RESERVED:
        fields["slug"] = _("“%(slug)s” is reserved. Choose another short name.") % {"slug": slug}
    if not terms_accepted:
        fields["terms"] = _("A tenant can be founded only if you accept the terms of use.")
    if fields:
        raise BadInput(fields=fields)


def _taken(slug: str) -> BadInput:
    return BadInput(
        fields={
            "slug": _("“%(slug)s” is taken. How about %(other)s?")
            % {"slug": slug, "other": suggest_slug(slug)}
        }
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"
