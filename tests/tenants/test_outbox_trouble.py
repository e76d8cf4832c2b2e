"""Mail servers that are away, refuse or lose their answer, workers that die: a mail goes twice at most."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import time_machine
from django.db import connection
from pytest_django.fixtures import Settings

from portal.lib import clock
from tenants.models import OutboxMail
from tenants.services import outbox
from tests.tenants import smtp_stub
from tests.tenants.mailing import later, put, send, use
from tests.tenants.smtp_stub import Stub

pytestmark = pytest.mark.django_db


def test_a_server_that_is_away_is_tried_again_with_growing_pauses(settings: Settings) -> None:
    use(settings, "smtp+plain://127.0.0.1:9")
    mail = put()
    pauses = []
    now = clock.now()
    for _ in range(4):
        with time_machine.travel(now, tick=False):
            assert send() == 0
            mail.refresh_from_db()
            assert send() == 0  # not due yet
        pauses.append((mail.next_try_at - now).total_seconds())
        now = mail.next_try_at
    for pause, middle in zip(pauses, (30, 60, 120, 240), strict=True):
        assert middle * 0.79 < pause < middle * 1.21
    assert (mail.attempts, mail.unclear, mail.state) == (4, 0, "waiting")
    assert mail.last_error == "ConnectionRefusedError"
    with smtp_stub.running() as stub:
        use(settings, f"smtp+plain://127.0.0.1:{stub.port}")
        with time_machine.travel(now, tick=True):
            assert send() == 1
    assert len(stub.taken) == 1


def test_it_is_given_up_after_days_and_the_text_forgotten(settings: Settings) -> None:
    use(settings, "smtp+plain://127.0.0.1:9")
    mail = put()
    with later(days=3, seconds=1):
        send()
    mail.refresh_from_db()
    assert (mail.state, mail.sealed_body) == ("ended", None)
    assert mail.last_error.startswith("Given up after 3 days")


@pytest.mark.parametrize(
    ("where", "answer", "state"),
    [
        ("rcpt_answer", "550 no such person", "ended"),
        ("rcpt_answer", "450 busy", "waiting"),
        ("data_answer", "554 no", "ended"),
        ("data_answer", "451 later", "waiting"),
    ],
)
def test_a_final_no_ends_it_and_a_later_does_not(smtp: Stub, where: str, answer: str, state: str) -> None:
    mail, other = put(to="gone@example.org"), put(to="rui@example.org")
    setattr(smtp, where, answer)
    with time_machine.travel(clock.now(), tick=False):
        assert send() == 0
    mail.refresh_from_db()
    assert mail.state == state
    assert answer[:3] in mail.last_error
    assert "no such person" not in mail.last_error
    assert smtp.taken == []
    setattr(smtp, where, "250 ok")
    with later(minutes=2):
        assert send() == (0 if state == "ended" else 2)
    other.refresh_from_db()
    assert other.state == ("ended" if state == "ended" else "sent")


def test_after_a_lost_answer_it_is_sent_once_more_with_the_same_id_and_never_again(smtp: Stub) -> None:
    mail = put()
    smtp.loses_answer = True
    assert send() == 0
    for hours in (1, 2, 3):
        with later(hours=hours):
            send()
    assert [one["Message-ID"] for one in smtp.taken] == [f"<{mail.pk.hex}@testserver>"] * 2
    mail.refresh_from_db()
    assert mail.state == "ended"
    assert "Nobody knows" in mail.last_error


def test_after_one_lost_answer_the_second_may_be_heard(smtp: Stub) -> None:
    mail = put()
    smtp.loses_answer = True
    send()
    smtp.loses_answer = False
    with later(minutes=5):
        assert send() == 1
    mail.refresh_from_db()
    assert (mail.state, mail.unclear) == ("sent", 1)


class Killed(BaseException):
    """A worker that dies."""


def test_a_worker_that_dies_after_sending_repeats_it_at_most_once(
    smtp: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    put()

    def die(*args: object, **columns: object) -> None:
        raise Killed

    real = outbox._settle
    for hours in (0, 1, 2, 3):
        monkeypatch.setattr(outbox, "_settle", die if hours < 2 else real)
        with later(hours=hours):
            try:
                send()
            except Killed:
                assert send() == 0  # claimed: another worker leaves it alone
    assert len({one["Message-ID"] for one in smtp.taken}) == 1
    assert len(smtp.taken) == 2
    assert OutboxMail.objects.get().state == "ended"


@pytest.mark.django_db(transaction=True)
def test_workers_share_the_mails_and_send_each_once(smtp: Stub) -> None:
    put(count=12)

    def work(_: int) -> int:
        try:
            return send()
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        counts = list(pool.map(work, range(3)))
    assert sum(counts) == 12
    assert len({one["Message-ID"] for one in smtp.taken}) == len(smtp.taken) == 12
