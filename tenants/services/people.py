"""People as they sign in and out: found by issuer and subject, never by their address."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from portal.lib import clock
from portal.lib.errors import NotAllowed
from tenants.actor import Actor
from tenants.commands import command
from tenants.models import AuditEvent, OidcIdentity, User
from tenants.signin.claims import Claims, is_of_domain
from tenants.signin.session import is_operator


def sign_in_person(*, actor: Actor, claims: Claims) -> OidcIdentity:
    """The identity of these claims, with the person as the issuer tells them now; made if new.

    Raises NotAllowed for a suspended person and for an address outside the allowed domains; then
    nothing is made or changed.
    """
    known = _find(claims)
    if known is not None and not known.user.is_active:
        raise NotAllowed(_("Your access to this portal is suspended."), hint=_("Ask the provider's support."))
    _check_domain(claims)
    with transaction.atomic():
        identity = known or _make(actor=actor, claims=claims)
        me = replace(actor, user=identity.user, identity=identity)
        with command("person.signed_in", actor=me, target=identity.user) as done:
            done.detail |= _update(identity, claims)
        _report_shared_address(identity, me)
    return identity


def sign_out_person(*, actor: Actor) -> None:
    """Note in the audit trail that a person ended their session."""
    with command("person.signed_out", actor=actor, target=actor.user):
        pass


def keep_language(person: User, language: str | None) -> None:
    """Note the language that a person reads; their mails are written in it. A habit, and no event."""
    if language and person.language != language:
        User.objects.filter(pk=person.pk).update(language=language)
        person.language = language


def _find(claims: Claims) -> OidcIdentity | None:
    return (
        OidcIdentity.objects.select_related("user")
        .filter(issuer=claims.issuer, subject=claims.subject)
        .first()
    )


def _make(*, actor: Actor, claims: Claims) -> OidcIdentity:
    try:
        with command("person.registered", actor=actor) as done:
            # an issuer may tell neither name nor address; something must stand beside what they do
            name = claims.name or ("" if claims.email else claims.subject)
            user = User.objects.create(name=name[:200])
            identity = OidcIdentity.objects.create(user=user, issuer=claims.issuer, subject=claims.subject)
            done.target, done.actor = user, replace(actor, user=user, identity=identity)
    except IntegrityError:  # a second tab of the same new person was faster
        return OidcIdentity.objects.select_related("user").get(issuer=claims.issuer, subject=claims.subject)
    return identity


def _update(identity: OidcIdentity, claims: Claims) -> dict[str, object]:
    """Keep what the issuer tells now; says what changed, for the audit trail."""
    user = identity.user
    changed: dict[str, object] = {}
    if user.email != claims.email:
        changed["email"] = {"old": user.email, "new": claims.email}
    if claims.name and user.name != claims.name:
        changed["name"] = {"old": user.name, "new": claims.name}
    user.name = claims.name or user.name
    user.email, user.email_verified = claims.email, claims.email_verified
    user.save(update_fields=["name", "email", "email_verified"])
    identity.email, identity.email_verified = claims.email, claims.email_verified
    identity.last_seen_at = clock.now()
    identity.save(update_fields=["email", "email_verified", "last_seen_at"])
    return changed


def _report_shared_address(identity: OidcIdentity, actor: Actor) -> None:
    """Two people with one address are a fact for the operator, and no reason to join them."""
    user = identity.user
    if not user.email:
        return
    others = User.objects.filter(email__iexact=user.email).exclude(pk=user.pk)
    keys = sorted(str(key) for key in others.values_list("pk", flat=True)[:10])
    if not keys:
        return
    told = AuditEvent.objects.filter(verb="person.shares_address", target_id=str(user.pk))
    if not told.filter(detail__others=keys).exists():
        with command("person.shares_address", actor=actor, target=user, detail={"others": keys}):
            pass


def _check_domain(claims: Claims) -> None:
    domains: list[str] = settings.OIDC_ALLOWED_DOMAINS
    if not domains or is_operator(OidcIdentity(issuer=claims.issuer, subject=claims.subject)):
        return
    if not claims.email_verified or not is_of_domain(claims.email, domains):
        raise NotAllowed(
            _("This portal takes only people with a verified address of certain organisations."),
            hint=_("Sign in with the account of your organisation."),
        )
