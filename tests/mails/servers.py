"""A mail server on loopback: it takes mail, refuses some addresses, or greets and says nothing more."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from typing import Any

REFUSED = "nobody@example.test"


@dataclass
class MailServer:
    """What came in. `recipients` are those of the envelopes, message by message."""

    port: int
    recipients: list[list[str]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    connections: int = 0


class _Handler(socketserver.StreamRequestHandler):
    server: Any

    def handle(self) -> None:
        self.server.seen.connections += 1
        self._say("220 ready")
        if self.server.is_silent:
            self.rfile.read()
            return
        recipients: list[str] = []
        while line := self.rfile.readline():
            self._answer(line.decode().strip(), recipients)

    def _answer(self, line: str, recipients: list[str]) -> None:
        verb = line.upper()
        if verb.startswith("EHLO") and self.server.is_international:
            self._say("250-8BITMIME\r\n250 SMTPUTF8")
        elif verb.startswith("RCPT") and REFUSED in line:
            self._say("550 no such user")
        elif verb.startswith("RCPT"):
            recipients.append(line.partition("<")[2].rstrip(">"))
            self._say("250 ok")
        elif verb == "DATA":
            self._say("354 go on")
            self.server.seen.messages.append(message_from_bytes(self._body()))
            self.server.seen.recipients.append(list(recipients))
            recipients.clear()
            self._say("250 taken")
        else:
            self._say("221 bye" if verb == "QUIT" else "250 ok")

    def _body(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line)
        return b"".join(lines)

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def running_mail_server(*, is_silent: bool = False, is_international: bool = False) -> Iterator[MailServer]:
    """A server that runs as long as the block."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        seen = MailServer(server.server_address[1])
        server.seen, server.is_silent = seen, is_silent  # type: ignore[attr-defined]
        server.is_international = is_international  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield seen
        finally:
            server.shutdown()
            thread.join()
