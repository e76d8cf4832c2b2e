"""A job's state as one word and its end as a wait status: how versions before v0.0.40 write them."""

from __future__ import annotations

from typing import Final

from clusters.clients.slurmrest.dialects.records import main_state
from clusters.clients.slurmrest.models import FINISHED_STATES, ExitCode

# one word only: while such a flag lasts it hides the main state, which is then at best this
HIDDEN_STATE: Final = {
    "COMPLETING": "RUNNING",
    "CONFIGURING": "RUNNING",
    "RESIZING": "RUNNING",
    "SIGNALING": "RUNNING",
    "STAGE_OUT": "RUNNING",
    "STOPPED": "RUNNING",
    "REQUEUED": "PENDING",
    "REQUEUE_FED": "PENDING",
    "REQUEUE_HOLD": "PENDING",
    "SPECIAL_EXIT": "PENDING",
    "REVOKED": "CANCELLED",
}


def one_word(text: str) -> tuple[str, frozenset[str], bool]:
    """The main state, the flags, and whether there is an exit code."""
    word = text.upper()
    hidden = HIDDEN_STATE.get(word)
    state, flags = main_state([word, hidden] if hidden else [word])
    return state, flags, state in FINISHED_STATES or word == "COMPLETING"


def exit_code_of(raw: int) -> ExitCode:
    """From a wait status as in wait(2)."""
    return ExitCode(status=(raw >> 8) & 0xFF, signal=raw & 0x7F, core_dumped=bool(raw & 0x80))
