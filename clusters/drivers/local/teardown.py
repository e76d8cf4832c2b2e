"""Ends all local clusters below a data folder at once: for Ctrl-C of `make run`, and for `make clean`.

`python -m clusters.drivers.local.teardown <data>` ends processes and keeps data; with --remove it also
removes the clusters' users, groups and folders.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clusters.drivers.local import accounting_store, daemons, files, folder, names, planes, unix
from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.ledger import CLUSTER, INSTALLATION
from portal.lib.errors import FreeholdError, TemporaryError

GRACE = 3.0  # seconds; slurmctld writes its state within one


@dataclass(frozen=True, slots=True)
class _Found:
    """A cluster that a mark says is ours."""

    folder: ClusterFolder
    mark: unix.Mark
    group: str
    gids: frozenset[int]


def stop_all(data: Path) -> int:
    """End every daemon and job of every cluster below `data`; returns how many processes. Keeps all data."""
    mine = _below(data)
    gids = frozenset[int]().union(*(cluster.gids for cluster in _clusters(data)))
    found = daemons.find(mine)
    # no new job may start while the old ones end
    launching = [one.record for one in found if one.kind in {"slurmctld", "slurmd"}]
    others = [one.record for one in found if one.kind not in {"slurmctld", "slurmd"}]
    daemons.signal_all(launching, signal.SIGTERM)
    ended = daemons.end_jobs(mine, gids)
    left = daemons.wait_gone(launching, seconds=GRACE)
    daemons.signal_all(others, signal.SIGTERM)
    left += daemons.wait_gone(others, seconds=1)
    daemons.signal_all(left, signal.SIGKILL)
    if daemons.wait_gone(left, seconds=1) or daemons.find(mine):
        raise TemporaryError("StillStopping", "Some processes of the local clusters still end.")
    control = planes.search(_planes(data))
    planes.end(control)
    # last: slurmctld still told it what it knew
    return len(found) + ended + len(control) + accounting_store.stop_all(data)


def remove_all(data: Path) -> int:
    """End everything below `data` and remove what carries our mark; returns how many clusters."""
    stop_all(data)
    clusters = _clusters(data)
    for cluster in clusters:
        for entry in unix.users_with(cluster.mark):
            unix.remove_user(entry.pw_name)
        if cluster.gids:
            unix.remove_group(cluster.group)
        files.remove_tree(cluster.folder.root)
    for name in ("planes", "site", "accounting"):
        if (data / name).is_dir():
            files.remove_tree(data / name)
    return len(clusters)


def _below(data: Path) -> Callable[[str], bool]:
    prefix = f"{data / 'clusters'}/"
    return lambda conf: conf.startswith(prefix) and "/../" not in conf


def _planes(data: Path) -> dict[str, int]:
    """Each control plane's folder and the user that its processes run as."""
    root = data / "planes"
    found: dict[str, int] = {}
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        gid = (files.read_json(ClusterFolder(path).mark) or {}).get("gid")
        if isinstance(gid, int) and names.is_free_id(gid):
            # processes name the folder as it was when they began
            found[str(path.with_name(path.name.removeprefix(".gone-")))] = gid
    return found


def _clusters(data: Path) -> list[_Found]:
    root = data / "clusters"
    found: list[_Found] = []
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        here = ClusterFolder(path)
        mark = files.read_json(here.mark)
        if mark and {INSTALLATION, CLUSTER, "group", "gid"} <= mark.keys():
            owner = unix.Mark(mark[INSTALLATION], mark[CLUSTER])
            found.append(_Found(here, owner, str(mark["group"]), folder.job_gids(here)))
    return found


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit code is 1 when something stayed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="the data folder")
    parser.add_argument("--remove", action="store_true", help="also remove users, groups and folders")
    options = parser.parse_args(arguments)
    data = options.data.resolve()
    try:
        if options.remove:
            sys.stdout.write(f"Removed {remove_all(data)} local clusters.\n")
        else:
            sys.stdout.write(f"Ended {stop_all(data)} processes of local clusters.\n")
    except FreeholdError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
