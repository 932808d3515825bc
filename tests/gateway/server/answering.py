"""A server of the front, for tests of how answers are sent: run it by `python -m gateway.server`."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse

from gateway.server import sending
from gateway.server.front import Front
from gateway.server.requests import Environ

DEADLINE_SECONDS = 3.0
MOST_OF_ALL = 1024 * 1024
WHOLE = 20_000_000
PIECES = 160

sending.SEND_SECONDS = DEADLINE_SECONDS  # type: ignore[misc]
sending._MOST_OF_ALL = MOST_OF_ALL  # type: ignore[misc]

_made: Counter[str] = Counter()


class Told(StreamingHttpResponse):
    def close(self) -> None:
        super().close()
        _made["closed"] += 1


def _pieces(path: str) -> Iterator[bytes]:
    for number in range(PIECES):
        if path == "/broken" and number == 2:
            raise KeyError(path)
        _made["pieces"] += 1
        yield b"x" * sending.PIECE_BYTES


def _answer(environ: Environ) -> HttpResponse | StreamingHttpResponse:
    path = environ["PATH_INFO"]
    if path == "/whole":
        return HttpResponse(b"x" * WHOLE)
    if path == "/told":
        clients = len([client for client in sending._descriptors_of_clients() if client])
        return HttpResponse(f"{_made['pieces']} {_made['begun']} {_made['closed']} {clients}")
    _made["begun"] += 1
    return Told(_pieces(path))


def _django(environ: Environ, start_response: Any) -> Any:
    response = _answer(environ)
    start_response(f"{response.status_code} Told", list(response.items()))
    return response


application = Front(_django, threads=4)
