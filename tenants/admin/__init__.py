"""What operators see of people and tenants: registered with the operators' site."""

from __future__ import annotations

from tenants.admin import mail, people, trail

__all__ = ["mail", "people", "trail"]
