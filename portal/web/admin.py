"""The operators' site, and the base of every ModelAdmin: nothing changes but by actions that call services."""

from __future__ import annotations

from django.contrib.admin import AdminSite


class Operations(AdminSite):
    """Django's admin for operators only; signing in happens through the identity provider."""

    site_header = "Operations"
    site_title = "Operations"
    index_title = "Operations"


operations = Operations(name="admin")
