"""slurmdbd from v0.0.39 on: numbers as objects, and exit codes that are right from v0.0.40 on."""

from __future__ import annotations

import msgspec

from clusters.clients.slurmrest.dialects.accounting import SharedBooks
from clusters.clients.slurmrest.models import ExitCode
from clusters.clients.slurmrest.past import AssociationLimits
from clusters.clients.slurmrest.wire import WireNumber, count
from portal.lib.types import JSONDict


class _Signal(msgspec.Struct):
    id: WireNumber = None


class _Exit(msgspec.Struct):
    status: list[str] | None = None
    return_code: WireNumber = None
    signal: _Signal | None = None


class BooksV40(SharedBooks):
    """v0.0.39 and newer."""

    def exit_code(self, raw: bytes) -> ExitCode | None:
        """Its status, or the signal that ended it."""
        try:
            code = msgspec.json.decode(raw, type=_Exit)
        except msgspec.DecodeError:
            return None
        return ExitCode(
            status=count(code.return_code),
            signal=count(code.signal.id) if code.signal else 0,
            core_dumped="CORE_DUMPED" in (code.status or ()),
        )

    def encode_limits(self, limits: AssociationLimits) -> JSONDict:
        """See BooksDialect."""

        def optional(value: int | None) -> JSONDict:
            return {"set": value is not None, "infinite": value is None, "number": value or 0}

        tres = {"type": "gres", "name": "gpu", "count": -1 if limits.gpus is None else limits.gpus}
        return {
            "account": limits.account,
            "cluster": limits.cluster,
            "user": limits.user,
            "max": {
                "jobs": {
                    "active": optional(limits.running_jobs),
                    "total": optional(limits.submitted_jobs),
                    "per": {"wall_clock": optional(limits.wall_minutes)},
                },
                "tres": {"total": [tres]},
            },
        }
