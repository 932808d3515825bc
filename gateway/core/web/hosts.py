"""Addresses that pages once had. Old links live in mails and on paper, and go on to work."""

from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse


class PermanentRedirect(HttpResponse):
    """308 (RFC 9110, 15.4.9): what was posted is posted again, unlike after a 301. Its target is an address of ours."""

    status_code = 308

    def __init__(self, location: str) -> None:
        super().__init__(headers={"Location": location})


class PresentHostMiddleware:
    """Sends pages asked for on a legacy host to the present one. It costs nothing where there is no legacy host."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.LEGACY_HOSTS:
            raise MiddlewareNotUsed
        self.get_response = get_response
        self.legacy: Final = frozenset(host.lower() for host in settings.LEGACY_HOSTS)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        # Not get_host(): that refuses hosts the redirect to https may not name.
        host = request.META.get("HTTP_HOST", "").lower()
        present = _present_host(request.path_info) if host in self.legacy else None
        if present is None:
            return self.get_response(request)
        return PermanentRedirect(present + request.get_full_path())


def _present_host(path: str) -> str | None:
    """Return where a page is served now; None for what is no page."""
    if path.startswith("/c/"):
        return str(settings.CHECKOUT_HOST)
    # An old path is sorted out there.
    return str(settings.LINK_HOST) if path.startswith(("/p/", "/pay/")) else None
