"""Forms of people and tenants: they parse and bound; what holds is checked by the services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.lib.errors import BadInput
from tenants.models import Role

ROLES = [
    (Role.VIEWER, _("Viewer: sees clusters and job rows")),
    (Role.MEMBER, _("Member: submits jobs and acts on own ones")),
    (Role.ADMIN, _("Admin: orders, people, any job")),
    (Role.OWNER, _("Owner: all, and alone names owners and terminates")),
]


class FoundForm(forms.Form):
    """A new tenant."""

    name = forms.CharField(
        label=_("Name"),
        max_length=100,
        help_text=_("Of your organisation or lab, as people know it. 1 to 100 characters."),
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    slug = forms.CharField(
        label=_("Short name"),
        required=False,  # left blank, one is proposed
        min_length=3,
        max_length=40,
        help_text=_(
            "In every address of your tenant, for ever. 3 to 40 of a to z, 0 to 9 and hyphens."
            " Left blank, one is proposed."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
    )
    terms = forms.BooleanField(label=_("I accept the terms of use for my organisation"), required=False)


class InviteForm(forms.Form):
    """An invitation."""

    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=254,
        help_text=_(
            "Only a person who signs in with this verified address can accept. At most 254 characters."
        ),
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(
        label=_("Role"), choices=ROLES, initial=Role.MEMBER, widget=forms.RadioSelect, help_text=""
    )


class RoleForm(forms.Form):
    """Another role for a member."""

    role = forms.ChoiceField(label=_("Role"), choices=ROLES, widget=forms.RadioSelect)


class SettingsForm(forms.Form):
    """The tenant's settings."""

    leavers_jobs = forms.ChoiceField(
        label=_("When a member leaves, is removed or suspended"),
        choices=[("go-on", _("Let their jobs go on")), ("cancel", _("Cancel their jobs"))],
        widget=forms.RadioSelect,
        help_text=_("Admins can cancel single jobs at any time, also those of people who left."),
    )


class SshKeysForm(forms.Form):
    """All public keys of a member."""

    keys = forms.CharField(
        label=_("Public keys"),
        required=False,
        max_length=25_000,
        strip=False,
        help_text=_(
            "One a line, as in the .pub files of your computer, e.g. ~/.ssh/id_ed25519.pub. At most ten."
            " Empty: none. Private keys are refused."
        ),
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "class": "mono"}),
    )


SCOPE_WORDS = {
    "read": _("Read: whatever your role may look at, output and audit trail included"),
    "jobs": _("Jobs: submit, cancel, and read the output of your jobs"),
    "orders": _("Orders: order, resize, cancel and terminate clusters"),
    "people": _("People: invite, change roles, suspend, remove; settings; leave"),
    "kubernetes": _("Kubernetes: get and revoke your kubeconfigs"),
}


class TokenForm(forms.Form):
    """A new API token."""

    name = forms.CharField(
        label=_("Name"),
        max_length=60,
        help_text=_("What will use it, such as nightly-sweep. 1 to 60 characters."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "What it may do, and never more than your role at that moment. "
            "Every token sees what every member sees."
        ),
    )
    days = forms.IntegerField(
        label=_("Lifetime"),
        min_value=1,
        max_value=365,
        initial=90,
        help_text=_("1 to 365 days. Then it ends."),
    )

    def __init__(self, scopes: Sequence[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast(forms.MultipleChoiceField, self.fields["scopes"])
        field.choices = [(scope, SCOPE_WORDS[scope]) for scope in scopes]


def show(error: BadInput, form: forms.Form) -> None:
    """Put a service's refusal beside the fields; what no field holds stands above the form."""
    for name, message in (error.fields or {"": error.message}).items():
        form.add_error(name if name in form.fields else None, message)
