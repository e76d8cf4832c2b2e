"""One branch of a Git repository, written by commits and without a work tree.

Real git by argument lists. Nothing of this machine's own configuration is read, nothing asks for a password,
and hooks do not run. A cached bare repository makes a look cheap; it holds nothing that cannot be fetched.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from portal.lib.errors import PermanentError, TemporaryError

TIMEOUT = 25.0
URL = re.compile(r"(https://|ssh://|file:///|/)[^\s\x00-\x1f]+")  # never a word that git takes for an option
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
AUTHOR = {"GIT_AUTHOR_NAME": "Freehold", "GIT_COMMITTER_NAME": "Freehold"}
ISOLATED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "GIT_ALLOW_PROTOCOL": "https:ssh:file",
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
}


class PushLost(TemporaryError):
    """Someone else's commit came first."""

    def __init__(self) -> None:
        super().__init__("GitPushLost", "Others commit to the repository at the same time.")


@dataclass(frozen=True, slots=True)
class Branch:
    """Where to commit. `environment` holds credentials, e.g. GIT_SSH_COMMAND; it is never printed."""

    url: str
    name: str
    cache: Path  # a folder of ours, one bare repository in it per url
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    email: str = "freehold@localhost"

    def __post_init__(self) -> None:
        if not URL.fullmatch(self.url) or not NAME.fullmatch(self.name) or ".." in self.name:
            raise PermanentError(
                "BadSiteSettings",
                "The site's Git repository is not given as https, ssh or a path, with a plain branch name.",
                hint="Correct git.url and git.branch in the site's settings.",
            )

    def head(self) -> str:
        """Fetch, and say which commit the branch is at. Raises TemporaryError and PermanentError."""
        if not (self._folder / "HEAD").exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            self._git("init", "--quiet", "--bare", str(self._folder), inside=False)
        self._git(
            "fetch", "--quiet", "--no-tags", "--depth=1", self.url, f"+refs/heads/{self.name}:{self._ref}"
        )
        return self._git("rev-parse", "--verify", f"{self._ref}^{{commit}}").strip()

    def read(self, commit: str, folder: str) -> dict[str, str]:
        """Path to text of every file below a folder."""
        listed = self._git("ls-tree", "-r", "-z", "--full-tree", commit, "--", f"{folder}/")
        entries = [line.partition("\t") for line in listed.split("\0") if line]
        blobs = {path: about.split()[2] for about, _, path in entries if about.split()[1] == "blob"}
        if not blobs:
            return {}
        said = self._run("cat-file", "--batch", text="".join(f"{blob}\n" for blob in blobs.values()))
        return dict(zip(blobs, _contents(said), strict=True))

    def commit(self, parent: str, files: Mapping[str, str | None], message: str) -> str:
        """Push one commit on top of `parent`: each path with its text, None removes it. Raises PushLost."""
        with tempfile.TemporaryDirectory(prefix="freehold-git-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._git("read-tree", parent, more=index)
            staged = "".join(f"{self._staged(text)}\t{path}\0" for path, text in files.items())
            self._git("update-index", "-z", "--index-info", text=staged, more=index)
            tree = self._git("write-tree", more=index).strip()
        who = {**AUTHOR, "GIT_AUTHOR_EMAIL": self.email, "GIT_COMMITTER_EMAIL": self.email}
        made = self._git("commit-tree", tree, "-p", parent, "-F", "-", text=message, more=who).strip()
        self._push(made)
        return made

    def _staged(self, text: str | None) -> str:
        """Mode and blob as `git update-index --index-info` reads them; mode 0 removes the path."""
        if text is None:
            return f"0 {'0' * 40}"
        return f"100644 {self._git('hash-object', '-w', '--stdin', text=text).strip()}"

    def _push(self, commit: str) -> None:
        try:
            self._git("push", "--quiet", "--porcelain", self.url, f"{commit}:refs/heads/{self.name}")
        except _Refused as error:
            if any(
                word in error.said
                for word in ("[rejected]", "fetch first", "non-fast-forward", "cannot lock")
            ):
                raise PushLost from error
            raise

    @property
    def _folder(self) -> Path:
        return self.cache / hashlib.sha256(self.url.encode()).hexdigest()[:16]

    @property
    def _ref(self) -> str:
        return f"refs/freehold/{self.name}"

    def _git(
        self, *words: str, text: str = "", more: Mapping[str, str] | None = None, inside: bool = True
    ) -> str:
        return self._run(*words, text=text, more=more, inside=inside).decode(errors="replace")

    def _run(
        self, *words: str, text: str = "", more: Mapping[str, str] | None = None, inside: bool = True
    ) -> bytes:
        where = ["--git-dir", str(self._folder)] if inside else []
        safe = ["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "core.quotePath=false"]
        command = ["git", *safe, *where, *words]
        home = {"HOME": str(self.cache), **ISOLATED, **self.environment, **(more or {})}
        try:
            done = subprocess.run(
                command,
                input=text.encode(),
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
                env=home,
                cwd="/",
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise TemporaryError("GitTimeout", "The Git repository does not answer in time.") from error
        except OSError as error:
            words_of = os.strerror(error.errno) if error.errno else type(error).__name__
            raise PermanentError(
                "GitMissing", f"git cannot be run: {words_of}.", hint="Install git."
            ) from error
        if done.returncode:
            raise _Refused(words[0], (done.stdout + done.stderr).decode(errors="replace"))
        return done.stdout


def _contents(said: bytes) -> Iterator[str]:
    """What `git cat-file --batch` wrote: a line that ends with the size, the content, a line end."""
    while said:
        head, _, rest = said.partition(b"\n")
        size = int(head.split()[2])
        yield rest[:size].decode(errors="replace")
        said = rest[size + 1 :]


class _Refused(TemporaryError):
    """git ended with an error; `said` may name the url and is for no page."""

    def __init__(self, verb: str, said: str) -> None:
        super().__init__(
            "GitFailed",
            f"git {verb} failed on the site's repository.",
            hint="Look whether the repository, its branch and the portal's credential are there.",
        )
        self.said = said
