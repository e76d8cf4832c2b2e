"""All checks in one command with visible progress: `python -m tests.checks [quick]`; pytest ends it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.fixtures.environment import ENVIRONMENT

BIN = Path(sys.prefix) / "bin"
PYTHON = sys.executable
QUICK_SECONDS = 450  # of processor time: what it takes by the clock hangs on what else runs
# On two cores. Tests of whole processes wait more than they work; the short ones only work, and each worker
# more costs ten seconds of it.
WORKERS = os.environ.get("FREEHOLD_TEST_WORKERS", "4")
QUICK_WORKERS = "3"
PRODUCTION = {
    **ENVIRONMENT,
    "FREEHOLD_MODE": "production",
    "PUBLIC_URL": "https://portal.example.org",
    "ALLOWED_HOSTS": "portal.example.org",
    "CSRF_TRUSTED_ORIGINS": "https://portal.example.org",
    "OIDC_ISSUER": "https://id.example.org",
}


@dataclass(frozen=True)
class Check:
    """One command that must exit 0."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def checks() -> list[Check]:
    """The static ones, the longest first. Collecting compiles all tests once, and not in each worker."""
    manage = (PYTHON, "manage.py")
    return [
        Check("mypy", (str(BIN / "mypy"),)),
        Check("collection", (PYTHON, "-m", "pytest", "--collect-only", "--quiet")),
        Check("import contracts", (str(BIN / "lint-imports"),)),
        Check("migrations", (*manage, "makemigrations", "--check", "--dry-run"), ENVIRONMENT),
        Check("deployment", (*manage, "check", "--deploy", "--fail-level", "WARNING"), PRODUCTION),
        Check("ruff", (str(BIN / "ruff"), "check", ".")),
        Check("format", (str(BIN / "ruff"), "format", "--check", ".")),
        Check("templates", (str(BIN / "djade"), "--check", "--target-version", "5.2", *templates())),
    ]


def templates() -> list[str]:
    """Every template of ours."""
    return sorted(str(path) for path in Path("templates").rglob("*.html"))


def run(check: Check) -> bool:
    """Run one check; its output is shown only when it fails."""
    begin = time.monotonic()
    done = subprocess.run(
        check.command,
        env={**os.environ, **check.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    good = done.returncode == 0
    output = "" if good else f"{done.stdout.rstrip()}\n"
    seconds = time.monotonic() - begin
    sys.stdout.write(f"{output}{'ok    ' if good else 'FAILED'}  {check.name:<18} {seconds:5.1f} s\n")
    sys.stdout.flush()
    return good


def main(arguments: list[str]) -> int:
    """0 when every check and every test passed."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would each compile everything
    quick = arguments == ["quick"]
    begin = time.monotonic()
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(run, checks()))
    marks = "not slow and not soak and not matrix" if quick else "not soak"
    workers = QUICK_WORKERS if quick else WORKERS
    command = [PYTHON, "-m", "pytest", "-n", workers, "-m", marks]
    command += ["--dist", "loadgroup", "--no-loadscope-reorder"]  # in the order of tests/groups.py
    tests = subprocess.run(command, check=False)
    if quick:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = used.ru_utime + used.ru_stime
        sys.stdout.write(f"{time.monotonic() - begin:.0f} s, {seconds:.0f} s of processor time\n")
        if seconds > QUICK_SECONDS:
            sys.stderr.write(
                f"More than {QUICK_SECONDS} s of processor time: a test without the marks `slow` and"
                " `matrix` is slow.\n"
            )
    return int(not all(results)) or tests.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
