"""Reads associations and QOS as slurmdbd tells them, and what slurmctld tells of their use; every version."""

from __future__ import annotations

import msgspec

from clusters.clients.slurmrest.dialects.accounting_steps import Tres
from clusters.clients.slurmrest.past import Association, AssociationLimits
from clusters.clients.slurmrest.rules import Amounts, Bounds, Qos, Settings, Share
from clusters.clients.slurmrest.wire import Envelope, WireNumber, number


class _PerUser(msgspec.Struct):
    user: WireNumber = None
    account: WireNumber = None


class _PerJob(msgspec.Struct):
    wall_clock: WireNumber = None
    count: WireNumber = None
    submitted: WireNumber = None


class _Jobs(msgspec.Struct):
    active: WireNumber = None
    total: WireNumber = None
    per: _PerJob | None = None


class _TresPer(msgspec.Struct):
    job: list[Tres] | None = None
    node: list[Tres] | None = None
    user: list[Tres] | None = None
    account: list[Tres] | None = None


class _Minutes(msgspec.Struct):
    total: list[Tres] | None = None
    per: _TresPer | None = None


class _Group(msgspec.Struct):
    minutes: list[Tres] | None = None


class _MaxTres(msgspec.Struct):
    total: list[Tres] | None = None
    minutes: _Minutes | None = None
    group: _Group | None = None
    per: _TresPer | None = None


class _AccountWall(msgspec.Struct):
    wall_clock: WireNumber = None


class _PerAccount(msgspec.Struct):
    account: _AccountWall | None = None


class _Max(msgspec.Struct):
    jobs: _Jobs | None = None
    tres: _MaxTres | None = None
    per: _PerAccount | None = None


class _Default(msgspec.Struct):
    qos: str | int | None = None


class _Association(msgspec.Struct):
    account: str = ""
    cluster: str = ""
    user: str | None = None
    partition: str | None = None
    parent_account: str | None = None
    is_default: bool | int = False
    default: _Default | None = None
    qos: list[str] | None = None
    max: _Max | None = None


class Associations(Envelope):
    """An answer."""

    associations: list[_Association] | None = None


class _Wall(msgspec.Struct):
    job: WireNumber = None
    qos: WireNumber = None


class _WallClock(msgspec.Struct):
    per: _Wall | None = None


class _ActiveJobs(msgspec.Struct):
    per: _PerUser | None = None
    count: WireNumber = None


class _QosJobs(msgspec.Struct):
    count: WireNumber = None  # only from v0.0.42 on
    active_jobs: _ActiveJobs | None = None
    per: _PerUser | None = None


class _QosMax(msgspec.Struct):
    active_jobs: _ActiveJobs | None = None
    jobs: _QosJobs | None = None
    tres: _MaxTres | None = None
    wall_clock: _WallClock | None = None


class _MinTres(msgspec.Struct):
    per: _TresPer | None = None


class _QosMin(msgspec.Struct):
    tres: _MinTres | None = None


class _QosLimits(msgspec.Struct):
    max: _QosMax | None = None
    min: _QosMin | None = None


class _Preempt(msgspec.Struct):
    names: list[str] | None = msgspec.field(default=None, name="list")
    mode: list[str] | None = None


class _Qos(msgspec.Struct):
    name: str
    description: str | None = None
    priority: WireNumber = None
    flags: list[str] | None = None
    limits: _QosLimits | None = None
    preempt: _Preempt | None = None


class AllQos(Envelope):
    """An answer."""

    qos: list[_Qos] | None = None
    QOS: list[_Qos] | None = None

    @property
    def found(self) -> list[_Qos] | None:
        """Under whichever key they came."""
        return self.qos if self.QOS is None else self.QOS


class _Named(msgspec.Struct):
    name: str = ""
    value: WireNumber = None


class _ShareTres(msgspec.Struct):
    usage: list[_Named] | None = None


class _Share(msgspec.Struct):
    name: str = ""
    parent: str | None = None
    partition: str | None = None
    type: list[str] | None = None
    tres: _ShareTres | None = None


class _ShareList(msgspec.Struct):
    shares: list[_Share] | None = None


class Shares(Envelope):
    """An answer of slurmctld's."""

    shares: _ShareList | None = None


class _Conf(msgspec.Struct):
    enforces: list[str] | None = msgspec.field(default=None, name="AccountingStorageEnforce")
    max_array_size: WireNumber = msgspec.field(default=None, name="MaxArraySize")


class Conf(Envelope):
    """An answer of slurmctld's."""

    slurm_conf: _Conf | None = None


def limit_of(value: WireNumber) -> int | None:
    """A limit; Slurm's "infinite" is none."""
    read = number(value)
    return read if isinstance(read, int) else None


def association_of(found: _Association) -> Association:
    """One account, or one user of it."""
    bounds = _bounds_of(found.max or _Max())
    return Association(
        limits=AssociationLimits(
            account=found.account,
            cluster=found.cluster,
            user=found.user or "",
            running_jobs=bounds.running,
            submitted_jobs=bounds.submitted,
            gpus=bounds.together.get("gres/gpu"),
            wall_minutes=bounds.wall_minutes,
        ),
        parent=found.parent_account or "",
        partition=found.partition or "",
        is_default=bool(found.is_default),
        bounds=bounds,
        qos=tuple(found.qos or ()),
        default_qos=str(found.default.qos or "") if found.default else "",
    )


def _bounds_of(most: _Max) -> Bounds:
    jobs, tres = most.jobs or _Jobs(), most.tres or _MaxTres()
    per_job, per = jobs.per or _PerJob(), tres.per or _TresPer()
    minutes = tres.minutes.per if tres.minutes else None
    whole = most.per.account if most.per else None
    return Bounds(
        wall_minutes=limit_of(per_job.wall_clock),
        running=limit_of(jobs.active),
        submitted=limit_of(jobs.total),
        all_running=limit_of(per_job.count),
        all_submitted=limit_of(per_job.submitted),
        all_wall_minutes=limit_of(whole.wall_clock) if whole else None,
        per_job=_amounts(per.job),
        per_node=_amounts(per.node),
        together=_amounts(tres.total),
        minutes_per_job=_amounts(minutes.job if minutes else None),
        minutes=_amounts(tres.group.minutes if tres.group else None),
    )


def qos_of(found: _Qos) -> Qos:
    """One quality of service."""
    limits, preempt = found.limits or _QosLimits(), found.preempt or _Preempt()
    least = limits.min.tres.per if limits.min and limits.min.tres else None
    return Qos(
        name=found.name,
        description=found.description or "",
        priority=number(found.priority),
        bounds=_qos_bounds(limits.max or _QosMax(), least or _TresPer()),
        flags=tuple(found.flags or ()),
        preempts=tuple(preempt.names or ()),
        preempt_modes=tuple(mode for mode in preempt.mode or () if mode != "DISABLED"),
    )


def _qos_bounds(most: _QosMax, least: _TresPer) -> Bounds:
    jobs, tres = most.jobs or _QosJobs(), most.tres or _MaxTres()
    at_work = (jobs.active_jobs.per if jobs.active_jobs else None) or _PerUser()
    waiting, per = jobs.per or _PerUser(), tres.per or _TresPer()
    wall = (most.wall_clock.per if most.wall_clock else None) or _Wall()
    minutes = tres.minutes or _Minutes()
    return Bounds(
        wall_minutes=limit_of(wall.job),
        running=limit_of(at_work.user),
        submitted=limit_of(waiting.user),
        account_running=limit_of(at_work.account),
        account_submitted=limit_of(waiting.account),
        all_running=limit_of(most.active_jobs.count) if most.active_jobs else None,
        all_submitted=limit_of(jobs.count),
        all_wall_minutes=limit_of(wall.qos),
        per_job=_amounts(per.job),
        per_node=_amounts(per.node),
        per_user=_amounts(per.user),
        per_account=_amounts(per.account),
        together=_amounts(tres.total),
        minutes_per_job=_amounts(minutes.per.job if minutes.per else None),
        minutes=_amounts(minutes.total),
        least=_amounts(least.job),
    )


def _amounts(found: list[Tres] | None) -> Amounts:
    told = {_name(one): limit_of(one.count) for one in found or ()}
    return {name: amount for name, amount in told.items() if amount is not None}


def _name(one: Tres) -> str:
    return f"{one.type}/{one.name}" if one.name else one.type


def shares_of(found: _ShareList) -> tuple[Share, ...]:
    """Of each account and each user of one."""
    return tuple(
        Share(
            account=(one.parent or "") if "USER" in (one.type or ()) else one.name,
            user=one.name if "USER" in (one.type or ()) else "",
            partition=one.partition or "",
            used_seconds={used.name: _seconds(used.value) for used in _usage(one) if used.name},
        )
        for one in found.shares or ()
    )


def _usage(one: _Share) -> list[_Named]:
    return (one.tres.usage if one.tres else None) or []


def _seconds(value: WireNumber) -> float:
    return float(value) if isinstance(value, int | float) else float(limit_of(value) or 0)


def settings_of(found: Conf) -> Settings:
    """What of the configuration decides about a request."""
    conf = found.slurm_conf
    if conf is None:
        return Settings()
    enforces = None if conf.enforces is None else tuple(word.lower() for word in conf.enforces)
    return Settings(enforces=enforces, max_array_size=limit_of(conf.max_array_size))
