"""Copies the code into the data folder, so that the parts can read it wherever the clone lies."""

from __future__ import annotations

import compileall
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from portal.run.layout import Layout

TOP = ("portal", "tenants", "clusters", "jobs", "templates", "static", "locale", "deploy")
FILES = ("manage.py", "pyproject.toml", "CHANGELOG.md")
PRIVATE = {"__pycache__", "node_modules"}


def copy(layout: Layout) -> None:
    """Make the copy equal to the clone: new and changed files are written, others removed, then compiled."""
    wanted = {path.relative_to(layout.clone): path for path in _sources(layout.clone)}
    for old in sorted(layout.app.rglob("*"), reverse=True):
        relative = old.relative_to(layout.app)
        if "__pycache__" in relative.parts:
            continue
        if old.is_dir() and not any(relative in name.parents for name in wanted):
            shutil.rmtree(old)
        elif not old.is_dir() and relative not in wanted:
            old.unlink()
    for relative, source in wanted.items():
        _copy_file(source, layout.app / relative)
    compileall.compile_dir(layout.app, quiet=2, workers=1)


def _sources(clone: Path) -> Iterator[Path]:
    for name in TOP:
        yield from _files(clone / name)
    for name in FILES:
        if (clone / name).is_file():
            yield clone / name


def _files(top: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(top):
        names[:] = [name for name in names if name not in PRIVATE]
        for name in files:
            path = Path(folder, name)
            if path.suffix != ".pyc" and not path.is_symlink():
                yield path


def _copy_file(source: Path, target: Path) -> None:
    facts = source.stat()
    if target.exists():
        present = target.stat()
        if (present.st_size, present.st_mtime_ns) == (facts.st_size, facts.st_mtime_ns):
            return
    for folder in reversed([parent for parent in target.parents if not parent.exists()]):
        folder.mkdir()
        folder.chmod(0o755)
    shutil.copyfile(source, target)
    target.chmod(0o644)
    os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))
