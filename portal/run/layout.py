"""Where everything of one running portal lies, who owns it, and the keys made on the first run."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pwd
import re
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

USER = "freehold"
PARENT = Path("/var/lib/freehold")


class CannotRun(Exception):
    """The portal cannot start; the message says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths below the data folder. What root writes into is root's own, so that no link misleads it."""

    data: Path
    clone: Path

    @property
    def app(self) -> Path:
        """The copy of the code that the parts run; a clone below a closed home is out of their reach."""
        return self.data / "app"

    @property
    def static(self) -> Path:
        return self.data / "static"

    @property
    def postgres(self) -> Path:
        return self.data / "pg" / "data"

    @property
    def postgres_sockets(self) -> Path:
        return self.data / "pg" / "sock"

    @property
    def redis(self) -> Path:
        return self.data / "redis"

    @property
    def redis_socket(self) -> Path:
        return self.redis / "redis.sock"

    @property
    def keys(self) -> Path:
        return self.data / "keys"

    @property
    def state(self) -> Path:
        return self.data / "state"

    @property
    def output_socket(self) -> Path:
        return self.state / "output.sock"

    @property
    def announcement(self) -> Path:
        """Address, ports and pids of the running portal, for tools and tests."""
        return self.state / "run.json"

    @property
    def kube(self) -> Path:
        """Links to the programs of local control planes, and a note of how far their build is."""
        return self.data / "kube"

    @property
    def log(self) -> Path:
        return self.data / "log"

    @property
    def supervisor(self) -> Path:
        """Lock, records and control socket of the supervisor; only root gets in."""
        return self.data / "supervisor"


def find() -> Layout:
    """The layout of this clone, or of the folder that FREEHOLD_DATA names."""
    clone = Path(__file__).resolve().parents[2]
    if named := os.environ.get("FREEHOLD_DATA"):
        return Layout(data=Path(named).resolve(), clone=clone)
    suffix = hashlib.sha256(str(clone).encode()).hexdigest()[:6]
    # cut and plain: paths of sockets hold at most 107 characters, and slurm.conf takes no blanks
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", clone.name)[:16]
    return Layout(data=PARENT / f"{name}-{suffix}", clone=clone)


def user() -> pwd.struct_passwd:
    """The system user of all parts but two. Raises CannotRun when the set-up did not make it."""
    try:
        return pwd.getpwnam(USER)
    except KeyError as error:
        raise CannotRun(f"The system user {USER} is missing. Start with `make run`: it makes it.") from error


def prepare(layout: Layout) -> None:
    """Make the folders with their owners and modes, and the keys when there are none."""
    if not layout.data.exists():
        layout.data.mkdir(parents=True)
    _check_reachable(layout.data)
    owner = user()
    folder(layout.data, 0o711)
    for path in (layout.supervisor, layout.log):
        folder(path, 0o700)
    for path in (layout.postgres.parent, layout.postgres_sockets, layout.redis, layout.keys, layout.state):
        folder(path, 0o700, owner)
    folder(layout.data / "clusters", 0o711)
    folder(layout.kube, 0o755)
    # until the set-up has looked, nobody is told to install something
    note = {"state": "building", "text": "", "since": int(time.time())}
    (layout.kube / "state.json").write_text(json.dumps(note), encoding="utf-8")
    folder(layout.app, 0o755)
    folder(layout.static, 0o755, owner)
    _key(layout.keys / "secret", secrets.token_urlsafe(64), owner)
    _key(layout.keys / "fernet", base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(), owner)
    _key(layout.keys / "oidc-client", secrets.token_urlsafe(32), owner)


def folder(path: Path, mode: int, owner: pwd.struct_passwd | None = None) -> None:
    """Make a folder, or set its owner (root by default) and mode, whatever the umask."""
    path.mkdir(exist_ok=True)
    os.chown(path, owner.pw_uid if owner else 0, owner.pw_gid if owner else 0, follow_symlinks=False)
    path.chmod(mode)


def remove(layout: Layout) -> None:
    """Remove the data folder, and only if it is one of ours."""
    if not (layout.supervisor / "lock").exists():
        raise CannotRun(f"{layout.data} is not a data folder of Freehold. Nothing was removed.")
    shutil.rmtree(layout.data)


def write_private(path: Path, text: str, owner: pwd.struct_passwd | None = None) -> None:
    """Write a file for one reader, at once and without following a link that lies in its place."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        if owner:
            os.fchown(file.fileno(), owner.pw_uid, owner.pw_gid)
        file.write(text)
    new.rename(path)


def _key(path: Path, value: str, owner: pwd.struct_passwd) -> None:
    if not path.exists():
        write_private(path, value + "\n", owner)


def _check_reachable(data: Path) -> None:
    for parent in data.parents:
        if not parent.stat().st_mode & 0o001:
            raise CannotRun(
                f"{parent} is closed to other users, so no job could reach its files below {data}. "
                "Choose another folder by the variable FREEHOLD_DATA."
            )
