"""Prints what to run on a machine that joins a cluster by hand: `manage.py join_command acme gpu-a`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from clusters.models import Cluster
from clusters.provisioning.joining import join_command_of
from portal.lib.errors import FreeholdError
from tenants.actor import Actor


class Command(BaseCommand):
    """The command lets in whoever has it, for an hour: hand it to the machine and to nobody else."""

    help = "Print the command by which a machine joins a cluster of the vCluster Platform."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which."""
        parser.add_argument("tenant", help="The tenant's short name.")
        parser.add_argument("cluster", help="The cluster's name.")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002  # the signature is Django's
        """Print it and nothing else."""
        there = Cluster.objects.select_related("site", "tenant").filter(deleted_at=None)
        cluster = there.filter(tenant__slug=options["tenant"], name=options["cluster"]).first()
        if cluster is None:
            raise CommandError(f"{options['tenant']} has no cluster {options['cluster']}.")
        try:
            self.stdout.write(join_command_of(actor=Actor(via="command"), cluster=cluster))
        except FreeholdError as error:
            raise CommandError(error.message) from error
