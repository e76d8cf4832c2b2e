"""The narrow door to one cluster's accounting: what jobs were and took, and who may use how much of it.

It goes through the same slurmrestd to slurmdbd. Without slurmdbd nothing here says "there is nothing".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Protocol
from urllib.parse import quote

import msgspec

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.dialects.accounting import BooksDialect
from clusters.clients.slurmrest.dialects.books import books_dialect_for
from clusters.clients.slurmrest.past import Association, AssociationLimits, PastJob, SlurmUser
from clusters.clients.slurmrest.rules import Qos, Settings, Share
from clusters.clients.slurmrest.tokens import check_account
from portal.lib.http import Answer
from portal.lib.types import JSONDict

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")  # of an account, a QOS or a cluster
LONGEST_WINDOW: Final = 31 * 24 * 3600  # seconds; each job costs 0.8 ms and 6 kB
NOTHING_TO_DO: Final = 304  # to the removal of what is not there
FIRST_SHARES, FIRST_SETTINGS = 40, 45  # API versions
AWAY: Final = "The cluster's slurmdbd does not answer."
PATIENCE: Final = 60.0  # seconds; slurmdbd answers with 45 ms a round trip


class SlurmAccounting(Protocol):
    """Looks and changes as one account of one cluster; raises what SlurmGateway raises.

    A window is of epoch seconds of the controller's clock, at most 31 days long.
    """

    def jobs(self, since: int, until: int) -> tuple[PastJob, ...]:
        """Jobs that waited or ran at some moment of the window; one record for each start of a job."""

    def job(self, job_id: int) -> tuple[PastJob, ...]:
        """All records of a number, oldest first: numbers may come again. Empty if there is none."""

    def users(self) -> tuple[SlurmUser, ...]:
        """Users that are allowed to submit."""

    def associations(self) -> tuple[Association, ...]:
        """Each account, and each user of an account, with their limits."""

    def qos(self) -> tuple[Qos, ...]:
        """All qualities of service."""

    def shares(self) -> tuple[Share, ...] | None:
        """What each account and user has used, of which Slurm takes limits of minutes. None: not told."""

    def settings(self) -> Settings:
        """How far Slurm holds to all this."""

    def set_limits(self, limits: AssociationLimits) -> None:
        """Make these the limits of one association; what is None is lifted.

        Look afterwards: 22.05 tells who may not change them neither no nor why.
        """

    def add_user(self, user: str, *, account: str, cluster: str) -> None:
        """Let an account of ours charge to this account too. Already so: fine."""

    def remove_user(self, user: str, *, account: str, cluster: str) -> None:
        """No more. Absent is fine; refused while jobs of it run."""


class RestAccounting(RestGateway):
    """A SlurmAccounting over slurmrestd; a gateway of the other plugin."""

    plugin = "slurmdb"

    @property
    def _books(self) -> BooksDialect:
        return books_dialect_for(self._version)

    def jobs(self, since: int, until: int) -> tuple[PastJob, ...]:  # type: ignore[override]
        """See SlurmAccounting."""
        if not 0 <= since < until or until - since > LONGEST_WINDOW:
            raise ValueError("A window of accounting is between one second and 31 days long.")
        window = f"start_time={self._books.moment(since)}&end_time={self._books.moment(until)}"
        return self._books.jobs(self._read(f"/jobs/?{window}", limit=None))

    def job(self, job_id: int) -> tuple[PastJob, ...]:  # type: ignore[override]
        """See SlurmAccounting."""
        # a word instead of a number ends slurmrestd 22.05
        return self._books.jobs(self._read(f"/job/{int(job_id)}"))

    def users(self) -> tuple[SlurmUser, ...]:
        """See SlurmAccounting."""
        return self._books.users(self._read("/users/"))

    def associations(self) -> tuple[Association, ...]:
        """See SlurmAccounting."""
        return self._books.associations(self._read("/associations/"))

    def qos(self) -> tuple[Qos, ...]:
        """See SlurmAccounting."""
        return self._books.qos(self._read("/qos/"))

    def shares(self) -> tuple[Share, ...] | None:
        """See SlurmAccounting."""
        if self._number < FIRST_SHARES:
            return None
        return self._books.shares(self._of_controller("/shares"))

    def settings(self) -> Settings:
        """See SlurmAccounting."""
        if self._number < FIRST_SETTINGS:
            return Settings()
        return self._books.settings(self._of_controller("/conf"))

    def set_limits(self, limits: AssociationLimits) -> None:
        """See SlurmAccounting."""
        _check_names(limits.account, limits.cluster)
        if limits.user:
            check_account(limits.user)
        self._write("POST", "/associations/", {"associations": [self._books.encode_limits(limits)]})

    def add_user(self, user: str, *, account: str, cluster: str) -> None:
        """See SlurmAccounting."""
        _check_names(account, cluster)
        body = {"account": account, "cluster": cluster, "user": check_account(user)}
        self._write("POST", "/associations/", {"associations": [body]})

    def remove_user(self, user: str, *, account: str, cluster: str) -> None:
        """See SlurmAccounting."""
        _check_names(account, cluster)
        where = f"account={quote(account)}&cluster={quote(cluster)}&user={check_account(user)}"
        try:
            self._write("DELETE", f"/association/?{where}", None)
        except errors.SlurmRefused as error:
            if error.code != errors.NOTHING_FOUND:
                raise

    @property
    def _number(self) -> int:
        return int(self._version.rpartition(".")[2])

    def _of_controller(self, path: str) -> Answer:
        """What slurmctld tells, over the same connections."""
        door = RestGateway("", self._version, self._account, self._token, PATIENCE, session=self._outside)
        return door._get(path)  # noqa: SLF001  # the same class

    def _read(self, path: str, *, limit: int | None = None) -> Answer:
        try:
            return self._get(path, limit=limit, timeout=PATIENCE)
        except errors.SlurmRefused as error:
            if error.code in errors.BOOKS_AWAY:
                raise errors.NotReachable(AWAY) from error
            raise

    def _write(self, method: str, path: str, body: JSONDict | None) -> None:
        answer = self._change(method, path, None if body is None else msgspec.json.encode(body))
        if answer.status == NOTHING_TO_DO:
            return
        if answer.status != 200:
            raise self._why_not(answer)
        entries = errors.entries_of(answer.body)
        if entries is None:
            raise errors.Unclear("not Slurm's words")
        if entries:
            # with status 200 too: what could not be read was not done
            raise errors.from_entries(entries, status=answer.status, seconds=answer.seconds)


def _check_names(*names: str) -> None:
    if not all(NAME.fullmatch(name) for name in names):
        raise ValueError("An account or a cluster is named by small letters, digits, dots and dashes.")


def merged(jobs: Sequence[PastJob]) -> tuple[PastJob, ...]:
    """Of the records of one job that was started again only the last: same number, same submit time."""
    last: dict[tuple[int, int], PastJob] = {}
    for job in jobs:
        key = (job.job_id, job.submit_time)
        known = last.get(key)
        if known is None or (job.start_time or 0) >= (known.start_time or 0):
            last[key] = job
    return tuple(last.values())
