"""Static files are answered whole: no warning under ASGI, ranges and HEAD as they should be."""

from __future__ import annotations

import warnings

import pytest
from django.test import Client

from portal.asgi import application
from tests.sockets import ApplicationCommunicator

FILE = "/static/css/plot.css"


def test_a_file_a_part_of_it_and_its_head(client: Client) -> None:
    whole = client.get(FILE)
    assert whole.status_code == 200
    assert whole["Content-Type"].startswith("text/css")
    assert not whole.streaming
    part = client.get(FILE, headers={"range": "bytes=0-9"})
    assert (part.status_code, part.content) == (206, whole.content[:10])
    head = client.head(FILE)
    assert (head.status_code, head.content) == (200, b"")
    assert head["Content-Length"] == str(len(whole.content))
    since = client.get(FILE, headers={"if-modified-since": whole["Last-Modified"]})
    assert (since.status_code, since.content) == (304, b"")


@pytest.mark.django_db(transaction=True)
async def test_asgi_warns_of_nothing() -> None:
    scope = {"type": "http", "method": "GET", "path": FILE, "headers": [], "query_string": b""}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = ApplicationCommunicator(application, scope)
        await asked.send_input({"type": "http.request", "body": b""})
        start = await asked.receive_output(10)
        assert start["status"] == 200
        assert (await asked.receive_output(10))["body"]
        await asked.wait()
