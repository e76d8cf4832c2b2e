"""One hierarchy of errors, with one mapping to HTTP (portal.web.errors).

Request errors are checked in the order of their status: not visible 404, not allowed 403,
wrong state 409, bad input 400. Provisioning knows two kinds of failure, temporary and permanent;
anything else is a bug.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from portal.lib.types import Words


class FreeholdError(Exception):
    """Something a person is told about: what happened, and what to do."""

    status = 500
    title: Words = _("Something went wrong")

    def __init__(self, message: Words = "", *, hint: Words = "") -> None:
        self.message, self.hint = str(message or self.title), str(hint)
        super().__init__(self.message)


class NotVisible(FreeholdError):
    """The thing does not exist, or not for this actor: both look the same."""

    status = 404
    title: Words = _("There is nothing here for you")


class NotAllowed(FreeholdError):
    """The actor sees the thing but may not do this."""

    status = 403
    title: Words = _("Your role does not allow this")


class WrongState(FreeholdError):
    """The thing is not in a state in which this can be done; the message names the state."""

    status = 409
    title: Words = _("This changed meanwhile")


class BadInput(FreeholdError):
    """Input that was refused. `fields` maps a form field to its message; "" is the whole form."""

    status = 400
    title: Words = _("Some of what you entered cannot be used")

    def __init__(
        self, message: Words = "", *, hint: Words = "", fields: Mapping[str, Words] | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.fields: dict[str, str] = {name: str(told) for name, told in (fields or {}).items()}


class OutsideError(FreeholdError):
    """An outside system did not do what was asked; `reason` is a CamelCase word for pages and metrics."""

    status = 502
    title: Words = _("A system behind the portal did not answer")

    def __init__(self, reason: str, message: Words, *, hint: Words = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class TemporaryError(OutsideError):
    """Will likely pass by itself: back off and look again."""

    status = 503


class PermanentError(OutsideError):
    """Needs a person: the message says what happened, the hint what the operator can do."""
