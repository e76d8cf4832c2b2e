"""Users of slurmdbd: who should be one of the tenant's account, who is, and what sacctmgr is to do."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from clusters.provisioning.steps import AccountSpec, ClusterSpec, Difference
from portal.lib.errors import PermanentError

PROGRAM = "sacctmgr"
SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?")
OURS = re.compile(r"fh[a-z0-9]{4,28}")
ADMINISTRATOR, PLAIN = "Administrator", "None"
SHOW = ("-nP", "show", "user", "withassoc", "format=user,adminlevel,account,cluster")


def slurm_account(spec: ClusterSpec) -> str:
    """The tenant's account in Slurm. Raises PermanentError BadName."""
    if not SLUG.fullmatch(spec.tenant):
        raise PermanentError(
            "BadName", "The tenant's short name is no account name of Slurm's.", hint="Correct it."
        )
    return f"tenant-{spec.tenant}" if spec.tenant == "root" else spec.tenant  # root is Slurm's own


@dataclass(frozen=True, slots=True)
class Seen:
    """Users of the tenant's account as slurmdbd lists them: name to level of administration.

    `known` are the accounts that Slurm's machines know: slurmctld finds no uid of one that is made later.
    """

    users: dict[str, str]
    known: Collection[str]

    @classmethod
    def of(cls, shown: str, spec: ClusterSpec, known: Collection[str]) -> Seen:
        """From what sacctmgr printed."""
        mine = (slurm_account(spec), spec.name)
        rows = [line.split("|") for line in shown.splitlines()]
        return cls({row[0]: row[1] for row in rows if tuple(row[2:4]) == mine}, known)

    def missing(self, spec: ClusterSpec) -> list[AccountSpec]:
        """Accounts that are no users, or of another level than they should be."""
        return [
            one
            for one in spec.accounts
            if one.active and one.name in self.known and self.users.get(one.name) != level_of(one)
        ]

    def leaving(self, spec: ClusterSpec) -> list[str]:
        """Users of ours that should be none any more."""
        staying = {one.name for one in spec.accounts if one.active}
        return sorted(name for name in self.users if OURS.fullmatch(name) and name not in staying)

    def differences(self, spec: ClusterSpec, leaving: Collection[str]) -> Iterator[Difference]:
        """Of users of the wrong level, or none at all, and of those that are too much."""
        for one in self.missing(spec):
            there = self.users.get(one.name, "(nothing)")
            yield Difference(f"Slurm user {one.name}", "AdminLevel", level_of(one), there)
        for name in leaving:
            yield Difference(f"Slurm user {name}", "", "not there", "there")

    def commands(self, spec: ClusterSpec, leaving: Collection[str]) -> Iterator[list[str]]:
        """What sacctmgr is to do, each as the words after its name; all of them are safe to repeat."""
        account, missing = slurm_account(spec), self.missing(spec)
        where = (f"Account={account}", f"Cluster={spec.name}")
        if missing and not self.users:
            yield ["add", "account", account, f"Cluster={spec.name}", f"Description={spec.tenant}"]
        for level in (ADMINISTRATOR, PLAIN):
            mine = [one.name for one in missing if level_of(one) == level]
            if new := [name for name in mine if name not in self.users]:
                yield ["add", "user", ",".join(new), *where, f"AdminLevel={level}"]
            if old := [name for name in mine if name in self.users]:
                yield ["modify", "user", "where", f"name={','.join(old)}", "set", f"AdminLevel={level}"]
        for name in leaving:  # one by one: of several, one with jobs would keep all
            yield ["remove", "user", "where", f"name={name}"]


def level_of(account: AccountSpec) -> str:
    """How much it may do."""
    return ADMINISTRATOR if account.kind == "administrator" else PLAIN
