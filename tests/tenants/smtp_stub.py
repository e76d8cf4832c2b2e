"""A small SMTP server in this process, on loopback, that can refuse, hang up and lose its answer."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any


@dataclass
class Stub:
    """What it does; tests change it between two attempts."""

    port: int = 0
    rcpt_answer: str = "250 ok"
    data_answer: str = "250 taken"
    loses_answer: bool = False  # takes the mail, and hangs up before it says so
    taken: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)


@contextmanager
def running() -> Iterator[Stub]:
    """Serve until the block ends."""
    stub = Stub()

    class Handler(socketserver.StreamRequestHandler):
        timeout = 10

        def say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

        def handle(self) -> None:
            self.say("220 stub")
            while line := self.rfile.readline():
                verb = line.decode().strip().upper()
                if verb.startswith("RCPT"):
                    stub.recipients.append(line.decode().strip())
                    self.say(stub.rcpt_answer)
                elif verb == "DATA":
                    if not self.take():
                        return
                elif verb == "QUIT":
                    self.say("221 bye")
                    return
                else:
                    self.say("250 ok")

        def take(self) -> bool:
            self.say("354 go on")
            lines = []
            while (line := self.rfile.readline()) not in {b".\r\n", b""}:
                lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
            if stub.data_answer.startswith("250"):
                stub.taken.append(message_from_bytes(b"".join(lines), policy=policy.default))
            if stub.loses_answer:
                return False
            self.say(stub.data_answer)
            return True

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hung up is no news."""

    server = Server(("127.0.0.1", 0), Handler)
    stub.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
