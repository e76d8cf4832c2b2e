"""Puts a credential of a site in: `manage.py site_secret dc1 netris-password < file`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from clusters.models import Site
from clusters.services.secrets import set_site_secret
from tenants.actor import Actor

MOST_BYTES = 64 * 1024


class Command(BaseCommand):
    """Reads it from standard input, so that it stands in no shell history and no process list."""

    help = "Seal a credential that a site's drivers need; it is read from standard input."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose, and which."""
        parser.add_argument("site", help="The site's short name.")
        parser.add_argument("name", help="As the driver's documentation calls it, e.g. netris-password.")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002  # the signature is Django's
        """Store it; say where, never what."""
        site = Site.objects.filter(slug=options["site"]).first()
        if site is None:
            raise CommandError(f"There is no site {options['site']}.")
        value = sys.stdin.buffer.read(MOST_BYTES + 1).rstrip(b"\n")
        if not value or len(value) > MOST_BYTES:
            raise CommandError(f"Give 1 to {MOST_BYTES} bytes on standard input. Nothing was changed.")
        set_site_secret(actor=Actor(via="command"), site=site, name=options["name"], value=value)
        self.stdout.write(f"{options['name']} of {site.slug} is sealed.")
