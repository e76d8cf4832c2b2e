"""The gateway over slurmrestd: one account of one cluster, one API version."""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.changes import CannotAsk, JobChanges, UpdateResult, check_changes
from clusters.clients.slurmrest.dialects import dialect_for
from clusters.clients.slurmrest.dialects.submit import check_submit
from clusters.clients.slurmrest.listings import JobState, LicenseRecord, ReservationRecord
from clusters.clients.slurmrest.models import (
    Diag,
    JobList,
    JobRecord,
    NodeRecord,
    PartitionRecord,
    Ping,
    SubmitRequest,
    SubmitResult,
)
from clusters.clients.slurmrest.tokens import check_account
from portal.lib.errors import OutsideError
from portal.lib.http import MEBIBYTE, Answer, Exchange, NoAnswer, NotSent, Outside, TooLarge

T = TypeVar("T")
JOB = re.compile(r"[1-9]\d{0,9}(_\d{1,9})?")
SIGNAL = re.compile(r"[A-Z][A-Z0-9]{2,9}")
TRIES = 12  # of a change that slurmctld refuses with "try again": about every other one of a partition's
SUBMIT = "/job/submit"
SMALL = 64 * MEBIBYTE  # for answers that are no list of all jobs


class RestGateway:
    """A SlurmGateway over slurmrestd. Safe to share between threads; asks for a token at each request.

    `session` may be shared by all accounts of one cluster, so that they share its connections.
    """

    plugin = "slurm"

    def __init__(
        self,
        base_url: str,
        version: str,
        account: str,
        token: Callable[[], str],
        timeout: float = 10.0,
        *,
        session: Outside | None = None,
    ) -> None:
        self._dialect = dialect_for(version)
        self._version = version
        self._account = check_account(account)
        self._token = token
        self._timeout = timeout
        self._outside = session or Outside(base_url, timeout=timeout)
        self._owned: set[int] = set()  # jobs seen to be the account's own

    def ping(self) -> Ping:
        """See SlurmGateway."""
        seen = self._dialect.ping(self._get("/ping"))
        if not seen.responding and self._dialect.ping_hides_token and self._is_token_dead():
            raise errors.TokenRefused
        return seen

    def diag(self) -> Diag:
        """See SlurmGateway."""
        return self._dialect.diag(self._get("/diag"))

    def jobs(self, *, unchanged_since: int | None = None) -> JobList | None:
        """See SlurmGateway."""
        if unchanged_since is None:
            return self._dialect.jobs(self._get("/jobs", limit=None))
        query = self._dialect.unchanged_query(int(unchanged_since))
        answer = self._get("/jobs" + query, limit=None)
        return None if self._dialect.is_unchanged(answer) else self._dialect.jobs(answer)

    def job(self, job_id: int) -> tuple[JobRecord, ...]:
        """See SlurmGateway."""
        try:
            return self._dialect.jobs(self._get(f"/job/{int(job_id)}", again=True)).jobs
        except errors.UnknownJob:
            return ()

    def nodes(self) -> tuple[NodeRecord, ...]:
        """See SlurmGateway."""
        return self._dialect.nodes(self._get("/nodes"))

    def partitions(self) -> tuple[PartitionRecord, ...]:
        """See SlurmGateway."""
        return self._dialect.partitions(self._get("/partitions"))

    @property
    def lists_states(self) -> bool:
        """See SlurmGateway."""
        return self._dialect.lists_states

    def states(self) -> tuple[JobState, ...]:
        """See SlurmGateway."""
        return self._dialect.states(self._get("/jobs/state/", limit=None))

    def reservations(self) -> tuple[ReservationRecord, ...]:
        """See SlurmGateway."""
        return self._dialect.reservations(self._get("/reservations"))

    def licenses(self) -> tuple[LicenseRecord, ...]:
        """See SlurmGateway."""
        return self._dialect.licenses(self._get("/licenses"))

    def submit(self, request: SubmitRequest) -> SubmitResult:
        """See SlurmGateway."""
        return self._submitted(self._change("POST", SUBMIT, self._body(request), reuse=True))

    def submit_each(
        self, requests: Iterable[SubmitRequest], *, at_once: int
    ) -> Iterator[tuple[int, SubmitResult | Exception]]:
        """See SlurmGateway."""
        under_way: dict[int, tuple[int, Exchange]] = {}  # by descriptor
        answers = select.poll()
        try:
            for place, request in enumerate(requests):
                try:
                    exchange = self._begin(self._body(request))
                except (OutsideError, ValueError) as error:
                    yield place, error
                    continue
                under_way[exchange.fileno()] = place, exchange
                answers.register(exchange, select.POLLIN)
                if len(under_way) == at_once:
                    yield from self._arrived(answers, under_way)
            while under_way:
                yield from self._arrived(answers, under_way)
        finally:
            for _place, exchange in under_way.values():
                exchange.close()

    def _arrived(
        self, answers: select.poll, under_way: dict[int, tuple[int, Exchange]]
    ) -> Iterator[tuple[int, SubmitResult | Exception]]:
        """Wait for an answer. All that came are read before one is judged, which may take seconds."""
        came: list[tuple[int, Answer | OutsideError]] = []
        for descriptor, _event in answers.poll():
            answers.unregister(descriptor)
            place, exchange = under_way.pop(descriptor)
            try:
                with _once():
                    came.append((place, exchange.end()))
            except OutsideError as error:
                came.append((place, error))
        for place, answer in came:
            try:
                yield place, answer if isinstance(answer, OutsideError) else self._submitted(answer)
            except OutsideError as error:
                yield place, error

    def _body(self, request: SubmitRequest) -> bytes:
        check_submit(request, self._version)
        return msgspec.json.encode(self._dialect.encode_submit(request))

    def _begin(self, body: bytes) -> Exchange:
        """A submit that is sent. Its mark is sought when it is unclear, so a connection may be reused."""
        with _once():
            return self._outside.begin(
                "POST",
                self._path(SUBMIT),
                headers=self._headers(has_body=True),
                body=body,
                timeout=self._timeout,
                limit=SMALL,
                reuse=True,
            )

    def _submitted(self, answer: Answer) -> SubmitResult:
        try:
            # an id decides: with it, "errors" are warnings whatever the status says
            if result := self._dialect.accepted(answer):
                return result
        except errors.BadAnswer as error:
            if answer.status == 200:
                raise errors.Unclear(error.extract) from error
        raise self._why_not(answer)

    def cancel(self, job: str, *, signal: str | None = None) -> None:
        """See SlurmGateway."""
        _check_name(job)
        if "_" in job and not self._dialect.cancels_tasks:
            raise CannotAsk(self._version, ["task"])
        if signal is not None and SIGNAL.fullmatch(signal) is None:
            raise ValueError("A signal is named as in USR1.")
        if self._dialect.must_own_to_cancel:
            self._check_owner(job)
        answer = self._change("DELETE", f"/job/{job}" + (f"?signal={signal}" if signal else ""))
        if answer.status != 200:
            raise errors.Unclear("no answer") if errors.was_not_answered(answer) else self._why_not(answer)
        try:
            self._dialect.check_cancel(answer)
        except errors.BadAnswer as error:
            raise errors.Unclear(error.extract) from error

    def update(self, job: str, changes: JobChanges) -> UpdateResult:
        """See SlurmGateway."""
        _check_name(job)
        check_changes(changes)
        lost = changes.asked & self._dialect.ignores
        if "_" in job and not self._dialect.updates_tasks:
            lost |= {"task"}
        if lost:
            raise CannotAsk(self._version, lost)
        body = msgspec.json.encode(self._dialect.encode_update(changes))
        for _ in range(TRIES):
            answer = self._change("POST", f"/job/{job}", body)
            if not errors.was_put_off(answer):
                break
        if answer.status != 200:
            raise self._why_not(answer)
        try:
            return self._dialect.updated(answer)
        except errors.BadAnswer as error:
            raise errors.Unclear(error.extract) from error

    def _check_owner(self, job: str) -> None:
        number = int(job.partition("_")[0])
        if number in self._owned:  # a look at a large array takes long, and its tasks are ended one by one
            return
        records = self.job(number)
        if not records:
            raise errors.UnknownJob(errors.JOB_UNKNOWN, "Invalid job id specified")
        if {record.user_name for record in records} != {self._account}:
            raise errors.NotPermitted(errors.ACCESS_DENIED, "Access/permission denied")
        self._owned.add(number)

    def _get(
        self, path: str, *, again: bool = False, limit: int | None = SMALL, timeout: float | None = None
    ) -> Answer:
        """A read that Slurm answered with 200 or 304; `again` asks once more after a lost connection."""
        try:
            answer = self._send("GET", path, limit=limit, timeout=timeout)
        except NoAnswer as error:
            if again and not error.timed_out:
                return self._get(path, limit=limit)
            raise errors.NotReachable(error.message) from error
        except NotSent as error:
            raise errors.NotReachable from error
        except TooLarge as error:
            raise errors.BadAnswer(error.message) from error
        if answer.status not in {200, 304}:
            raise errors.from_answer(answer, version=self._version)
        return answer

    def _change(self, method: str, path: str, body: bytes | None = None, *, reuse: bool = False) -> Answer:
        """Send a change once."""
        with _once():
            return self._send(method, path, body=body, limit=SMALL, reuse=reuse)

    def _why_not(self, answer: Answer) -> OutsideError:
        """What a change without success means: only a clear no of Slurm's is a no."""
        error = errors.from_answer(answer, version=self._version)
        if isinstance(error, errors.TokenRefused) and answer.status == 500:
            # the same words come when slurmctld dies with the request in its hands
            return error if self._is_token_dead() else errors.Unclear("hung up")
        if isinstance(error, errors.BadAnswer):
            return errors.Unclear(error.extract)
        if isinstance(error, errors.NotReachable) and not errors.was_not_handed_over(answer):
            return errors.Unclear(error.message)
        return error

    def _is_token_dead(self) -> bool:
        try:
            self._get("/diag", timeout=errors.QUICK)
        except errors.TokenRefused:
            return True
        except OutsideError:
            return False
        return False

    def _send(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        limit: int | None = None,
        timeout: float | None = None,
        reuse: bool = False,
    ) -> Answer:
        return self._outside.send(
            method,
            self._path(path),
            headers=self._headers(has_body=body is not None),
            body=body,
            timeout=timeout or self._timeout,
            limit=limit,
            reuse=reuse,
        )

    def _path(self, path: str) -> str:
        return f"/{self.plugin}/{self._version}{path}"

    def _headers(self, *, has_body: bool) -> dict[str, str]:
        headers = {
            "Accept": "application/json",
            "X-SLURM-USER-NAME": self._account,
            "X-SLURM-USER-TOKEN": self._token(),
        }
        # with a charset it is refused
        return headers | {"Content-Type": "application/json"} if has_body else headers


@contextmanager
def _once() -> Iterator[None]:
    """Around a change: without a whole answer it is unclear."""
    try:
        yield
    except NotSent as error:
        raise errors.NotReachable from error
    except (NoAnswer, TooLarge) as error:
        raise errors.Unclear(error.reason) from error


def _check_name(job: str) -> None:
    if JOB.fullmatch(job) is None:
        raise ValueError("A job is named by its number, or an array task by number_task.")
