"""The form of one member's limits."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.lib.types import Words

MOST = 1_000_000


def _number(label: Words, help_text: Words) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        help_text=help_text,
        min_value=0,
        max_value=MOST,
        required=False,
        widget=forms.NumberInput(attrs={"class": "input", "inputmode": "numeric"}),
    )


class LimitForm(forms.Form):
    """Empty: no limit."""

    running_jobs = _number(_("Jobs that run at once"), _("Others wait. 0: none runs."))
    submitted_jobs = _number(_("Jobs that wait or run"), _("One more is refused."))
    gpus = _number(_("GPUs at once"), _("Of all the member's jobs together."))
    wall_minutes = _number(_("Minutes of one job"), _("The longest time limit that a job may ask for."))
