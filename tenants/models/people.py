"""Users by issuer and subject, tenants, memberships and invitations."""

from __future__ import annotations

import secrets
import uuid
from typing import Self

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from tenants.scoping import PeopleQuerySet, TenantQuerySet


class Role(models.TextChoices):
    """Levels of membership; what each may do stands in tenants.rights."""

    OWNER = "owner", pgettext_lazy("role", "Owner")
    ADMIN = "admin", pgettext_lazy("role", "Admin")
    MEMBER = "member", pgettext_lazy("role", "Member")
    VIEWER = "viewer", pgettext_lazy("role", "Viewer")


def new_session_salt() -> str:
    """A value whose change ends every session of a user."""
    return secrets.token_hex(16)


class User(AbstractBaseUser):
    """A person. There is no password: people are known by OidcIdentity only."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    password = None  # type: ignore[assignment]  # removes the inherited column
    name = models.CharField(gettext_lazy("name"), max_length=200, blank=True)
    email = models.EmailField(
        gettext_lazy("e-mail"), max_length=254, blank=True, help_text="As last told by the issuer; not a key."
    )
    email_verified = models.BooleanField(gettext_lazy("e-mail verified"), default=False)
    language = models.CharField(
        gettext_lazy("language"),
        max_length=10,
        blank=True,
        help_text=gettext_lazy("As last chosen or signed in with: that of mails."),
    )
    is_active = models.BooleanField(gettext_lazy("may sign in"), default=True)
    session_salt = models.CharField(max_length=32, default=new_session_salt)
    created_at = models.DateTimeField(gettext_lazy("since"), auto_now_add=True)

    class Meta:
        verbose_name = gettext_lazy("person")
        verbose_name_plural = gettext_lazy("people")
        # a page of a tenant's members, by name
        indexes = [models.Index(fields=["name", "id"], name="people_by_name")]

    USERNAME_FIELD = "id"
    is_operator = False  # set for each request by tenants.middleware from the identity that signed in

    objects = PeopleQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name or self.email or gettext("Unnamed person")

    def get_session_auth_hash(self) -> str:
        """Sessions end when the salt changes."""
        return self.session_salt

    @property
    def is_staff(self) -> bool:
        """Operators, computed at each request; there is no such column."""
        return self.is_operator

    def has_perm(self, perm: str, obj: object = None) -> bool:  # noqa: ARG002  # the signature is Django's
        """The operators' area shows everything to operators; changes go through services."""
        return self.is_active and self.is_operator

    def has_module_perms(self, app_label: str) -> bool:  # noqa: ARG002  # the signature is Django's
        """As has_perm."""
        return self.is_active and self.is_operator


class OidcIdentity(models.Model):
    """One subject at one issuer: the only key by which a person is found."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    email = models.EmailField(max_length=254, blank=True)
    email_verified = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField(null=True)

    objects = PeopleQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint("issuer", "subject", name="one_identity_per_subject")]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"


class Tenant(models.Model):
    """A customer organisation: the unit of isolation, rights and billing."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(gettext_lazy("name"), max_length=100)
    slug = models.SlugField(
        gettext_lazy("short name"),
        max_length=40,
        unique=True,
        help_text=gettext_lazy("In every address; never given out again."),
    )
    terms_accepted_at = models.DateTimeField(gettext_lazy("terms accepted"))
    suspended_at = models.DateTimeField(gettext_lazy("suspended since"), null=True, blank=True)
    cancel_jobs_on_leave = models.BooleanField(
        gettext_lazy("cancel jobs of leavers"),
        default=False,
        help_text="Cancel the jobs of who leaves, is removed or suspended; else they go on.",
    )
    created_at = models.DateTimeField(gettext_lazy("since"), auto_now_add=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "pk"

    class Meta:
        verbose_name = gettext_lazy("tenant")
        verbose_name_plural = gettext_lazy("tenants")

    def __str__(self) -> str:
        return self.name


class TenantOwned(models.Model):
    """Base of everything that belongs to one tenant."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(
        Tenant, verbose_name=gettext_lazy("tenant"), on_delete=models.PROTECT, related_name="+"
    )

    objects = TenantQuerySet.as_manager()
    tenant_path = "tenant"

    class Meta:
        abstract = True


class MembershipQuerySet(TenantQuerySet["Membership"]):
    """Live: not ended, so the person stands in the list. Working: may also enter the tenant."""

    def live(self) -> Self:
        """Not ended; suspended ones are among them."""
        return self.filter(ended_at=None)

    def working(self) -> Self:
        """Neither ended nor suspended, of a person and a tenant that are not suspended."""
        return self.live().filter(suspended_at=None, user__is_active=True, tenant__suspended_at=None)

    def places_of(self, person: User) -> Self:
        """Where a person may enter, with the tenants, by their names."""
        own = self.working().filter(user=person).select_related("tenant")
        return own.order_by("tenant__name", "tenant__slug")


class Membership(TenantOwned):
    """A user in a tenant, with a role."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    suspended_at = models.DateTimeField(null=True, blank=True)
    end_jobs_since = models.DateTimeField(
        null=True, blank=True, help_text="Jobs are to be cancelled; null again once none was seen to be left."
    )

    objects = MembershipQuerySet.as_manager()  # type: ignore[misc]  # a narrower one than its base's

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user"], condition=Q(ended_at=None), name="one_live_membership"
            )
        ]
        indexes = [
            models.Index("end_jobs_since", name="jobs_to_end", condition=~Q(end_jobs_since=None)),
        ]

    def __str__(self) -> str:
        return gettext("%(person)s in %(tenant)s") % {"person": self.user, "tenant": self.tenant}

    @property
    def is_working(self) -> bool:
        """May the person enter the tenant now?"""
        return (
            self.ended_at is None
            and self.suspended_at is None
            and self.user.is_active
            and self.tenant.suspended_at is None
        )


class Invitation(TenantOwned):
    """Opens a tenant to one verified address, once. Only the hash of its 256-bit token is kept."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="invitations")
    email = models.EmailField(max_length=254)
    role = models.CharField(max_length=10, choices=Role)
    token_hash = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index("tenant", Lower("email"), name="invitation_by_address")]

    def __str__(self) -> str:
        return gettext("Invitation of %(email)s") % {"email": self.email}
