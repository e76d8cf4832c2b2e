"""Which of the ways to speak with slurmdbd goes with an API version."""

from __future__ import annotations

from clusters.clients.slurmrest.dialects.accounting import BooksDialect
from clusters.clients.slurmrest.dialects.accounting_v38 import BooksV38
from clusters.clients.slurmrest.dialects.accounting_v40 import BooksV40

LAST_PLAIN = 38


def books_dialect_for(version: str) -> BooksDialect:
    """Of an API version such as "v0.0.38" that the gateway knows already."""
    return BooksV38() if int(version.rpartition(".")[2]) <= LAST_PLAIN else BooksV40()
