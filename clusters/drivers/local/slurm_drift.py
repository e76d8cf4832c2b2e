"""What of a local cluster's Slurm is not as wanted: its group, folders and files, and its processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from clusters.drivers.local import enclosure, names, slurm_plan, telling, unix
from clusters.drivers.local.daemons import Daemon, Running
from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.slurmconf import Rendered
from clusters.kube.drift import NOTHING
from clusters.provisioning.steps import ClusterSpec, Difference

CGROUP = b"CgroupPlugin=disabled\n"


def texts(home: ClusterFolder, rendered: Rendered, jwt_key: bytes) -> tuple[tuple[Path, bytes], ...]:
    """Each file that is written, with what it is to hold."""
    found = (
        (home.step_program, enclosure.STEP.encode()),
        (home.conf, rendered.slurm.encode()),
        (home.gres, rendered.gres.encode()),
        (home.jwt_key, jwt_key),
    )
    if slurm_plan.needs_cgroup_file():
        return (*found, (home.root / "etc" / "cgroup.conf", CGROUP))
    return found


def of_files(
    spec: ClusterSpec,
    home: ClusterFolder,
    written: Iterable[tuple[Path, bytes]],
    slurm_ids: tuple[int, int],
) -> tuple[Difference, ...]:
    """Of the group, the folders and the files; a key is never shown."""
    return tuple(_of_files(spec, home, written, slurm_ids))


def _of_files(
    spec: ClusterSpec,
    home: ClusterFolder,
    written: Iterable[tuple[Path, bytes]],
    slurm_ids: tuple[int, int],
) -> Iterator[Difference]:
    group = names.group_name(spec.name)
    gid = unix.group_id(group)
    if gid != spec.gid:
        yield Difference(f"group {group}", "gid", str(spec.gid), NOTHING if gid is None else str(gid))
    for path, mode, uid, owner in slurm_plan.layout(spec, home, slurm_ids):
        yield from telling.of_folder(path, mode=mode, uid=uid, gid=owner)
    for path, content in written:
        yield from telling.of_file(path, content, is_secret=path == home.jwt_key)


def of_processes(
    wanted: Iterable[Daemon], running: dict[str, Running], outdated: Iterable[Running]
) -> tuple[Difference, ...]:
    """Of daemons that do not run, or run with other settings than the present ones, or are too much."""
    plan = {daemon.role: daemon for daemon in wanted}
    return (
        *(Difference(role, "", "running", "not running") for role in plan if role not in running),
        *(
            Difference(one.role, "settings", plan[one.role].version, one.version)
            if one.role in plan
            else Difference(one.role, "", "not running", "running")
            for one in outdated
        ),
    )
