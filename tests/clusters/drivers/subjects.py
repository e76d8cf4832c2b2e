"""The local steps as subjects of the driver contract."""

from __future__ import annotations

import dataclasses
import pwd
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from clusters.clients.slurmrest.models import SubmitRequest
from clusters.drivers.local import daemons, unix
from clusters.drivers.slurm_probe import identity, smoke
from clusters.provisioning.steps import AccountSpec, ClusterSpec, Step, StepContext
from portal.lib import processes
from tests.clusters.drivers.lab import Lab


class LocalSubject:
    """What all local steps share."""

    name = ""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.step: Step = lab.site[self.name]
        self.ctx = lab.prepare(lab.cluster(), until=self.name)

    def fresh(self) -> None:
        """Start over with another cluster."""
        self.lab.take_down(self.ctx)
        # without members: each account more is a handful of effects more to crash at
        self.ctx = self.lab.prepare(self.lab.cluster(members=0), until=self.name)

    def changed(self) -> StepContext:
        """One machine more."""
        (pool,) = self.ctx.spec.pools
        more = dataclasses.replace(pool, machines=(*pool.machines, f"{pool.machines[0]}x"))
        return self.prepared(dataclasses.replace(self.ctx.spec, pools=(more,)))

    def prepared(self, spec: ClusterSpec) -> StepContext:
        """The context of a changed spec, with the steps before this one brought up to it."""
        return self.lab.prepare(dataclasses.replace(self.ctx, spec=spec), until=self.name)


class LedgerSubject(LocalSubject):
    """Steps that keep books."""

    folders: tuple[str, ...] = ()

    def _paths(self) -> list[Path]:
        site = self.lab.settings.data / "site" / "lab"
        return [path for folder in self.folders for path in sorted((site / folder).glob("*"))]

    def inventory(self) -> dict[str, object]:
        """The files that name the cluster."""
        texts = {path.name: path.read_text() for path in self._paths()}
        return {name: text for name, text in texts.items() if self.ctx.spec.id in text}

    def damage(self) -> None:
        """Lose an entry."""
        self._paths()[-1].unlink()

    def impostor(self) -> Callable[[], object]:
        """An entry of somebody else's."""
        path = (
            self.lab.settings.data
            / "site"
            / "lab"
            / self.folders[-1]
            / f"{self.ctx.spec.pools[0].machines[0]}.json"
        )
        path.write_text('{"name": "theirs"}')
        return path.read_text


class MachinesSubject(LedgerSubject):
    """The machines step."""

    name = "machines"
    folders = ("machines",)


class FabricSubject(LedgerSubject):
    """The fabric step."""

    name = "fabric"
    folders = ("fabric/vpcs", "fabric/ports")


class SlurmSubject(LocalSubject):
    """The slurm step."""

    name = "slurm"

    def inventory(self) -> dict[str, object]:
        """The folder, the group, and every process by what it is."""
        root = self.lab.folder(self.ctx)
        found: dict[str, object] = {}
        if root.exists():
            found["folder"] = sorted(path.name for path in root.iterdir())
            found["slurm.conf"] = (root / "etc" / "slurm.conf").stat().st_mtime_ns
        if (gid := unix.group_id(f"fh{self.ctx.spec.name[2:]}")) is not None:
            found["group"] = gid
        for one in daemons.find(str(root / "etc" / "slurm.conf").__eq__):
            pids = found.setdefault(f"process {one.role}", [])
            assert isinstance(pids, list)
            pids.append(one.record.pid)
        return found

    def damage(self) -> None:
        """Kill slurmctld."""
        (one,) = [
            one
            for one in daemons.find(str(self.lab.folder(self.ctx) / "etc" / "slurm.conf").__eq__)
            if one.role == "slurmctld"
        ]
        assert processes.send_signal(one.record, signal.SIGKILL)
        assert not daemons.wait_gone([one.record], seconds=20)

    def impostor(self) -> Callable[[], object]:
        """A folder of somebody else's."""
        root = self.lab.folder(self.ctx)
        root.mkdir()
        (root / "theirs").write_text("keep me")
        return lambda: [(path.name, path.read_text()) for path in root.iterdir()]


class IdentitySubject(LocalSubject):
    """The identity step."""

    name = "identity"

    def inventory(self) -> dict[str, object]:
        """Users, homes, and probe jobs that still wait."""
        root = self.lab.folder(self.ctx) / "home"
        ours = unix.users_with(unix.mark_of(self.ctx.spec))
        found: dict[str, object] = {f"user {entry.pw_name}": tuple(entry) for entry in ours}
        found |= {f"home {path.name}": path.stat().st_mode for path in root.iterdir()}
        held = self.lab.slurm(self.ctx, "squeue", "-h", "-n", identity.NAME, "-o", "%i")
        return found | {f"job {job}": job for job in held.split()}

    def damage(self) -> None:
        """Remove a member's user."""
        unix.remove_user(self.ctx.spec.accounts[-1].name)

    def changed(self) -> StepContext:
        """One member more."""
        last = self.ctx.spec.accounts[-1]
        more = AccountSpec(f"{last.name}x", last.uid + 1, last.gid, "member", active=True)
        return self.prepared(dataclasses.replace(self.ctx.spec, accounts=(*self.ctx.spec.accounts, more)))

    def impostor(self) -> Callable[[], object]:
        """A user of somebody else's, with the name of one of ours."""
        account = self.ctx.spec.accounts[-1]
        unix.add_user(
            account.name,
            uid=account.uid,
            gid=account.gid,
            home=Path("/nonexistent"),
            mark=unix.Mark("another", "cluster"),
        )
        self.theirs = account.name
        return lambda: pwd.getpwnam(account.name)

    def clean(self) -> None:
        """Remove the impostor."""
        if name := getattr(self, "theirs", None):
            subprocess.run(["userdel", name], check=True, capture_output=True)


class SmokeSubject(LocalSubject):
    """The smoke step."""

    name = "smoke"

    def _record(self) -> Path:
        return self.lab.folder(self.ctx) / "local" / "smoke.json"

    def inventory(self) -> dict[str, object]:
        """The record and the jobs, as long as there is a record."""
        if not self._record().exists():
            return {}
        jobs = self.lab.gateway(self.ctx, self.ctx.spec.accounts[0].name).jobs()
        assert jobs is not None
        found: dict[str, object] = {"record": self._record().read_text()}
        return found | {f"job {job.job_id}": 1 for job in jobs.jobs if job.name == smoke.NAME}

    def damage(self) -> None:
        """Lose the record."""
        self._record().unlink()

    def impostor(self) -> Callable[[], object]:
        """A job of a member with the name and the mark of ours."""
        self.step.apply(self.ctx)
        observer, member = self.ctx.spec.accounts[0].name, self.ctx.spec.accounts[-1].name
        listing = self.lab.gateway(self.ctx, observer).jobs()
        assert listing is not None
        (ours,) = [job for job in listing.jobs if job.name == smoke.NAME]
        self.lab.gateway(self.ctx, observer).cancel(str(ours.job_id))
        home = str(self.lab.folder(self.ctx) / "home" / member)
        theirs = self.lab.gateway(self.ctx, member).submit(
            SubmitRequest(
                script="#!/bin/sh\nsleep 60\n",
                environment={"PATH": "/usr/bin:/bin"},
                name=smoke.NAME,
                comment=ours.comment,
                working_directory=home,
            )
        )
        return lambda: self.lab.gateway(self.ctx, member).job(theirs.job_id)[0].state
