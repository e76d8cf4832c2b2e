"""The slurm step: one real slurmctld, slurmrestd and munged, and one slurmd per machine, for one cluster."""

from __future__ import annotations

import datetime as dt
import secrets
import signal
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clusters.clients.slurmrest import tokens
from clusters.clients.slurmrest.models import NodeRecord
from clusters.drivers.local import (
    accounting_books,
    daemons,
    enclosure,
    files,
    folder,
    names,
    queue,
    slurm_drift,
    slurm_plan,
    slurmconf,
    unix,
)
from clusters.drivers.local.daemons import Daemon, Running
from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.guard import guarded
from clusters.drivers.local.settings import LocalSettings
from clusters.drivers.local.slurmconf import Rendered
from clusters.drivers.slurm_probe import gateways, site
from clusters.provisioning.steps import ClusterSpec, Difference, Observed, StepContext
from portal.lib.errors import OutsideError, PermanentError, TemporaryError

KEY = "slurm-jwt-key"
UNHEARD = "UNKNOWN"  # a slurmctld that was just started has not heard from the node
BUSY = "NodesBusy"
ABSENT = Observed(exists=False)
SHARED = "shared: this machine lets nobody give jobs a /tmp of their own"
LISTENING = {"slurmrestd": slurmconf.REST, "slurmctld": slurmconf.CONTROLLER}


@dataclass(frozen=True, slots=True)
class _Wanted:
    """All that one pass compares the machine with."""

    rendered: Rendered
    daemons: tuple[Daemon, ...]
    jwt_key: bytes
    munge_key: bytes

    def texts(self, home: ClusterFolder) -> tuple[tuple[Path, bytes], ...]:
        """Each file with what it is to hold."""
        return slurm_drift.texts(home, self.rendered, self.jwt_key)

    @property
    def staying(self) -> list[str]:
        """The nodes that the spec asks for."""
        return [node.name for node in self.rendered.nodes if node.name not in self.rendered.leaving]


class SlurmStep:
    """local_slurm: starts what is missing, starts again what changed or died, removes all of it."""

    name = "slurm"
    component = "Slurm"
    needs: tuple[str, ...] = ("machines", "fabric")
    deadline = dt.timedelta(minutes=5)

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        longest = names.longest_node_name(self._settings.clusters)
        nodes = [
            f"slurmd {names.node_name(machine, longest)} in partition {pool.name}"
            for pool in spec.pools
            for machine in pool.machines
        ]
        return (f"slurmctld and slurmrestd of cluster {spec.name}, with keys of their own", *nodes)

    @guarded
    def observe(self, ctx: StepContext) -> Observed:
        """Look at files, processes, ports, and through slurmrestd at the nodes."""
        names.check_cluster(ctx.spec)
        home = folder.of(self._settings.clusters, ctx.spec)
        if not home.root.exists():
            left = _gone(home).exists() or daemons.find(str(home.conf).__eq__)
            return Observed(exists=True, reason="Removing") if left else ABSENT
        if not folder.is_ours(home, ctx.spec):
            return Observed(exists=False, reason="NameTaken", message=str(folder.name_taken("a folder")))
        if not home.conf.exists():
            return Observed(exists=True, reason="NotStarted", message="Slurm is not set up yet.")
        try:
            names.check(ctx.spec, system_user=self._settings.system_user)
            return self._compare(ctx, home, self._wanted(ctx, home))
        except PermanentError as error:
            # what cannot be compared can still be removed
            return Observed(exists=True, reason=error.reason, message=error.message)

    def _compare(self, ctx: StepContext, home: ClusterFolder, wanted: _Wanted) -> Observed:
        facts = self._facts(ctx, home, wanted)
        slurm_ids = slurm_plan.ids_of(self._settings.slurm_user)
        running = daemons.of_cluster(home.conf, slurm_plan.owners(ctx.spec, slurm_ids[0]))
        differing = self._differing(ctx.spec, home, wanted, slurm_ids)
        differing += slurm_drift.of_processes(wanted.daemons, running, _unwanted(wanted, running))
        outdated = bool(differing)
        missing = [one.role for one in wanted.daemons if one.role not in running]
        if missing:
            message = f"Not running: {', '.join(sorted(missing))}. Jobs that run go on."
            return Observed(
                exists=True, reason="DaemonsDown", message=message, differences=differing, facts=facts
            )
        silent = [role for role, offset in LISTENING.items() if not daemons.listens(ctx.ports[offset])]
        if silent:
            message = f"Not answering yet: {', '.join(silent)}."
            return Observed(
                exists=True,
                in_sync=not outdated,
                reason="DaemonsStarting",
                message=message,
                differences=differing,
                facts=facts,
            )
        reason, message = self._look_at_nodes(ctx, wanted, facts)
        if outdated and not reason:
            reason, message = "ConfigurationChanged", "Slurm runs with an older configuration."
        return Observed(
            exists=True,
            in_sync=not outdated and reason != "NodesLeaving",
            ready=not reason,
            reason=reason,
            message=f"{message}{queue.told(home, wanted.rendered.leaving)}" if reason == BUSY else message,
            differences=differing,
            waits_for="running jobs" if reason == BUSY else "",
            facts=facts,
        )

    @guarded
    def apply(self, ctx: StepContext) -> None:
        """Write what differs, end what is outdated, start what is missing."""
        names.check(ctx.spec, system_user=self._settings.system_user)
        _check_ports(ctx)
        home = folder.of(self._settings.clusters, ctx.spec)
        self._refuse_foreign_group(ctx.spec, home)
        folder.claim(home, ctx.spec)
        with folder.alone(home):
            slurm_ids = slurm_plan.ids_of(self._settings.slurm_user)
            self._ensure_group(ctx.spec)
            for path, mode, uid, gid in slurm_plan.layout(ctx.spec, home, slurm_ids):
                files.ensure_folder(path, mode=mode, uid=uid, gid=gid)
            daemons.link_programs(home.root / "bin")
            wanted = self._wanted(ctx, home)
            owners = slurm_plan.owners(ctx.spec, slurm_ids[0])
            if wanted.rendered.leaving and not self._differing(ctx.spec, home, wanted, slurm_ids):
                wanted = self._without_idle(ctx, home, wanted, daemons.of_cluster(home.conf, owners))
            self._write(home, wanted, slurm_ids)
            self._converge(ctx, home, wanted, owners)

    @guarded
    def remove(self, ctx: StepContext) -> None:
        """End daemons and jobs, then remove group and folder. Raises TemporaryError while one runs."""
        names.check_cluster(ctx.spec)
        home = folder.of(self._settings.clusters, ctx.spec)
        if home.root.exists():
            if not folder.is_ours(home, ctx.spec):
                return
            with folder.alone(home):
                gids = folder.job_gids(home)
                self._end(home, gids)
                if gids:
                    unix.remove_group(names.group_name(ctx.spec.name))
                # moved first: half a folder without its mark would be nobody's
                files.remove_tree(_gone(home))
                home.root.rename(_gone(home))
        files.remove_tree(_gone(home))

    # -- what is wanted

    def _wanted(self, ctx: StepContext, home: ClusterFolder, gone: Collection[str] = ()) -> _Wanted:
        _check_ports(ctx)
        jwt_key = ctx.secrets.get(KEY, b"")
        if len(jwt_key) < tokens.SHORTEST_KEY:
            raise PermanentError(
                "KeyMissing", "The cluster has no usable key for Slurm tokens.", hint="Make a new key for it."
            )
        old = home.conf.read_text(encoding="utf-8") if home.conf.exists() else ""
        rendered = slurmconf.render(
            ctx.spec,
            home,
            ctx.ports,
            slurm_user=self._settings.slurm_user,
            old=old,
            gone=gone,
            accounting=accounting_books.is_told(ctx, home, old),
            user_top=site.may_top(ctx.settings),
        )
        munge_key = home.munge_key.read_bytes() if home.munge_key.exists() else secrets.token_bytes(128)
        plan = slurm_plan.plan(
            ctx.spec,
            home,
            rendered,
            ctx.ports,
            slurm_ids=slurm_plan.ids_of(self._settings.slurm_user),
            keys=(jwt_key, munge_key),
        )
        return _Wanted(rendered, plan, jwt_key, munge_key)

    def _facts(self, ctx: StepContext, home: ClusterFolder, wanted: _Wanted) -> dict[str, str]:
        return {
            "url": f"http://127.0.0.1:{ctx.ports[slurmconf.REST]}",
            "controller": f"127.0.0.1:{ctx.ports[slurmconf.CONTROLLER]}",
            "api_version": slurm_plan.api_version(),
            "cluster_name": ctx.spec.name,
            "release": slurm_plan.release(),
            "nodes": self._named(ctx, wanted.staying),
            "slurm_conf": str(home.conf),
            "temporary_folders": "own" if enclosure.is_allowed() else SHARED,
        }

    def _named(self, ctx: StepContext, nodes: Collection[str]) -> str:
        """Each node, with its machine where that is called otherwise: node=machine."""
        longest = names.longest_node_name(self._settings.clusters)
        machines = [machine for pool in ctx.spec.pools for machine in pool.machines]
        of = {names.node_name(machine, longest): machine for machine in machines}
        return ",".join(node if of.get(node, node) == node else f"{node}={of[node]}" for node in nodes)

    # -- looking

    def _differing(
        self, spec: ClusterSpec, home: ClusterFolder, wanted: _Wanted, slurm_ids: tuple[int, int]
    ) -> tuple[Difference, ...]:
        return slurm_drift.of_files(spec, home, wanted.texts(home), slurm_ids)

    def _nodes(self, ctx: StepContext, wanted: _Wanted, facts: Mapping[str, str]) -> list[NodeRecord]:
        observer = slurm_plan.observer_of(ctx.spec)
        account = observer.name if observer else "fhobserver"
        return list(gateways.of(facts, account, wanted.jwt_key).nodes())

    def _look_at_nodes(self, ctx: StepContext, wanted: _Wanted, facts: Mapping[str, str]) -> tuple[str, str]:
        try:
            nodes = self._nodes(ctx, wanted, facts)
        except OutsideError as error:
            return "SlurmNotAnswering", f"slurmrestd does not list the nodes: {error.message}"
        leaving = wanted.rendered.leaving
        if idle := leaving & _idle(nodes):  # first: a broken node that stays must not hold it up
            return "NodesLeaving", f"To be taken out: {', '.join(sorted(idle))}."
        usable = {node.name for node in nodes if node.is_usable}
        silent = {node.name for node in nodes if node.state == UNHEARD}
        waiting = [name for name in wanted.staying if name not in usable]
        if down := [name for name in waiting if name not in silent]:
            return "NodesNotReady", f"Not usable yet: {len(down)} of {len(wanted.staying)}."
        if waiting:
            heard = len(wanted.staying) - len(waiting)
            return "NodesReporting", f"Heard from so far: {heard} of {len(wanted.staying)}."
        if leaving:
            return (
                BUSY,
                f"Takes no new jobs and leaves when its jobs end: {', '.join(sorted(leaving))}.",
            )
        return "", ""

    def _without_idle(
        self, ctx: StepContext, home: ClusterFolder, wanted: _Wanted, running: dict[str, Running]
    ) -> _Wanted:
        # only what a slurmctld says that no longer gives jobs to those nodes
        if "slurmctld" not in running or _unwanted(wanted, running):
            return wanted
        try:
            nodes = self._nodes(ctx, wanted, self._facts(ctx, home, wanted))
        except OutsideError:
            return wanted
        return self._wanted(ctx, home, gone=wanted.rendered.leaving & _idle(nodes))

    # -- changing

    def _refuse_foreign_group(self, spec: ClusterSpec, home: ClusterFolder) -> None:
        group = names.group_name(spec.name)
        gid = unix.group_id(group)
        if gid is not None and (gid != spec.gid or not home.root.exists()):
            raise folder.name_taken(f"a group {group}")
        holder = unix.group_of_id(spec.gid)
        if holder not in {None, group}:
            raise PermanentError(
                "GidTaken",
                f"Group id {spec.gid} belongs to another group of this machine.",
                hint="Give the portal a range of ids that nothing else uses.",
            )

    def _ensure_group(self, spec: ClusterSpec) -> None:
        group = names.group_name(spec.name)
        if unix.group_id(group) is None:
            unix.add_group(group, spec.gid)

    def _write(self, home: ClusterFolder, wanted: _Wanted, slurm_ids: tuple[int, int]) -> None:
        uid, gid = slurm_ids
        if _content(home.munge_key) != wanted.munge_key:
            files.write_atomic(home.munge_key, wanted.munge_key, mode=0o400, uid=uid, gid=gid)
        for path, content in wanted.texts(home):
            if _content(path) == content:
                continue
            if path == home.jwt_key:
                files.write_atomic(path, content, mode=0o600, uid=uid, gid=gid)
            else:
                mode = 0o755 if path == home.step_program else 0o644
                files.write_atomic(path, content, mode=mode)
        for number in range(max((node.flavor.gpu_count for node in wanted.rendered.nodes), default=0)):
            link = home.root / "dev" / f"nvidia{number}"
            if not link.is_symlink():
                # slurmd drops a GPU without a device file; this one passes its check
                link.symlink_to("/dev/null")

    def _converge(self, ctx: StepContext, home: ClusterFolder, wanted: _Wanted, uids: frozenset[int]) -> None:
        running = daemons.of_cluster(home.conf, uids)
        unwanted = _unwanted(wanted, running)
        daemons.signal_all((one.record for one in unwanted), signal.SIGTERM)
        if daemons.wait_gone((one.record for one in unwanted), seconds=1.5):
            return  # slurmctld still writes its state; the next pass starts its successor
        self._forget_nodes(home, wanted)
        for node in wanted.rendered.nodes:
            enclosure.furnish(home, node.name)
        running = daemons.of_cluster(home.conf, uids)
        for daemon in wanted.daemons:
            if daemon.role not in running:
                if daemon.role == "slurmctld" and slurmconf.tells_accounting(wanted.rendered.slurm):
                    with suppress(TemporaryError):  # it was there before: slurmctld starts without it
                        accounting_books.wake(self._settings, ctx)
                self._start(ctx, home, daemon)
        roles = {daemon.role for daemon in wanted.daemons}
        daemons.until(lambda: roles <= set(daemons.of_cluster(home.conf, uids)), seconds=0.5)
        found = daemons.of_cluster(home.conf, uids)
        files.write_json(home.state("daemons"), {role: one.record.to_json() for role, one in found.items()})

    def _start(self, ctx: StepContext, home: ClusterFolder, daemon: Daemon) -> None:
        offset = LISTENING.get(daemon.role)
        if offset is not None and daemons.listens(ctx.ports[offset]):
            raise TemporaryError("PortInUse", f"Something else listens on port {ctx.ports[offset]}.")
        daemons.start(daemon, conf=home.conf, log=home.root / "log")
        if daemon.role == "munged":
            daemons.until(lambda: daemons.accepts(home.munge_socket), seconds=1)
        elif daemon.role == "slurmctld":
            # a slurmd that finds it at once is usable a second earlier
            daemons.until(lambda: daemons.listens(ctx.ports[slurmconf.CONTROLLER]), seconds=2)

    def _forget_nodes(self, home: ClusterFolder, wanted: _Wanted) -> None:
        kept = {node.name for node in wanted.rendered.nodes}
        for spool in (home.root / "sp").iterdir():
            if spool.name not in kept:
                steps = daemons.find(str(home.conf).__eq__, kinds=(daemons.STEP_DAEMON,))
                lost = [one.record.pid for one in steps if one.role == f"slurmd-{spool.name}"]
                daemons.kill_trees(lost)
                files.remove_tree(home.machine(spool.name))
                files.remove_tree(spool)

    def _end(self, home: ClusterFolder, gids: frozenset[int]) -> None:
        mine = str(home.conf).__eq__
        found = daemons.find(mine)
        daemons.signal_all((one.record for one in found), signal.SIGKILL)
        daemons.end_jobs(mine, gids)
        if daemons.wait_gone((one.record for one in found), seconds=1) or daemons.find(mine):
            raise TemporaryError("StillStopping", "Some daemons of the cluster still end.")


def _gone(home: ClusterFolder) -> Path:
    return home.root.with_name(f".gone-{home.root.name}")


def _check_ports(ctx: StepContext) -> None:
    if len(ctx.ports) <= slurmconf.FIRST_NODE:
        raise PermanentError(
            "NotEnoughPorts", "The cluster has no block of ports.", hint="Set the local site's port range."
        )


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _idle(nodes: Iterable[NodeRecord]) -> set[str]:
    # whatever else a node may be, such as UNKNOWN after a restart, a job may still run there
    return {
        node.name
        for node in nodes
        if node.state in {"IDLE", "DOWN"} and not node.cpus_allocated and "COMPLETING" not in node.flags
    }


def _unwanted(wanted: _Wanted, running: dict[str, Running]) -> list[Running]:
    versions = {daemon.role: daemon.version for daemon in wanted.daemons}
    return [one for role, one in running.items() if versions.get(role) != one.version]
