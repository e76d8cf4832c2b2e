"""Django's session needs a backend to load a person; nobody is authenticated by it."""

from __future__ import annotations

import uuid

from django.contrib.auth.backends import BaseBackend

from tenants.models import User


class IdentityBackend(BaseBackend):
    """Loads the person of a session. There is no password to check."""

    def get_user(self, user_id: uuid.UUID | str) -> User | None:
        """The active person, or None: their session is then no longer signed in."""
        return User.objects.filter(pk=user_id, is_active=True).first()
