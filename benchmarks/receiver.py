"""A webhook endpoint that only records when each request arrived. Paths below /dead never answer."""

import asyncio
import json
import sys
import time

import uvloop

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Receiver(asyncio.Protocol):
    """One connection; requests come one after another."""

    times: dict[str, list[float]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        self.buffer += data
        while True:
            head, separator, rest = self.buffer.partition(b"\r\n\r\n")
            if not separator:
                return
            lowered = head.lower()
            start = lowered.find(b"content-length:")
            length = int(lowered[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
            if len(rest) < length:
                return
            self.buffer = rest[length:]
            self._answer(head.split(b" ", 2)[:2])

    def _answer(self, line: list[bytes]) -> None:
        method, path = line[0], line[1].decode()
        if method == b"GET":
            self._report()
            return
        kind = path.split("/")[1]
        self.times.setdefault(kind, []).append(time.time())
        if kind != "dead":
            self.transport.write(_OK)  # type: ignore[attr-defined]

    def _report(self) -> None:
        body = json.dumps(self.times).encode()
        self.times.clear()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        self.transport.write(head + body)  # type: ignore[attr-defined]


async def main(port: int) -> None:
    """Serve until ended."""
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
