"""`python -m tests.e2e.shots_jobs [WORD ...]`: pages with 0, 1, 25 and 10,000 jobs, into shots/jobs/.

With words only pages whose picture's name holds one of them. Fails as `make shots` does.
"""

from __future__ import annotations

import os
import shutil
import socketserver
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import django
import msgspec
from django.urls import reverse
from playwright.sync_api import Browser, StorageState

from jobs.output_reader import finder
from jobs.output_reader.protocol import CHUNK, TAIL, Header, Request
from tests.e2e import browser as browsers
from tests.e2e import shots, small_portal
from tests.e2e.node_provider import Provider
from tests.e2e.shots_pages import HERE, Facts, Page, in_tenant
from tests.fixtures import servers

CLUSTER = in_tenant(pk="cluster")
OUTPUT = b"".join(
    b"\x1b[32mepoch %d\x1b[0m step %d \x1b[1mloss\x1b[0m=%.4f <b>lr</b>=1e-4 tokens/s=%d\n"
    % (n // 20, n, 9 / (n + 1), 91_000 + n % 977)
    for n in range(4000)
)
PAGES: dict[str, list[Page]] = {
    "overview": [Page(arguments=HERE)],
    "queue": [Page(arguments=CLUSTER)],
    "jobs": [Page(arguments=HERE), Page(arguments=HERE, tail="?who=everyone", label="everyone")],
    "job": [
        Page(arguments=in_tenant(pk="job")),
        Page(arguments=in_tenant(pk="job failed"), label="failed"),
        Page(arguments=in_tenant(pk="job waiting"), label="waiting"),
    ],
    "job-output": [
        Page(arguments=in_tenant(pk="job"), tail="?find=LOSS", label="found"),
        Page(
            arguments=in_tenant(pk="job"),
            tail=f"?find=step+700&at={OUTPUT.index(b'step 700 ') - 18}#output-place",
            label="place",
        ),
    ],
    "job-tasks": [Page(arguments=in_tenant(pk="array"))],
    "usage": [Page(arguments=HERE)],
    "usage-worst": [Page(arguments=HERE)],
    "node": [Page(arguments=in_tenant(pk="cluster", name="node"))],
    "partitions": [Page(arguments=CLUSTER)],
    "partition": [Page(arguments=in_tenant(pk="cluster", name="partition"))],
    "reservations": [Page(arguments=CLUSTER)],
    "qos": [Page(arguments=CLUSTER)],
    "limits": [Page(arguments=CLUSTER)],
}


class _Reader(socketserver.StreamRequestHandler):
    """Answers as the output reader does, of one file that every job wrote."""

    def handle(self) -> None:
        """One request."""
        asked = msgspec.json.decode(self.rfile.readline(), type=Request)
        start = asked.start if asked.start is not None else max(0, len(OUTPUT) - TAIL)
        data = OUTPUT[start : start + CHUNK]
        if asked.find:
            found = finder.find(lambda at, most: OUTPUT[at : at + most], len(OUTPUT), start, asked.find)
            data = msgspec.json.encode(found)
        header = Header(state="ok", size=len(OUTPUT), offset=start, length=len(data))
        self.wfile.write(msgspec.json.encode(header) + b"\n" + data)


@contextmanager
def _reading(path: Path) -> Iterator[Path]:
    with socketserver.ThreadingUnixStreamServer(str(path), _Reader) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield path
        finally:
            server.shutdown()
            thread.join()


def take_all(
    browser: Browser, base: str, state: StorageState, scenes: Mapping[str, Facts], words: list[str]
) -> shots.Album:
    """The pages of each tenant at the four settings."""
    album = shots.Album(folder=shots.FOLDER / "jobs")
    if not words:
        shutil.rmtree(album.folder, ignore_errors=True)
    album.folder.mkdir(parents=True, exist_ok=True)
    for width, height in shots.WIDTHS.items():
        for scheme in shots.SCHEMES:
            context = browser.new_context(
                storage_state=state,
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                reduced_motion="reduce",
                timezone_id="UTC",
                locale="en-GB",
            )
            page = context.new_page()
            page.on("pageerror", lambda error: album.faults.append(str(error)))
            page.on("console", lambda line: album.hear("console", line))
            for label, address in _addresses(scenes):
                if not words or any(word in label for word in words):
                    shots.take(
                        page, f"{base}{address}", album, album.folder / f"{label}-{width}-{scheme}.png"
                    )
            context.close()
    return album


def _addresses(scenes: Mapping[str, Facts]) -> Iterator[tuple[str, str]]:
    for count, facts in scenes.items():
        for name, pictures in PAGES.items():
            for picture in pictures:
                try:
                    address = reverse(name, kwargs=dict(picture.arguments(facts))) + picture.tail
                except KeyError:  # the tenant has no such thing
                    continue
                yield "-".join(filter(None, (name, picture.label, count))), address


def main() -> int:
    """Start a portal, furnish it, picture it; 1 when a page is at fault."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="freehold-shots-")))
        folder.chmod(0o711)
        stores = servers.Servers(folder, worker="shots")
        stack.callback(stores.stop)
        stores.start()
        reader = stack.enter_context(_reading(folder / "reader.sock"))
        issuer = "http://127.0.0.1:9"  # nobody signs in: the scene comes with sessions
        portal = stack.enter_context(
            small_portal.running(
                small_portal.address(),
                Provider(issuer),
                stores,
                folder,
                operators=f"{issuer}|otto",
                variables={"FREEHOLD_OUTPUT_SOCKET": str(reader)},
            )
        )
        scenes, people = shots.furnish(portal, "tests.e2e.shots_jobs_scene")
        browser = stack.enter_context(browsers.chromium())
        os.environ.update(portal.environment)
        django.setup()
        album = take_all(browser, portal.url, people["ada"], scenes, sys.argv[1:])
    for fault in sorted(set(album.faults)):
        print(f"shots: {fault}", file=sys.stderr)
    print(f"shots: {len(album.taken)} pictures in {album.folder}")
    return 1 if album.faults else 0


if __name__ == "__main__":
    sys.exit(main())
