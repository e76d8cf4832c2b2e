"""What the facts of steps are called, in the reader's language, and which of them say nothing to a tenant."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop

from clusters import told
from clusters.isolation_words import SAID, said
from clusters.models import StepState

WORDS = {
    "accounts": gettext_noop("Accounts"),
    "api_server": gettext_noop("A token at another API server"),
    "api_version": gettext_noop("API version"),
    "ca_fingerprint": gettext_noop("Fingerprint of its own CA"),
    "clean_since": gettext_noop("Clean since"),
    "cluster_name": gettext_noop("Name in Slurm"),
    "elsewhere": gettext_noop("Machines in two places"),
    "endpoint": gettext_noop("Address"),
    "jobs": gettext_noop("Test jobs"),
    "machines": gettext_noop("Machines"),
    "nodes": gettext_noop("Nodes"),
    "ports": gettext_noop("Switch ports"),
    "prefix": gettext_noop("Addresses"),
    "prefixes": gettext_noop("Addresses in use"),
    "release": gettext_noop("Release"),
    "servers": gettext_noop("Servers"),
    "slurm": gettext_noop("A token at another Slurm"),
    "temporary_folders": gettext_noop("Temporary folders"),
    "token_until": gettext_noop("The portal's token ends"),
    "url": gettext_noop("Slurm API"),
    "version": gettext_noop("Release"),
    "vnets": gettext_noop("V-Nets"),
    "vpc": "VPC",
    "wiped": gettext_noop("Wiped"),
}
OUTPUT = "output."  # and the pool: what the test job of a pool wrote
# paths, sizes and addresses that only the portal uses
INTERNAL = frozenset(
    {"checked_at", "controller", "homes", "memory", "server_cluster", "slurm_conf", "vpc_id"}
)
VALUES = {"own": gettext_noop("each job its own")}  # of temporary folders


def shown(step: StepState) -> list[tuple[str, str]]:
    """What a step made, as a tenant reads it: (word, value)."""
    facts = told.facts_of(step)
    found = [
        (word_of(name), _value(value)) for name, value in facts.items() if name not in INTERNAL and value
    ]
    return sorted(found)


def word_of(name: str) -> str:
    """The word for a fact; one that nobody named reads as it is called."""
    if name.startswith(OUTPUT):
        return gettext("Test job of %(pool)s wrote") % {"pool": name.removeprefix(OUTPUT)}
    known = WORDS.get(name)
    return gettext(known) if known else name.replace("_", " ").capitalize()


def _value(stored: str) -> str:
    if stored in SAID:
        return said(stored)
    known = VALUES.get(stored)
    return gettext(known) if known else stored.replace(",", ", ").replace(",  ", ", ")
