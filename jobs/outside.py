"""The outside calls that a request may wait for: submit, act on a job, look at one, read output.

Everything else outside happens in workers and the observer. Each call has a deadline of some ten seconds
and acts as one account, with a token minted for it. Pages, API and admin reach clients only through here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import takewhile

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from clusters.clients.slurm_console.console import SlurmConsole
from clusters.clients.slurmrest import errors, tokens
from clusters.clients.slurmrest.changes import JobChanges, UpdateResult
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import JobRecord, SubmitRequest, SubmitResult
from clusters.models import SlurmEndpoint, SlurmIdentity
from clusters.services import consoles, slurm_access
from jobs.models import Job
from jobs.output_reader import client
from jobs.output_reader.protocol import OutputChunk, OutputFound, Stream
from portal.lib import crypto
from portal.lib.errors import WrongState

DEADLINE = 10.0  # seconds, for each call
# For changes: slurmrestd itself gives a slurmctld that is away up to ten, and then its no is a clear one.
CHANGE_DEADLINE = 12.0
# Seconds from the record to the sending of a request, at most: with its deadline it is settled before the
# observer takes its sender for dead (jobs.observer.resolve.SENDER_DIED) and somebody may send it again.
SEND_WITHIN = 20.0
AT_ONCE = 8  # connections on which several jobs are handed in
_WORKING = SlurmIdentity.objects.filter(
    active=True,
    membership__ended_at=None,
    membership__suspended_at=None,
    membership__user__is_active=True,
    membership__tenant__suspended_at=None,
)


@contextmanager
def gateway_for(
    identity: SlurmIdentity,
    endpoint: SlurmEndpoint | None = None,
    *,
    deadline: float | None = None,
    kept: bool = False,
) -> Iterator[SlurmGateway]:
    """Slurm as this account sees it. Raises WrongState while the cluster has no Slurm API.

    The account of who left or is suspended gets a token here too: for looking at its jobs and ending them.
    `endpoint` is for who has it already. With `kept` the connections stay open for this account's next call.
    """
    endpoint = endpoint or slurm_access.endpoint_of(identity.cluster_id)
    if endpoint is None or not endpoint.url or not endpoint.api_version:
        raise WrongState(_("This cluster has no Slurm API yet."), hint=_("Its page shows how far it is."))
    key = crypto.unseal(bytes(endpoint.sealed_jwt_key))
    seconds = deadline or DEADLINE
    mint = partial(tokens.mint, identity.name, key)
    if kept:
        session = slurm_access.kept.of(endpoint, identity.name, timeout=seconds)
    else:
        session = slurm_access.session_for(endpoint, timeout=seconds)
    try:
        yield RestGateway(
            endpoint.url,
            endpoint.api_version,
            identity.name,
            cache(mint) if kept else mint,
            seconds,
            session=session,
        )
    finally:
        if not kept:
            session.close()


@contextmanager
def console_for(identity: SlurmIdentity) -> Iterator[SlurmConsole]:
    """Slurm's own tools as this account. Raises WrongState where the cluster has no console, and says why."""
    endpoint = SlurmEndpoint.objects.get(cluster_id=identity.cluster_id)
    key = crypto.unseal(bytes(endpoint.sealed_jwt_key))
    yield consoles.open_console(identity, lambda: tokens.mint(identity.name, key), timeout=DEADLINE)


def submit(identity: SlurmIdentity, request: SubmitRequest) -> SubmitResult:
    """Hand in a job as this account; see SlurmGateway for what it raises.

    Raises WrongState for an account that does not work now, whatever it was when the request was made.
    """
    with gateway_for(identity, deadline=CHANGE_DEADLINE, kept=True) as gateway:
        require_working(identity)
        return gateway.submit(request)


@contextmanager
def submitting(identity: SlurmIdentity) -> Iterator[Several]:
    """Hand in many jobs as this account. See Several."""
    with (
        gateway_for(identity, deadline=CHANGE_DEADLINE, kept=True) as gateway,
        ThreadPoolExecutor(1, thread_name_prefix="submit") as sender,
    ):
        yield Several(identity, gateway, sender)


@dataclass
class Several:
    """Sends requests on a few connections. Slurm's numbers need not be in their order.

    After one without an answer, or SEND_WITHIN seconds, no more are sent: those have NotReachable, and Slurm
    has certainly not seen them.
    """

    identity: SlurmIdentity
    gateway: SlurmGateway
    sender: ThreadPoolExecutor  # of one thread
    _is_silent: bool = False

    def begin(self, requests: Sequence[SubmitRequest]) -> Callable[[], list[SubmitResult | Exception]]:
        """Begin to send; what is given back waits, and says for each what came of it. Raises WrongState.

        It says what SlurmGateway.submit_each does.
        """
        require_working(self.identity)
        return self.sender.submit(self._send, requests, time.monotonic() + SEND_WITHIN).result

    def _send(self, requests: Sequence[SubmitRequest], ends: float) -> list[SubmitResult | Exception]:
        answers: list[SubmitResult | Exception] = [errors.NotReachable() for _ in requests]
        left = takewhile(lambda _: not self._is_silent and time.monotonic() < ends, requests)
        with translation.override("en"):  # what is kept of a refusal is English
            for place, answer in self.gateway.submit_each(left, at_once=AT_ONCE):
                answers[place] = answer
                self._is_silent |= isinstance(answer, errors.Unclear | errors.NotReachable)
        return answers


def require_working(identity: SlurmIdentity) -> None:
    """Read afresh, right before a token that starts something is minted: is this still a member's account?"""
    if not _WORKING.filter(pk=identity.pk).exists():
        raise WrongState(
            _("This account takes no more jobs."),
            hint=_("Your membership ended or is suspended. Ask an owner."),
        )


def cancel(identity: SlurmIdentity, job: str, *, signal: str | None = None) -> None:
    """End a job or one array task ("12_3") as this account; see SlurmGateway for what it raises.

    A signal is named as in USR1; what the job does then is its own matter.
    """
    with gateway_for(identity, deadline=CHANGE_DEADLINE) as gateway:
        gateway.cancel(job, signal=signal)


def update(identity: SlurmIdentity, job: str, changes: JobChanges) -> UpdateResult:
    """Change a job or one array task as this account; see SlurmGateway for what it raises."""
    with gateway_for(identity, deadline=CHANGE_DEADLINE) as gateway:
        return gateway.update(job, changes)


def console_act(identity: SlurmIdentity, act: str, job: str) -> None:
    """requeue, suspend, resume or top as this account; see SlurmConsole, and WrongState without a console."""
    with console_for(identity) as console:
        acts = {
            "requeue": console.requeue,
            "suspend": console.suspend,
            "resume": console.resume,
            "top": console.top,
        }
        acts[act](job)


def look(identity: SlurmIdentity, job_id: int) -> tuple[JobRecord, ...]:
    """All records of one job; see SlurmGateway for what it raises."""
    with gateway_for(identity) as gateway:
        return gateway.job(job_id)


def read_output(job: Job, stream: Stream, offset: int | None = None) -> OutputChunk:
    """At most 256 KiB of a job's output from an offset, or its last 64 KiB. Raises OutsideError."""
    return client.read(settings.OUTPUT_SOCKET, job.pk, stream, offset, deadline=DEADLINE)


def find_output(job: Job, stream: Stream, text: str, offset: int) -> OutputFound:
    """Where a text stands in a job's output, from an offset on, by two seconds' work. Raises OutsideError."""
    return client.find(settings.OUTPUT_SOCKET, job.pk, stream, text, offset, deadline=DEADLINE)
