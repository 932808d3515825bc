"""`python -m tests.clients.gated_shop STYLE`: sells a report behind a gate of florin_x402 (wsgi, asgi or django), until its input ends.

FACILITATOR_URL and FACILITATOR_KEY are the merchant's. CHAIN and TOKEN say what the price is paid in, if it is not any token of one
dollar. Payers of MPP are served, too. Prints its port.
"""

import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

import uvicorn

from florin_x402 import Price
from florin_x402.asgi import X402Asgi
from florin_x402.config import Config
from florin_x402.wsgi import X402Wsgi
from tests.clients.serving import served

PAGE: Final = b'{"report": "seven"}'
_HOST: Final = "127.0.0.1"


def fields(url: str) -> dict[str, Any]:
    """The fields of the gate's configuration, of a shop at `url`."""
    chain = os.environ.get("CHAIN", "")
    price = Price("0.01", networks=(chain,) if chain else (), token=os.environ.get("TOKEN", ""))
    return {
        "url": os.environ["FACILITATOR_URL"],
        "key": os.environ["FACILITATOR_KEY"],
        "prices": {"/report": price},
        "base_url": url,
        "mpp_secrets": ["a secret of the seller's own, long enough"],
    }


def tell(url: str) -> None:
    """Say where it sells."""
    sys.stdout.write(f"{url.rpartition(':')[2]}\n")
    sys.stdout.flush()


def by_wsgi(url: str) -> Any:
    """A WSGI application."""

    def report(_environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "application/json")])
        return [PAGE]

    return X402Wsgi(report, Config(**fields(url)))


def by_django(url: str) -> Any:
    """A Django site."""
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpRequest, HttpResponse
    from django.urls import path

    def report(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(PAGE, content_type="application/json")

    settings.configure(
        ROOT_URLCONF=type("Urls", (), {"urlpatterns": [path("report", report)]}),
        MIDDLEWARE=["florin_x402.django.X402Middleware"],
        FLORIN_X402=fields(url),
        ALLOWED_HOSTS=[_HOST],
    )
    return get_wsgi_application()


def serve_wsgi(make: Callable[[str], Any]) -> None:
    """Serve until the input ends. The address is part of what payers sign, and known once it is served."""
    found: list[Any] = []
    with served(lambda *asked: found[0](*asked)) as url:
        found.append(make(url))
        tell(url)
        sys.stdin.read()


def serve_asgi() -> None:
    """The same of an ASGI application."""

    async def report(_scope: Any, _receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": PAGE})

    with socket.create_server((_HOST, 0)) as listening:
        url = f"http://{_HOST}:{listening.getsockname()[1]}"
        app: Any = X402Asgi(report, Config(**fields(url)))
        running = uvicorn.Server(uvicorn.Config(app, log_level="error", loop="asyncio", lifespan="off"))

        def end_with_input() -> None:
            sys.stdin.read()
            running.should_exit = True

        threading.Thread(target=end_with_input, daemon=True).start()
        tell(url)
        running.run([listening])


def main() -> None:
    """Serve in the style that the argument names."""
    style = sys.argv[1]
    if style == "asgi":
        serve_asgi()
    else:
        serve_wsgi({"wsgi": by_wsgi, "django": by_django}[style])


if __name__ == "__main__":
    main()
