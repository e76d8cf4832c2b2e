"""Objects that leave as commits, into a real bare repository that others write too."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from clusters.kube import kinds, marks, objects
from clusters.kube.drift import differences
from clusters.kube.git import Branch
from clusters.kube.git_sink import GitCommit
from clusters.kube.objects import Wanted
from clusters.kube.sinks import Batch, Scope
from portal.lib.errors import PermanentError, TemporaryError
from tests.contract.kube.driven import spec_of

SPACE = "tenants"


class Repository:
    """A bare repository and somebody else's clone of it."""

    def __init__(self, folder: Path) -> None:
        self.bare, self.clone, self.cache = folder / "bare.git", folder / "theirs", folder / "cache"
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.bare), where=folder)
        self.git("clone", "--quiet", str(self.bare), str(self.clone), where=folder)
        self.push({"README.md": "theirs\n"})

    def git(self, *words: str, where: Path | None = None) -> str:
        """Real git, as somebody else."""
        who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"]
        command = ["git", *who, *words]
        done = subprocess.run(command, cwd=where or self.clone, check=True, capture_output=True, text=True)
        return done.stdout

    def push(self, files: Mapping[str, str]) -> None:
        """Somebody else's commit."""
        if self.git("ls-remote", "origin", "main"):
            self.git("pull", "--quiet", "origin", "main")
        for path, text in files.items():
            (self.clone / path).parent.mkdir(parents=True, exist_ok=True)
            (self.clone / path).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "theirs")
        self.git("push", "--quiet", "origin", "HEAD:main")

    def files(self) -> dict[str, str]:
        """What the branch holds."""
        names = self.git("ls-tree", "-r", "--name-only", "main", where=self.bare).splitlines()
        return {name: self.git("show", f"main:{name}", where=self.bare) for name in names}

    def log(self) -> list[str]:
        """Messages, the newest first."""
        return self.git("log", "--format=%B%x00", "main", where=self.bare).strip("\0\n").split("\0\n")

    @property
    def sink(self) -> GitCommit:
        """Ours."""
        return GitCommit(Branch(str(self.bare), "main", self.cache), "clusters")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """With a file of somebody else's."""
    return Repository(tmp_path)


def batch_of(count: int = 2) -> Batch:
    """ConfigMaps of one cluster."""
    spec = spec_of()
    wanted = [objects.config_map(f"c{number}", {"a": "1\n2\n"}, namespace=SPACE) for number in range(count)]
    return with_wanted(
        Batch(spec, "home", (Scope(kinds.CONFIG_MAP, SPACE),), cause="order 7, actor Ada"), *wanted
    )


def with_wanted(batch: Batch, *wanted: Wanted) -> Batch:
    """The same with other objects."""
    marked = tuple(
        Wanted(one.kind, marks.marked(one.manifest, batch.spec, batch.step), kept=one.kept) for one in wanted
    )
    return Batch(batch.spec, batch.step, batch.scopes, marked, batch.cause)


def in_sync(repository: Repository, batch: Batch) -> bool:
    """Whether the repository holds exactly what is wanted."""
    seen = repository.sink.read(batch)
    complete = set(seen.ours) == {one.ref for one in batch.wanted} and not seen.foreign
    return complete and not any(differences(one, seen.ours[one.ref]) for one in batch.wanted)


def test_one_change_is_one_commit_that_says_for_whom_and_why(repository: Repository) -> None:
    batch = batch_of()
    assert repository.sink.read(batch).ours == {}
    repository.sink.apply(batch)
    (message, _theirs) = repository.log()
    for word in (batch.spec.name, batch.spec.id, "acme", "order 7", "actor Ada", "configmap.tenants.c0.yaml"):
        assert word in message
    assert set(repository.files()) == {
        "README.md",
        *(f"clusters/{batch.spec.name}/home/configmap.tenants.c{number}.yaml" for number in range(2)),
    }
    assert in_sync(repository, batch)
    repository.sink.apply(batch)
    assert len(repository.log()) == 2


def test_a_change_by_hand_is_seen_and_undone(repository: Repository) -> None:
    batch = batch_of()
    repository.sink.apply(batch)
    path = f"clusters/{batch.spec.name}/home/configmap.tenants.c0.yaml"
    right = repository.files()[path]
    for wrong in (right.replace("    1\n", "    9\n"), f"{right}immutable: true\n", f"{right}: : :\n", None):
        if wrong is None:
            repository.git("pull", "--quiet", "origin", "main")
            repository.git("rm", "--quiet", path)
            repository.push({"OTHER.md": "x\n"})
        else:
            repository.push({path: wrong})
        assert not in_sync(repository, batch), wrong
        repository.sink.apply(batch)
        assert repository.files()[path] == right
        assert in_sync(repository, batch)


def test_what_is_not_wanted_any_more_goes_and_nothing_else(repository: Repository) -> None:
    mine, other = batch_of(), batch_of()
    repository.sink.apply(mine)
    repository.sink.apply(other)
    fewer = with_wanted(mine, mine.wanted[0])
    assert [str(ref) for ref in repository.sink.read(fewer).left_over(fewer)] == ["ConfigMap tenants/c1"]
    repository.sink.apply(fewer)
    assert in_sync(repository, fewer)
    repository.sink.remove(mine)
    repository.sink.remove(mine)
    assert repository.sink.read(mine).ours == {}
    assert in_sync(repository, other)
    assert repository.files()["README.md"] == "theirs\n"
    assert repository.log()[0].startswith("Remove home of cluster")


def test_a_lost_push_is_tried_again_on_the_new_head(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Branch.commit
    raced: list[str] = []

    def late(branch: Branch, parent: str, files: Mapping[str, str | None], message: str) -> str:
        if len(raced) < 2:
            raced.append(parent)
            repository.push({f"theirs-{len(raced)}": "x\n"})
        return real(branch, parent, files, message)

    monkeypatch.setattr(Branch, "commit", late)
    batch = batch_of()
    repository.sink.apply(batch)
    assert len(set(raced)) == 2
    assert in_sync(repository, batch)
    assert {"theirs-1", "theirs-2", "README.md"} <= set(repository.files())
    assert len(repository.log()) == 4


def test_a_file_of_another_is_never_touched(repository: Repository) -> None:
    batch = batch_of()
    path = f"clusters/{batch.spec.name}/home/configmap.tenants.c1.yaml"
    repository.push({path: "kind: Theirs\n"})
    assert [ref.name for ref in repository.sink.read(batch).foreign] == ["c1"]
    with pytest.raises(PermanentError) as refused:
        repository.sink.apply(batch)
    assert (refused.value.reason, bool(refused.value.hint)) == ("NameTaken", True)
    repository.sink.remove(batch)
    assert repository.files()[path] == "kind: Theirs\n"
    assert len(repository.log()) == 2


def test_no_secret_is_committed(repository: Repository) -> None:
    batch = batch_of()
    secret = objects.secret("key", {"a": b"s3cr3t"}, namespace=SPACE)
    with pytest.raises(PermanentError) as refused:
        repository.sink.apply(with_wanted(batch, secret))
    assert refused.value.reason == "SecretInGit"
    assert len(repository.log()) == 1


@pytest.mark.parametrize(
    "url", ["ext::sh -c id", "--upload-pack=id", "http://example.com/x", "git://x/y", ""]
)
def test_only_plain_addresses_are_taken(url: str, tmp_path: Path) -> None:
    with pytest.raises(PermanentError) as refused:
        Branch(url, "main", tmp_path)
    assert refused.value.reason == "BadSiteSettings"
    with pytest.raises(PermanentError):
        Branch(str(tmp_path), "--force", tmp_path)


def test_trouble_tells_neither_address_nor_credential(tmp_path: Path) -> None:
    hidden = {"GIT_SSH_COMMAND": "ssh -i s3cr3t"}
    branch = Branch(str(tmp_path / "s3cr3t-none"), "main", tmp_path / "cache", environment=hidden)
    with pytest.raises(TemporaryError) as lost:
        GitCommit(branch, "").read(batch_of())
    assert lost.value.reason == "GitFailed"
    assert "s3cr3t" not in lost.value.message + lost.value.hint
    assert "ssh -i" not in repr(branch)
