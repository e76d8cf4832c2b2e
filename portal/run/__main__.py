"""`python -m portal.run` starts the portal; `python -m portal.run clean` removes its data folder."""

from __future__ import annotations

import os
import sys

from clusters.drivers.local import teardown
from portal.lib.errors import FreeholdError
from portal.run import layout, records
from portal.run.session import Session, only_one


def clean() -> int:
    """Remove clusters, accounts, processes and data of this clone. Refuses while the portal runs."""
    where = layout.find()
    if not where.data.exists():
        sys.stdout.write(f"There is nothing to remove: {where.data} does not exist.\n")
        return 0
    if not (where.supervisor / "lock").exists():
        raise layout.CannotRun(f"{where.data} is not a data folder of Freehold. Nothing was removed.")
    with only_one(where):
        _say("Ending processes")
        records.end([*records.Records(where).load(), *records.of_folder(where, slurm=False)])
        records.end(records.of_folder(where, slurm=True))
        _say("Removing local clusters with their accounts and files")
        teardown.remove_all(where.data)
        _say(f"Removing {where.data}")
        layout.remove(where)
    _say(f"Removed {where.data}. What was installed and the system user {layout.USER} stay.")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()  # each line stands there while the next part runs


def main(arguments: list[str]) -> int:
    """The exit code of the command."""
    if os.geteuid() != 0:
        sys.stderr.write("Freehold needs root: it starts daemons and jobs as accounts of their own.\n")
        return 1
    os.umask(0o022)
    if arguments == ["clean"]:
        try:
            return clean()
        except (layout.CannotRun, FreeholdError) as error:
            sys.stderr.write(f"{error}\n")
            return 1
    return Session(layout.find()).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
