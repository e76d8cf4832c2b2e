"""The supervisor's tools one by one: ports, layout, copy of the code, records, log stream, settings."""

from __future__ import annotations

import dataclasses
import io
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from configparser import RawConfigParser
from pathlib import Path

import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from portal.lib import processes
from portal.run import copying, layout, parts, people, ports, records
from portal.run.console import Console
from portal.run.layout import CannotRun, Layout
from portal.run.supervisor import Supervisor


@pytest.fixture
def where(tmp_path: Path) -> Layout:
    """A layout with the folders that root writes into."""
    made = Layout(data=tmp_path / "data", clone=tmp_path / "clone")
    for path in (made.data, made.clone, made.supervisor, made.log, made.state, made.app):
        path.mkdir()
    return made


@pytest.fixture
def listener() -> Iterator[int]:
    """A port in use."""
    with socket.socket() as server:
        server.bind((ports.HOST, 0))
        server.listen()
        yield server.getsockname()[1]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ports.HOST, 0))
        return int(probe.getsockname()[1])


# --- ports ---------------------------------------------------------------------------------------------
def test_ports_are_chosen_once_and_kept(where: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREEHOLD_WEB_PORT", str(_free_port()))
    monkeypatch.setenv("FREEHOLD_OIDC_PORT", str(_free_port()))
    first = ports.choose(where)
    monkeypatch.delenv("FREEHOLD_WEB_PORT")
    monkeypatch.delenv("FREEHOLD_OIDC_PORT")
    assert ports.choose(where) == first


def test_a_port_in_use_is_refused_when_asked_for(
    where: Layout, listener: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FREEHOLD_WEB_PORT", str(listener))
    with pytest.raises(CannotRun, match=f"Port {listener} is in use"):
        ports.choose(where)


@pytest.mark.parametrize("value", ["0", "65536", "eighty", "-1"])
def test_a_port_that_is_none_is_refused(where: Layout, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREEHOLD_WEB_PORT", value)
    with pytest.raises(CannotRun, match="from 1 to 65535"):
        ports.choose(where)


def test_the_web_moves_when_its_port_was_taken_but_the_issuer_does_not(where: Layout, listener: int) -> None:
    note = where.supervisor / "ports.json"
    note.write_text(f'{{"web": {listener}, "oidc": {_free_port()}}}')
    assert ports.choose(where).web != listener
    note.write_text(f'{{"web": {_free_port()}, "oidc": {listener}}}')
    with pytest.raises(CannotRun, match="FREEHOLD_OIDC_PORT"):
        ports.choose(where)


# --- layout --------------------------------------------------------------------------------------------
def test_a_data_folder_that_jobs_could_not_reach_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(CannotRun, match="closed to other users"):
        layout.prepare(Layout(data=closed / "data", clone=tmp_path))


def test_only_our_own_folder_is_removed(where: Layout) -> None:
    (where.data / "thesis.tex").write_text("years of work")
    with pytest.raises(CannotRun, match="Nothing was removed"):
        layout.remove(where)
    assert (where.data / "thesis.tex").exists()
    (where.supervisor / "lock").touch()
    layout.remove(where)
    assert not where.data.exists()


def test_a_private_file_does_not_follow_a_link(where: Layout, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (where.state / "run.json").symlink_to(victim)
    layout.write_private(where.announcement, "{}")
    assert victim.read_text() == "untouched"
    assert where.announcement.read_text() == "{}"
    assert where.announcement.stat().st_mode & 0o777 == 0o600


# --- the copy of the code ------------------------------------------------------------------------------
def test_the_copy_follows_the_clone(where: Layout) -> None:
    source = where.clone / "portal" / "web" / "views.py"
    source.parent.mkdir(parents=True)
    source.write_text("ONE = 1\n")
    source.chmod(0o600)
    (where.clone / "manage.py").write_text("")
    copying.copy(where)
    copied = where.app / "portal" / "web" / "views.py"
    assert copied.read_text() == "ONE = 1\n"
    assert copied.stat().st_mode & 0o777 == 0o644
    assert copied.parent.stat().st_mode & 0o777 == 0o755
    source.write_text("TWO = 22\n")
    copying.copy(where)
    assert copied.read_text() == "TWO = 22\n"
    source.unlink()
    copying.copy(where)
    assert not copied.parent.exists()
    assert (where.app / "manage.py").exists()


# --- records -------------------------------------------------------------------------------------------
def test_what_a_crashed_run_left_is_ended_and_a_stranger_with_its_pid_is_not(where: Layout) -> None:
    environment = {parts.MARK: str(where.data)}
    orphan = subprocess.Popen(["/bin/sleep", "600"], env=environment)
    stranger = subprocess.Popen(["/bin/sleep", "600"])
    try:
        note = records.Records(where)
        note.update([orphan.pid, stranger.pid])
        first, second = records.Records(where).load()
        assert records.of_folder(where, slurm=False) == [first]
        records.end([first, dataclasses.replace(second, started=second.started - 1)])
        assert orphan.wait(timeout=30) == -15
        assert stranger.poll() is None
        assert not processes.is_running(first)
    finally:
        for child in (orphan, stranger):
            child.kill()
            child.wait()


def test_slurm_daemons_are_left_for_their_driver_unless_asked_for(where: Layout) -> None:
    environment = {parts.MARK: str(where.data), "SLURM_CONF": f"{where.data}/clusters/c-1/slurm.conf"}
    with subprocess.Popen(["/bin/sleep", "600"], env=environment) as daemon:
        try:
            assert records.of_folder(where, slurm=False) == []
            assert [record.pid for record in records.of_folder(where, slurm=True)] == [daemon.pid]
        finally:
            daemon.kill()


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"pid": 1}]'])
def test_a_broken_note_is_no_obstacle(where: Layout, text: str) -> None:
    (where.supervisor / "processes.json").write_text(text)
    assert records.Records(where).load() == []


# --- the stream of logs --------------------------------------------------------------------------------
def test_lines_are_prefixed_whole_and_without_colour_in_a_file(
    where: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = where.log / "web.log"
    log.write_text("from before\n")
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stdout", screen)
    console = Console(where.log)
    console.follow("web")
    with log.open("a") as file:
        file.write("\x1b[32mGET /\x1b[0m 200\nhalf a")
        file.flush()
        console.pump()
        file.write(" line\n")
    console.pump()
    log.rename(where.log / "web.log.1")
    log.write_text("after the rotation\n")
    console.pump()
    console.close()
    assert screen.getvalue().splitlines() == [
        "web      | GET / 200",
        "web      | half a line",
        "web      | after the rotation",
    ]


def test_an_ordered_stop_is_quiet_and_what_goes_wrong_in_it_is_shown(
    where: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(where.log)
    said = {
        "run": "2026-11-30 17:40:01,123 WARN stopped: web (terminated by SIGTERM)",
        "web": "INFO:     Shutting down",
        "redis": "198:signal-handler (1796060379) Received SIGTERM scheduling shutdown...",
        "postgres": "LOG:  received fast shutdown request",
    }
    wrong = {
        "run": "2026-11-30 17:40:01,123 WARN exited: web (exit status 1; not expected)",
        "web": "ERROR:    Exception in ASGI application",
        "redis": "198:M 30 Nov 2026 17:40:01.123 # Error writing the file",
        "postgres": "PANIC:  could not write to file",
    }
    for part in said:
        (where.log / f"{part}.log").touch()
    console.follow(*said)
    for lines in (said, wrong):
        for part, line in lines.items():
            with (where.log / f"{part}.log").open("a") as log:
                log.write(f"{line}\n")
    console.pump()
    console.close()
    shown = capsys.readouterr().out.splitlines()
    assert [line.partition(" |")[0].strip() for line in shown] == list(wrong)
    assert all(line.endswith(wrong[line.split()[0]][-12:]) for line in shown)


# --- settings of the supervisor and of the parts -------------------------------------------------------
def test_parts_get_our_variables_and_not_the_callers_secrets(
    where: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not for us")
    monkeypatch.setenv("FREEHOLD_UID_BASE", "300000")
    made = parts.environment(where, ports.Ports(web=8000, oidc=8400))
    assert made["FREEHOLD_UID_BASE"] == "300000"
    assert made["FREEHOLD_MODE"] == "demo"
    assert "not for us" not in made.values()
    operators = [f"http://127.0.0.1:8400|{person.subject}" for person in people.OPERATORS]
    assert made["OPERATORS"].split(",") == operators


def test_only_two_parts_are_root_and_what_builds_once(where: Layout) -> None:
    made = parts.portal(where, ports.Ports(web=8000, oidc=8400))
    assert {part.name for part in made if part.as_root} == {"local", "outputs", "kube"}
    assert [part.name for part in made if part.once] == ["kube"]
    text = Supervisor(where, made)._settings()
    settings = RawConfigParser()
    settings.read_string(text)
    for part in made:
        command = settings[f"program:{part.name}"]["command"]
        assert ("--reuid freehold" in command) is not part.as_root
        assert settings[f"program:{part.name}"]["autorestart"] == str(not part.once).lower()
    assert settings["unix_http_server"]["file"].startswith(str(where.supervisor))
    assert not any("port" in settings[section] for section in settings.sections())


def test_the_demo_provider_refuses_to_start_outside_the_demo() -> None:
    command = [sys.executable, "-m", "portal.run.demo_oidc", str(_free_port())]
    environment = {**os.environ, "FREEHOLD_MODE": "production"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "only with FREEHOLD_MODE=demo" in done.stderr


@pytest.mark.slow
def test_the_demo_provider_says_who_is_who_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    port = _free_port()
    environment = {**os.environ, "FREEHOLD_MODE": "demo"}
    command = [sys.executable, "-m", "portal.run.demo_oidc", str(port)]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, env=environment, stderr=log) as child:
        try:
            asked = {"response_type": "code", "client_id": "x", "scope": "openid", "nonce": "n", "state": "s"}
            asked["redirect_uri"] = "http://127.0.0.1:1/back"
            with requests.Session() as session:
                session.mount("http://", HTTPAdapter(max_retries=Retry(20, connect=20, backoff_factor=0.1)))
                url = f"http://127.0.0.1:{port}/oauth2/authorize"
                page = session.get(url, params=asked, timeout=30)
                for part in ("Who are you?", "Somebody new", *(one.role for one in people.PEOPLE)):
                    assert part in page.text
                assert "https://" not in page.text
                assert "default-src 'none'" in page.headers["Content-Security-Policy"]
                empty = session.post(url, params=asked, timeout=30, allow_redirects=False)
                assert "Type a name first." in empty.text
                back = session.post(url, params=asked, data={"sub": "mia"}, timeout=30, allow_redirects=False)
                assert back.headers["Location"].startswith("http://127.0.0.1:1/back?code=")
                out = session.get(f"http://127.0.0.1:{port}/oauth2/end_session", timeout=30)
                assert "Back to Freehold" in out.text
        finally:
            child.terminate()


def test_sockets_that_come_and_go_are_no_news_and_refused_ones_are(
    where: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(where.log)
    (where.log / "web.log").touch()
    console.follow("web")
    with (where.log / "web.log").open("a") as log:
        log.write('INFO:     127.0.0.1:51276 - "WebSocket /ws/t/lab/?topic=cluster:3e8:22" [accepted]\n')
        log.write("INFO:     connection open\nINFO:     connection closed\n")
        log.write('INFO:     127.0.0.1:51276 - "WebSocket /ws/t/lab/" 403\n')
    console.pump()
    console.close()
    shown = capsys.readouterr().out
    assert "403" in shown
    assert "accepted" not in shown
    assert "connection" not in shown
