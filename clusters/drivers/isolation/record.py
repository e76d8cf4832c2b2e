"""What was shown last, kept sealed with the cluster: so that a ready cluster costs no calls at each look."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from clusters.drivers.isolation.around import Around, Neighbour
from clusters.drivers.isolation.finding import Finding, Outcome
from clusters.provisioning.steps import StepContext
from portal.lib import clock

KEPT_AS = "isolation-shown"
JWT = "slurm-jwt-key"
LASTS = dt.timedelta(hours=1)  # until everything is tried again
PAUSE = dt.timedelta(minutes=1)  # where something did not answer


@dataclass(frozen=True, slots=True)
class Record:
    """`tried` says when each neighbour was last tried at, so that in time every one is."""

    about: str
    at: dt.datetime
    facts: Mapping[str, str]
    again: bool = False
    wrong: tuple[str, str, str] | None = None  # reason, message, hint
    tried: Mapping[str, str] = field(default_factory=dict)

    def holds(self, about: str) -> bool:
        """Whether it can be told once more instead of being tried again."""
        fresh = dt.timedelta(0) <= clock.now() - self.at < (PAUSE if self.again else LASTS)
        return fresh and self.about == about and self.wrong is None


def read(ctx: StepContext) -> Record | None:
    """None where nothing was ever shown."""
    kept = ctx.secrets.get(KEPT_AS)
    if not kept:
        return None
    content = json.loads(kept)
    wrong = content["wrong"]
    return Record(
        content["about"],
        dt.datetime.fromisoformat(content["at"]),
        content["facts"],
        content["again"],
        (wrong[0], wrong[1], wrong[2]) if wrong else None,
        content["tried"],
    )


def write(ctx: StepContext, made: Record) -> None:
    """Keep it."""
    content = {
        "about": made.about,
        "at": made.at.isoformat(),
        "facts": dict(made.facts),
        "again": made.again,
        "wrong": list(made.wrong) if made.wrong else None,
        "tried": dict(made.tried),
    }
    ctx.keep(KEPT_AS, json.dumps(content, sort_keys=True).encode(), None)


def of_findings(found: Mapping[str, Finding], *, about: str, tried: Mapping[str, str]) -> Record:
    """As of now. The first failure is what people are told of; the hint says all of them."""
    now = clock.now()
    facts = {name: one.text for name, one in found.items()} | {"checked_at": now.isoformat()}
    broken = [one for one in found.values() if one.outcome is Outcome.FAILED]
    wrong = None
    if broken:
        message = "; ".join(one.text.removeprefix("failed: ") for one in broken)
        hint = " ".join(one.hint for one in broken)
        wrong = (broken[0].reason, f"{message[0].upper()}{message[1:]}.", hint)
    return Record(about, now, facts, any(one.again for one in found.values()), wrong, tried)


def _about_neighbour(one: Neighbour) -> list[str]:
    server = f"{one.access.server}{one.access.prefix} {_short(one.access.ca_pem)}" if one.access else ""
    return [one.name, server, f"{one.slurm.url} {_short(one.slurm.key)}" if one.slurm else ""]


def _short(secret: bytes) -> str:
    """Enough to see a change; only ever part of another hash."""
    return hashlib.sha256(secret).hexdigest() if secret else ""


def about(ctx: StepContext, around: Around) -> str:
    """What the record is about: another cluster, server or machine makes it worth nothing."""
    content = {
        "pools": [[pool.name, pool.machines, pool.leaving, pool.count] for pool in ctx.spec.pools],
        "facts": {
            step: ctx.facts[step].get(key)
            for step, key in (
                ("fabric", "servers"),
                ("fabric", "ports"),
                ("slurm", "url"),
                ("slurm", "nodes"),
                ("control-plane", "endpoint"),
            )
            if step in ctx.facts
        },
        "there": sorted(step for step in ctx.facts if step != "order"),
        "key": _short(ctx.secrets.get(JWT, b"")),
        "neighbours": sorted(_about_neighbour(one) for one in around.neighbours),
        "elsewhere": sorted(around.elsewhere.items()),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]
