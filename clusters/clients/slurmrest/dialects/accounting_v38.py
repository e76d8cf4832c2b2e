"""slurmdbd up to v0.0.38: plain numbers, and an exit code that is always 0."""

from __future__ import annotations

import msgspec

from clusters.clients.slurmrest.dialects.accounting import SharedBooks
from clusters.clients.slurmrest.models import ExitCode
from clusters.clients.slurmrest.past import AssociationLimits
from clusters.clients.slurmrest.wire import WireNumber, count
from portal.lib.types import JSONDict

NO_LIMIT = -1


class _Signal(msgspec.Struct):
    signal_id: WireNumber = None


class _Exit(msgspec.Struct):
    return_code: WireNumber = None
    signal: _Signal | None = None


class BooksV38(SharedBooks):
    """v0.0.38."""

    def exit_code(self, raw: bytes) -> ExitCode | None:
        """It says SUCCESS of every job: the truth is what /slurm said before the job was forgotten."""
        del raw
        return None

    def step_exit_code(self, raw: bytes, state: str) -> ExitCode | None:
        """A signal is told right, and that all went well; a code of a step that failed is not."""
        try:
            code = msgspec.json.decode(raw, type=_Exit)
        except msgspec.DecodeError:
            return None
        if code.signal is not None and count(code.signal.signal_id):
            return ExitCode(signal=count(code.signal.signal_id))
        status = count(code.return_code)
        return ExitCode(status=status) if status or state == "COMPLETED" else None

    def encode_limits(self, limits: AssociationLimits) -> JSONDict:
        """See BooksDialect. A number that is absent stays as it was, so "none" is written out."""

        def plain(value: int | None) -> int:
            return NO_LIMIT if value is None else value

        return {
            "account": limits.account,
            "cluster": limits.cluster,
            "user": limits.user,
            "max": {
                "jobs": {
                    "active": plain(limits.running_jobs),
                    "total": plain(limits.submitted_jobs),
                    "per": {"wall_clock": plain(limits.wall_minutes)},
                },
                "tres": {"total": [{"type": "gres", "name": "gpu", "count": plain(limits.gpus)}]},
            },
        }
