"""The roots with newer Slurm: each made once, whole or not at all, from the mirror that apt uses."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from setup import __main__ as setup_main
from setup import debian, environment, slurm_roots
from setup.progress import SetupFailed

# stands in for debootstrap and apt: notes that it ran, and leaves one API version of Slurm's
RECIPE = """
echo "$1 $3 $(basename "$4")" >>"$TALLY"
mkdir -p "$2/usr/lib/any/slurm-wlm"
[ -n "$BROKEN" ] && exit 3
mount -t tmpfs none "$2/usr"
mkdir -p "$2/usr/lib/any/slurm-wlm"
umount "$2/usr"
touch "$2/usr/lib/any/slurm-wlm/data_parser_v0_0_40.so" "$2/usr/lib/any/slurm-wlm/data_parser_v0_0_41.so"
"""
TARGETS = """#!/bin/sh
echo 'DEP-11|Debian|http://wrong.test/dep11/'
echo 'Packages|Debian-Security|http://wrong.test/security/'
echo 'Packages|Another Vendor|http://wrong.test/vendor/'
echo 'Packages|Debian|http://mirror.test/debian/'
"""


@pytest.fixture
def tally(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and an apt of the test's own; the file counts the makings."""
    monkeypatch.setattr(environment, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(slurm_roots, "RECIPE", RECIPE)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("apt-get", TARGETS), ("debootstrap", "#!/bin/sh\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin")
    monkeypatch.setenv("TALLY", str(tmp_path / "tally"))
    monkeypatch.setenv("BROKEN", "")
    return tmp_path / "tally"


def lines(tally: Path) -> list[str]:
    return sorted(tally.read_text().splitlines()) if tally.exists() else []


def test_each_is_made_once_from_apts_own_mirror(tally: Path) -> None:
    found = slurm_roots.provide()
    assert list(found) == ["trixie", "testing"]
    made = ["testing http://mirror.test/debian/ testing", "trixie http://mirror.test/debian/ trixie"]
    assert lines(tally) == made
    assert slurm_roots.provide() == slurm_roots.find() == found
    assert lines(tally) == made
    assert slurm_roots.api_versions(found["trixie"]) == ("v0.0.40", "v0.0.41")
    assert found["trixie"].stat().st_mode & 0o777 == 0o755
    assert str(environment.CACHE) not in Path("/proc/self/mounts").read_text()


def test_another_recipe_has_another_place(tally: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = slurm_roots.provide()
    monkeypatch.setattr(slurm_roots, "PACKAGES", ("slurmctld",))
    assert slurm_roots.find() == {}
    assert slurm_roots.place("trixie") != before["trixie"]


def test_a_half_made_one_is_not_there_and_is_removed(tally: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKEN", "yes")
    with pytest.raises(SetupFailed, match="root of trixie could not be made"):
        slurm_roots.provide()
    folder = environment.CACHE / "slurm-roots"
    assert slurm_roots.find() == {}
    assert {path.name for path in folder.iterdir()} == {"lock", "trixie.log", "testing.log"}
    (folder / ".trixie-killed" / "usr").mkdir(parents=True)
    monkeypatch.setenv("BROKEN", "")
    assert len(slurm_roots.provide()) == 2
    assert not list(folder.glob(".*"))


def test_a_root_without_slurms_plugins_is_none(tally: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_roots, "RECIPE", 'mkdir -p "$2/usr"')
    with pytest.raises(SetupFailed):
        slurm_roots.provide()
    assert slurm_roots.find() == {}


def test_two_at_once_make_them_once(tally: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_roots, "RECIPE", "sleep 0.3\n" + RECIPE)
    found: list[dict[str, Path]] = []
    both = [threading.Thread(target=lambda: found.append(slurm_roots.provide())) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert found[0] == found[1] == slurm_roots.find()
    assert len(lines(tally)) == 2


def test_without_a_mirror_or_debootstrap_it_says_so(tally: Path, tmp_path: Path) -> None:
    assert slurm_roots.mirror() == "http://mirror.test/debian/"
    (tmp_path / "bin" / "apt-get").write_text("#!/bin/sh\n")
    with pytest.raises(SetupFailed, match="name no Debian mirror"):
        slurm_roots.provide()
    assert lines(tally) == []


def test_tests_go_on_without_them_but_not_in_ci(
    tally: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "install", lambda kind, log: None)
    (tmp_path / "bin" / "apt-get").write_text("#!/bin/sh\n")
    monkeypatch.delenv("CI", raising=False)
    assert setup_main._provide_slurm_roots(optional=True) == 0
    assert setup_main._provide_slurm_roots(optional=False) == 1
    monkeypatch.setenv("CI", "true")
    assert setup_main._provide_slurm_roots(optional=True) == 1
    (tmp_path / "bin" / "apt-get").write_text(TARGETS)
    assert setup_main._provide_slurm_roots(optional=True) == 0
