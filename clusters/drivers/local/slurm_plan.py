"""Which daemons one local Slurm cluster needs, as whom they run, and the version of their configuration."""

from __future__ import annotations

import functools
import grp
import hashlib
import pwd
import subprocess
from collections.abc import Iterable
from pathlib import Path

from clusters.drivers.local import enclosure
from clusters.drivers.local.daemons import PATH, Daemon, program
from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.names import NOBODY
from clusters.drivers.local.slurmconf import REST, Node, Rendered, tells_accounting
from clusters.provisioning.steps import AccountSpec, ClusterSpec
from portal.lib.errors import PermanentError, TemporaryError

API_VERSION = "v0.0.38"  # of slurmrestd before 23.11; newer ones are asked
PLUGGABLE_PARSERS = (23, 11)


def ids_of(slurm_user: str) -> tuple[int, int]:
    """uid and gid of Slurm's own user. Raises PermanentError NotInstalled."""
    try:
        entry = pwd.getpwnam(slurm_user)
        return entry.pw_uid, grp.getgrgid(entry.pw_gid).gr_gid
    except KeyError as error:
        raise PermanentError(
            "NotInstalled",
            f"This machine has no user {slurm_user}.",
            hint="Install Debian's Slurm packages.",
        ) from error


def observer_of(spec: ClusterSpec) -> AccountSpec | None:
    """The account that only looks, if the spec has one."""
    return next((account for account in spec.accounts if account.kind == "observer"), None)


def rest_uid(spec: ClusterSpec) -> int:
    """As whom slurmrestd runs: the cluster's observer, else nobody; never root, never Slurm's user."""
    observer = observer_of(spec)
    return observer.uid if observer else NOBODY


def owners(spec: ClusterSpec, slurm_uid: int) -> frozenset[int]:
    """Every uid that a daemon of the cluster may have."""
    return frozenset({0, slurm_uid, rest_uid(spec)})


@functools.cache
def release() -> str:
    """Slurm's release on this machine, such as 22.05.8. Raises a provisioning error."""
    try:
        answer = subprocess.run(
            ["slurmctld", "-V"],
            check=True,
            capture_output=True,
            text=True,
            timeout=10,
            env={"PATH": PATH},
        )
        return answer.stdout.split()[1]
    except FileNotFoundError as error:
        raise PermanentError(
            "NotInstalled", "Slurm is not installed here.", hint="Install slurmctld."
        ) from error
    except (subprocess.SubprocessError, IndexError) as error:
        raise TemporaryError("SlurmNotAnswering", "Slurm does not say its release.") from error


def _release_numbers() -> tuple[int, ...]:
    return tuple(int(part) for part in release().split(".")[:2])


def api_version() -> str:
    """The API version to speak, or "" when slurmrestd has to be asked."""
    return API_VERSION if _release_numbers() < PLUGGABLE_PARSERS else ""


def needs_cgroup_file() -> bool:
    """Newer slurmds end where they find no usable cgroups unless a file tells them not to look."""
    return _release_numbers() >= PLUGGABLE_PARSERS


def digest(*parts: bytes) -> str:
    """A version of some configuration. Keys among the parts are random and long: nothing leaks."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def plan(
    spec: ClusterSpec,
    folder: ClusterFolder,
    rendered: Rendered,
    ports: range,
    *,
    slurm_ids: tuple[int, int],
    keys: tuple[bytes, bytes],
) -> tuple[Daemon, ...]:
    """The daemons in the order in which they start. `keys` are the jwt key and the munge key."""
    links = folder.root / "bin"
    uid, gid = slurm_ids
    files = rendered.slurm.encode(), rendered.gres.encode()
    conf = str(folder.conf)
    controller = Daemon(
        "slurmctld",
        (program("slurmctld", links), "-D", "-f", conf),
        uid,
        gid,
        digest(*files, keys[0]),
        groups=(spec.gid,),
    )
    munged = Daemon("munged", _munged(folder, links), uid, gid, digest(keys[1]), groups=(spec.gid,))
    rest = Daemon(
        "slurmrestd",
        (
            *(program("slurmrestd", links), "-f", conf),
            *(*_rest_options(tells_accounting(rendered.slurm)), f"127.0.0.1:{ports[REST]}"),
        ),
        rest_uid(spec),
        spec.gid,
        digest(_head(rendered.slurm), str(rest_uid(spec)).encode()),
        # without SLURM_JWT=daemon munge gets the token and every answer is a plain 401
        environment=(("SLURM_JWT", "daemon"), ("MALLOC_ARENA_MAX", "1")),
    )
    nodes = tuple(_node(node, folder, links, files) for node in rendered.nodes)
    return (munged, controller, *nodes, rest)


def _node(node: Node, folder: ClusterFolder, links: Path, files: tuple[bytes, bytes]) -> Daemon:
    command = (program("slurmd", links), "-D", "-N", node.name, "-f", str(folder.conf))
    around = enclosure.around(folder, node.name, node.flavor)
    return Daemon(
        f"slurmd-{node.name}",
        (*around, *command, "-d", str(folder.step_program)),
        0,
        0,
        # a slurmd knows no partitions, and nothing of accounting
        digest(
            _without(files[0].decode(), "PartitionName=", "AccountingStor"),
            files[1],
            *(part.encode() for part in around),
        ),
        is_wrapped=True,
    )


def _munged(folder: ClusterFolder, links: Path) -> tuple[str, ...]:
    run = folder.root / "run"
    options: Iterable[str] = (
        f"--socket={folder.munge_socket}",
        f"--key-file={folder.munge_key}",
        f"--pid-file={run}/munged.pid",
        f"--seed-file={folder.root}/state/munged.seed",
        f"--log-file={folder.root}/log/munged.log",
    )
    return (program("munged", links), "--foreground", "--force", *options)


def _rest_options(accounting: bool) -> tuple[str, ...]:
    has_parsers = _release_numbers() >= PLUGGABLE_PARSERS
    plugin = "slurmctld" if has_parsers else API_VERSION
    if accounting:
        plugin += ",slurmdbd" if has_parsers else f",db{API_VERSION}"
    return ("-a", "rest_auth/jwt", "-s", plugin, "-t", "4")


def layout(
    spec: ClusterSpec, home: ClusterFolder, slurm_ids: tuple[int, int]
) -> tuple[tuple[Path, int, int, int], ...]:
    """Each folder of a cluster, with its mode and owner."""
    uid, gid = slurm_ids
    root = home.root
    return (
        (root, 0o710, 0, spec.gid),
        (root / "etc", 0o755, 0, 0),
        (root / "keys", 0o700, uid, gid),
        (root / "state", 0o700, uid, gid),
        (root / "log", 0o700, uid, gid),
        (root / "run", 0o711, uid, gid),
        (root / "sp", 0o711, 0, 0),
        (root / "tmp", 0o700, 0, 0),
        (root / "dev", 0o755, 0, 0),
        (root / "bin", 0o755, 0, 0),
        (root / "local", 0o700, 0, 0),
        (home.homes, 0o711, 0, 0),
    )


def _head(slurm_conf: str) -> bytes:
    # slurmrestd does not care which nodes there are: it need not start again when a pool changes
    return _without(slurm_conf, "NodeName=", "PartitionName=")


def _without(slurm_conf: str, *beginnings: str) -> bytes:
    return "\n".join(line for line in slurm_conf.splitlines() if not line.startswith(beginnings)).encode()
