"""The one way to speak HTTP: limits hold, nothing is followed, and what was sent is known."""

from __future__ import annotations

import select
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from portal.lib.http import AddressRefused, NoAnswer, NotSent, Outside, TooLarge
from tests.cases import case
from tests.contract.slurmrest.faults import Handler, faults


def trickle(handler: Handler) -> None:
    """One byte every 20 ms, for ever."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not handler.server.stopped.wait(0.02):
        handler.wfile.write(b"x")


def trickle_headers(handler: Handler) -> None:
    """A header that never ends."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not handler.server.stopped.wait(0.02):
        handler.wfile.write(b"x")


def silent(handler: Handler) -> None:
    """Take the request and say nothing."""
    handler.server.stopped.wait()


def endless(handler: Handler) -> None:
    """As much as the other side takes."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while not handler.server.stopped.is_set():
        handler.wfile.write(b"x" * 65536)


def test_a_whole_answer_of_any_status() -> None:
    with faults(lambda h: h.say(418, b"tea", "Text/Plain; charset=utf-8")) as server:
        outside = Outside(server.url)
        answer = outside.send("POST", "/pot?x=1", headers={"X-A": "b"}, body=b"{}")
        outside.close()
    assert (answer.status, answer.content_type, answer.body) == (418, "text/plain", b"tea")
    assert answer.seconds < 5
    assert server.requests == ["POST /pot?x=1"]
    assert server.headers[0]["X-A"] == "b"
    assert "Connection" not in server.headers[0]  # slurmrestd 22.05 loses answers over it


@pytest.mark.parametrize(("method", "connections"), [("GET", 1), ("POST", 3), ("DELETE", 3)])
def test_only_reads_share_a_connection(method: str, connections: int) -> None:
    ports: list[int] = []

    def behave(handler: Handler) -> None:
        ports.append(handler.client_address[1])
        handler.say(200, b"")

    with faults(behave) as server:
        outside = Outside(server.url)
        for _ in range(3):
            outside.send(method, "/", headers={})
        outside.close()
    assert len(set(ports)) == connections


@case("U16")
@pytest.mark.parametrize("behave", [trickle, trickle_headers, silent], ids=lambda b: b.__name__)
def test_the_time_limit_is_for_the_whole_exchange(behave: object) -> None:
    with faults(behave) as server:  # type: ignore[arg-type]
        outside = Outside(server.url, timeout=0.3)
        began = time.monotonic()
        with pytest.raises(NoAnswer) as caught:
            outside.send("GET", "/", headers={})
        assert 0.25 < time.monotonic() - began < 3
        assert caught.value.timed_out
        outside.close()


def test_a_kept_connection_has_a_new_limit_each_time() -> None:
    def behave(handler: Handler) -> None:
        count = len(handler.server.requests)
        trickle(handler) if count > 2 else handler.say(200, str(count).encode())

    with faults(behave) as server:
        outside = Outside(server.url, timeout=0.5)
        assert [outside.send("GET", "/", headers={}).body for _ in range(2)] == [b"1", b"2"]
        with pytest.raises(NoAnswer):
            outside.send("GET", "/", headers={})
        outside.close()


def test_a_body_has_a_limit() -> None:
    with faults(endless) as server:
        outside = Outside(server.url, limit=1_000_000)
        with pytest.raises(TooLarge):
            outside.send("GET", "/", headers={})
        outside.close()


def test_a_body_that_ends_before_its_length_is_no_answer() -> None:
    def behave(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        handler.close_connection = True

    with faults(behave) as server:
        outside = Outside(server.url)
        with pytest.raises(NoAnswer):
            outside.send("GET", "/", headers={})
        outside.close()


def test_no_redirect_no_cookie_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with faults(lambda h: h.say(302, b"", Location="/other", Set_Cookie="a=b; Path=/")) as server:
        outside = Outside(server.url)
        for _ in range(2):
            assert outside.send("GET", "/first", headers={}).status == 302
        outside.close()
    assert server.requests == ["GET /first", "GET /first"]
    assert "Cookie" not in server.headers[1]
    assert server.headers[1]["Accept-Encoding"] == "identity"


def test_what_was_not_sent_is_told_apart_from_what_was() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        outside = Outside(f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(NotSent):
            outside.send("POST", "/", headers={}, body=b"{}")
        outside.close()
    with faults(Handler.reset) as server:
        outside = Outside(server.url)
        with pytest.raises(NoAnswer) as caught:
            outside.send("POST", "/", headers={}, body=b"{}")
        outside.close()
    assert server.requests == ["POST /"]
    assert not caught.value.timed_out


def test_a_server_that_speaks_no_tls_has_not_seen_the_request() -> None:
    with faults(lambda h: h.say(200, b"")) as server:
        outside = Outside(server.url.replace("http:", "https:"))
        with pytest.raises(NotSent):
            outside.send("POST", "/", headers={"X-Secret": "s"}, body=b"{}")
        outside.close()
    assert server.requests == []


@pytest.mark.parametrize(
    "url",
    ["http://example.org", "http://10.0.0.1:6820", "ftp://localhost", "http://", "http://u:p@localhost", "x"],
)
def test_addresses_that_get_no_secrets(url: str) -> None:
    for good in ("https://example.org", "http://localhost:1", "http://[::1]:1"):
        assert Outside(good).base_url == good
    with pytest.raises(AddressRefused):
        Outside(url)


def test_threads_share_it() -> None:
    before = threading.active_count()
    with faults(lambda h: h.say(200, h.path.encode())) as server:
        outside = Outside(server.url)
        with ThreadPoolExecutor(8) as pool:
            paths = [f"/{number}" for number in range(100)]
            bodies = pool.map(lambda path: outside.send("GET", path, headers={}).body.decode(), paths)
            assert list(bodies) == paths
        outside.close()
    assert threading.active_count() < before + 50


def test_changes_that_may_reuse_a_connection_do_so_until_one_of_them_fails() -> None:
    ports: list[int] = []

    def behave(handler: Handler) -> None:
        ports.append(handler.client_address[1])
        handler.say(500 if handler.path == "/no" else 200, b"")

    with faults(behave) as server:
        outside = Outside(server.url)
        for path in ("/", "/", "/no", "/", "/"):
            outside.send("POST", path, headers={}, body=b"{}", reuse=True)
        outside.send("POST", "/", headers={}, body=b"{}")
        outside.close()
    assert ports[0] == ports[1] == ports[2], "as long as it goes well"
    assert ports[3] == ports[4] != ports[2], "slurmrestd closes it after an error"
    assert ports[5] not in ports[:5], "only who asks for it"


def test_no_two_changes_share_a_connection_at_a_time() -> None:
    busy: set[int] = set()
    met: list[int] = []

    def behave(handler: Handler) -> None:
        port = handler.client_address[1]
        met.extend({port} & busy)
        busy.add(port)
        handler.server.stopped.wait(0.005)
        busy.discard(port)
        handler.say(200, b"")

    with faults(behave) as server:
        outside = Outside(server.url)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: outside.send("POST", "/", headers={}, body=b"{}", reuse=True), range(80)))
        outside.close()
    assert (len(server.requests), met) == (80, [])


def test_a_change_whose_kept_connection_is_cut_is_unclear_and_not_sent_again() -> None:
    def behave(handler: Handler) -> None:
        handler.reset() if len(handler.server.requests) > 1 else handler.say(200, b"")

    with faults(behave) as server:
        outside = Outside(server.url)
        outside.send("POST", "/", headers={}, body=b"{}", reuse=True)
        with pytest.raises(NoAnswer) as caught:
            outside.send("POST", "/", headers={}, body=b"{}", reuse=True)
        outside.close()
    assert len(server.requests) == 2
    assert not caught.value.timed_out


def test_each_of_many_deadlines_is_held() -> None:
    with faults(silent) as server:
        outside = Outside(server.url)

        def send(seconds: float) -> bool:
            with pytest.raises(NoAnswer) as caught:
                outside.send("POST", "/", headers={}, body=b"{}", timeout=seconds)
            return caught.value.timed_out

        began = time.monotonic()
        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(send, (0.5, 0.1, 0.3, 0.2, 0.4, 0.1)))
        assert time.monotonic() - began < 5
        outside.close()


def test_one_thread_has_several_requests_on_their_way() -> None:
    met = threading.Barrier(4)  # each waits for the others: one after the other they would wait for ever

    def behave(handler: Handler) -> None:
        met.wait(20)
        handler.say(200, handler.path.encode())

    with faults(behave) as server:
        outside = Outside(server.url)
        begun = [outside.begin("POST", f"/{one}", headers={}, body=b"{}", reuse=True) for one in range(4)]
        assert len({one.fileno() for one in begun}) == 4
        assert [one.end().body for one in begun] == [b"/0", b"/1", b"/2", b"/3"]
        outside.close()


def test_a_request_that_is_on_its_way_wakes_who_waits_for_it_when_its_time_is_up() -> None:
    with faults(silent) as server:
        outside = Outside(server.url, timeout=0.2)
        begun = outside.begin("POST", "/", headers={}, body=b"{}", reuse=True)
        answers = select.poll()
        answers.register(begun, select.POLLIN)
        assert answers.poll(20_000)
        with pytest.raises(NoAnswer) as caught:
            begun.end()
        assert caught.value.timed_out
        outside.close()


def test_a_request_that_is_given_up_takes_its_connection_with_it() -> None:
    ports: dict[str, set[int]] = {"/lost": set(), "/kept": set()}

    def behave(handler: Handler) -> None:
        ports[handler.path].add(handler.client_address[1])
        handler.say(200, b"")

    with faults(behave) as server:
        outside = Outside(server.url)
        outside.begin("POST", "/lost", headers={}, body=b"{}", reuse=True).close()
        for _ in range(2):
            outside.send("POST", "/kept", headers={}, body=b"{}", reuse=True)
        outside.close()
    assert len(ports["/kept"]) == 1
    assert not ports["/kept"] & ports["/lost"]
