"""The control-plane step: one real etcd, kube-apiserver and kube-controller-manager for one tenant."""

from __future__ import annotations

import datetime as dt

from clusters.clients.kube import errors
from clusters.drivers.local import (
    daemons,
    files,
    folder,
    names,
    pki,
    plane_access,
    plane_files,
    plane_plan,
    planes,
)
from clusters.drivers.local.daemons import Daemon
from clusters.drivers.local.guard import guarded
from clusters.drivers.local.planes import ETCD, PEER, SERVER, Found, Plane
from clusters.drivers.local.programs import MISSING, Programs, State
from clusters.drivers.local.settings import LocalSettings
from clusters.provisioning.steps import ClusterSpec, Difference, Observed, StepContext
from portal.lib.errors import PermanentError, TemporaryError

ABSENT = Observed(exists=False)
# it listens seconds before it answers, and a pass has other things to do
STARTING_SECONDS, BRIEF = 20.0, 0.5
LISTENING = {"etcd": (ETCD, PEER), "kube-apiserver": (SERVER,)}


class ControlPlaneStep:
    """Starts what is missing, starts again what changed or died, grants the portal its rights."""

    name = "control-plane"
    component = "Kubernetes"
    needs: tuple[str, ...] = ("machines", "fabric")
    deadline = dt.timedelta(minutes=5)

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings
        self._programs = Programs(settings.programs)

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        return (
            f"API server of cluster {spec.name}, with a store and keys of its own",
            f"rights of {plane_access.PORTAL} in it: nodes, and accounts of members",
        )

    @guarded
    def observe(self, ctx: StepContext) -> Observed:
        """Look at files, processes and ports, then ask the API server."""
        names.check_cluster(ctx.spec)
        plane = planes.of(self._settings.data, ctx.spec)
        if not plane.root.exists():
            left = planes.gone(plane).exists() or planes.find(plane.root, ctx.spec.gid)
            return Observed(exists=True, reason="Removing") if left else self._absent()
        if not folder.is_ours(plane.home, ctx.spec):
            return Observed(exists=False, reason="NameTaken", message=str(folder.name_taken("a folder")))
        if not (plane.pki / "ca.crt").exists() or not plane_access.known(plane, ctx):
            return Observed(exists=True, reason="ControlPlaneMissing", message="It is not set up yet.")
        try:
            return self._compare(ctx, plane)
        except PermanentError as error:
            # what cannot be compared can still be removed
            return Observed(exists=True, reason=error.reason, message=error.message)

    def _absent(self) -> Observed:
        if self._programs.state is not State.BEING_BUILT:
            return ABSENT
        return Observed(
            exists=False,
            reason=MISSING,
            message=self._programs.wait_message(),
            waits_for="the Kubernetes programs",
        )

    def _compare(self, ctx: StepContext, plane: Plane) -> Observed:
        running = planes.find(plane.root, ctx.spec.gid)
        facts = _facts(ctx, plane, running)
        missing = [role for role in planes.ROLES if role not in running]
        if missing:
            message = f"Not running: {', '.join(sorted(missing))}. Jobs that run go on."
            down = tuple(Difference(role, "", "running", "not running") for role in sorted(missing))
            return Observed(
                exists=True, reason="ControlPlaneDown", message=message, differences=down, facts=facts
            )
        if outdated := self._outdated(ctx, plane, running):
            message = "The control plane runs with older settings or certificates."
            return Observed(
                exists=True,
                reason="ControlPlaneChanged",
                message=message,
                differences=outdated,
                facts=facts,
            )
        is_young = planes.age(running["kube-apiserver"]) < STARTING_SECONDS
        return self._ask(ctx, facts, timeout=BRIEF if is_young else plane_access.TIMEOUT)

    def _outdated(self, ctx: StepContext, plane: Plane, running: dict[str, Found]) -> tuple[Difference, ...]:
        if not plane_files.are_good(plane, ctx.ports, uid=ctx.spec.gid):
            return (Difference("certificates and files of the control plane", "", "as set up", "otherwise"),)
        if self._programs.state is not State.THERE:
            return ()
        wanted = plane_plan.plan(ctx.spec, plane, ctx.ports, self._programs)
        versions = {daemon.role: daemon.version for daemon in wanted}
        return tuple(
            Difference(role, "settings", versions.get(role, "not running"), running[role].version)
            for role in sorted(running)
            if running[role] in _unwanted(wanted, running)
        )

    def _ask(self, ctx: StepContext, facts: dict[str, str], *, timeout: float) -> Observed:
        starting = Observed(
            exists=True,
            in_sync=True,
            reason="ControlPlaneStarting",
            message="The API server does not answer yet.",
            facts=facts,
        )
        if not daemons.listens(ctx.ports[SERVER]):
            return starting
        client = plane_access.portal_client(ctx, timeout)
        differing: tuple[Difference, ...] = ()
        try:
            facts["version"] = client.version()
            differing = plane_access.differences(client, ctx.spec)
            if not differing:
                return Observed(exists=True, in_sync=True, ready=True, facts=facts)
        except errors.Forbidden:
            pass  # it answers, and the rights are not there yet
        except TemporaryError:
            return starting
        finally:
            client.close()
        return Observed(
            exists=True,
            reason="AccessNotGranted",
            message="The portal's rights in the API server are not as they should be.",
            differences=differing
            or (Difference(f"rights of {plane_access.PORTAL}", "", "there", "not there"),),
            facts=facts,
        )

    @guarded
    def apply(self, ctx: StepContext) -> None:
        """Write what differs, end what is outdated, start what is missing, grant what is not granted."""
        names.check(ctx.spec, system_user=self._settings.system_user)
        _check_ports(ctx)
        plane = planes.of(self._settings.data, ctx.spec)
        if self._programs.state is State.BEING_BUILT:
            return  # observe says so
        if self._programs.state is State.MISSING:
            raise self._programs.missing()
        folder.claim(plane.home, ctx.spec)
        with folder.alone(plane.home):
            plane_files.write(plane, ctx.ports, uid=ctx.spec.gid)
            if not plane_access.known(plane, ctx):
                plane_access.give(plane, ctx)
            self._converge(ctx, plane)

    def _converge(self, ctx: StepContext, plane: Plane) -> None:
        wanted = plane_plan.plan(ctx.spec, plane, ctx.ports, self._programs)
        running = planes.find(plane.root, ctx.spec.gid)
        planes.end(_unwanted(wanted, running))
        running = planes.find(plane.root, ctx.spec.gid)
        missing = [daemon for daemon in wanted if daemon.role not in running]
        for daemon in missing:
            _start(ctx, plane, daemon)
        if missing:
            roles = {daemon.role for daemon in wanted}
            daemons.until(lambda: roles <= set(planes.find(plane.root, ctx.spec.gid)), seconds=0.5)
        elif daemons.listens(ctx.ports[SERVER]):
            plane_access.grant(plane, ctx)

    @guarded
    def remove(self, ctx: StepContext) -> None:
        """End the processes, then remove the folder. Raises TemporaryError while one runs."""
        names.check_cluster(ctx.spec)
        plane = planes.of(self._settings.data, ctx.spec)
        if plane.root.exists():
            if not folder.is_ours(plane.home, ctx.spec):
                return
            with folder.alone(plane.home):
                planes.end(planes.find(plane.root, ctx.spec.gid).values())
                # moved first: half a folder without its mark would be nobody's
                files.remove_tree(planes.gone(plane))
                plane.root.rename(planes.gone(plane))
        planes.end(planes.find(plane.root, ctx.spec.gid).values())
        files.remove_tree(planes.gone(plane))


def _start(ctx: StepContext, plane: Plane, daemon: Daemon) -> None:
    for offset in LISTENING.get(daemon.role, ()):
        if daemons.listens(ctx.ports[offset]):
            raise TemporaryError("PortInUse", f"Something else listens on port {ctx.ports[offset]}.")
    daemons.start(daemon, conf=None, log=plane.log)


def _unwanted(wanted: tuple[Daemon, ...], running: dict[str, Found]) -> list[Found]:
    versions = {daemon.role: daemon.version for daemon in wanted}
    return [one for role, one in running.items() if versions.get(role) != one.version]


def _facts(ctx: StepContext, plane: Plane, running: dict[str, Found]) -> dict[str, str]:
    authority = (plane.pki / "ca.crt").read_bytes()
    return {
        "endpoint": plane_plan.endpoint(ctx.ports),
        "ca_fingerprint": pki.fingerprint(authority),
        "memory": f"{planes.memory_mib(running.values())} MiB",
    }


def _check_ports(ctx: StepContext) -> None:
    if len(ctx.ports) <= max(SERVER, ETCD, PEER):
        raise PermanentError(
            "NotEnoughPorts", "The cluster has no block of ports.", hint="Set the local site's port range."
        )
