"""Who may import whom."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.architecture import sources

LIBRARY_ONLY = ("django", "celery", "tenants", "jobs", "portal.web", "clusters.models", "clusters.services")
DATABASE = ("tenants.", "jobs.", "clusters.models", "clusters.services", "django.db")
SHARED_BY_DRIVERS = ("clusters.drivers.slurm_probe",)  # looks through slurmrest; every Slurm driver needs it
INTERFACES = {"views", "web", "api", "admin", "consumers", "forms"}


def imports_of(*folders: str) -> Iterator[tuple[Path, str, str]]:
    """Each module below the folders, what it imports, and where, for messages."""
    for path in sources.python_files(*folders):
        for name, line in sources.imports(path):
            yield path, name, f"{sources.name_of(path)}:{line} {name}"


def test_the_contracts_of_import_linter_hold() -> None:
    tool = str(Path(sys.executable).with_name("lint-imports"))
    done = subprocess.run([tool, "--no-cache"], cwd=sources.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_clients_know_no_django_and_nothing_of_ours_but_the_library() -> None:
    found = [(name, where) for _, name, where in imports_of("clusters/clients")]
    assert found
    assert [where for name, where in found if name.startswith(LIBRARY_ONLY)] == []


def test_drivers_do_not_know_each_other() -> None:
    drivers = sources.ROOT / "clusters" / "drivers"
    wrong = []
    for path, name, where in imports_of("clusters/drivers"):
        own = path.relative_to(drivers).parts[0]
        mine = (f"clusters.drivers.{own.removesuffix('.py')}", *SHARED_BY_DRIVERS)
        chooses = own in {"__init__.py", "registry.py"}
        if name.startswith("clusters.drivers.") and not chooses and not name.startswith(mine):
            wrong.append(where)
    assert wrong == []


def test_drivers_do_not_know_the_database() -> None:
    assert [where for _, name, where in imports_of("clusters/drivers") if name.startswith(DATABASE)] == []


def test_what_kubernetes_drivers_share_knows_neither_drivers_nor_the_database() -> None:
    found = [(name, where) for _, name, where in imports_of("clusters/kube")]
    assert found
    wrong = ("clusters.drivers", "django", *DATABASE)
    assert [where for name, where in found if name.startswith(wrong)] == []


def test_pages_admin_and_sockets_never_reach_outside() -> None:
    wrong = [
        where
        for path, name, where in imports_of()
        if INTERFACES & set(path.relative_to(sources.ROOT).with_suffix("").parts)
        and name.startswith(("clusters.drivers", "clusters.clients", "clusters.provisioning.engine"))
        and "slurmrest.models" not in name
    ]
    assert wrong == []


def test_the_library_knows_no_app() -> None:
    apps = ("tenants", "clusters", "jobs", "portal.web", "portal.settings")
    assert [where for _, name, where in imports_of("portal/lib") if name.startswith(apps)] == []
