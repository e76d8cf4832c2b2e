"""Makes database, tables, static files and demo data; one process, because starting Django is the cost."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import django
import psycopg
from django.conf import settings
from django.core.management import call_command, get_commands
from psycopg import sql

NEEDED = ("demo", "observe", "read_outputs")


def main() -> None:
    """Run as the system user, with the parts' environment, once PostgreSQL and Redis answer."""
    django.setup()
    missing = [name for name in NEEDED if name not in get_commands()]
    if missing:
        sys.exit(f"manage.py lacks what `make run` starts: {', '.join(missing)}.")
    _make_database(settings.DATABASES["default"])
    call_command("migrate", interactive=False, verbosity=1)
    _collect_static()
    call_command("demo")


def _make_database(known: dict[str, str]) -> None:
    with psycopg.connect(
        host=known["HOST"], user=known["USER"], dbname="postgres", autocommit=True
    ) as connection:
        name = known["NAME"]
        if not connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))


def _collect_static() -> None:
    note = Path(settings.DATA_FOLDER) / "state" / "static-digest"
    digest = _digest([Path(folder) for folder in settings.STATICFILES_DIRS])
    if not note.exists() or note.read_text(encoding="ascii") != digest:
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        note.write_text(digest, encoding="ascii")


def _digest(folders: list[Path]) -> str:
    """Changes with any static file of ours, and with the environment that brings the packages' files."""
    digest = hashlib.sha256(sys.prefix.encode())
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
