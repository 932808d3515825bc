"""`python -m demo.machines.report PORT SETTINGS_FILE`: a report that machines pay for, behind the Django middleware of florin_x402.

All of a small Django site is in this file. What a merchant's own site needs of it is the middleware's name and FLORIN_X402.
"""

import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path

from demo.machines import report_price
from demo.settings_file import DemoSettings, read_settings
from florin_x402 import Price

HOST = "127.0.0.1"


def report(request: HttpRequest) -> JsonResponse:
    """Return the report; the middleware admits only paid requests."""
    paid = request.x402  # type: ignore[attr-defined]
    ship = {"name": "Anna", "cargo": "coffee", "quay": 4}
    return JsonResponse({"harbour": {"ships": [ship]}, "payment": paid.payment_id, "by": paid.payer})


urlpatterns = [path(report_price.PATH.removeprefix("/"), report)]


def paywall(demo: DemoSettings) -> dict[str, Any]:
    """What FLORIN_X402 is to a merchant: the facilitator, the key, and prices by path."""
    price = Price(
        report_price.AMOUNT,
        networks=(report_price.CHAIN, report_price.ALSO_ON),
        description="Ships in the harbour",
        mime_type="application/json",
        # So that the report can name its payment.
        settle="before",
    )
    return {
        "url": f"{demo.base_url}/api/v1/x402",
        "key": demo.credentials.live_key,
        "prices": {report_price.PATH: price},
    }


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - inherited
        """Write no line per request."""


def main() -> None:
    """Serve until a signal ends the process."""
    port, settings_file = sys.argv[1:]
    settings.configure(
        ROOT_URLCONF="demo.machines.report",
        MIDDLEWARE=["florin_x402.django.X402Middleware"],
        FLORIN_X402=paywall(read_settings(Path(settings_file))),
        ALLOWED_HOSTS=[HOST],
    )
    with _Server((HOST, int(port)), _Handler) as server:
        server.set_app(get_wsgi_application())
        server.serve_forever()


if __name__ == "__main__":
    main()
