"""Redirects of old addresses. Old links live in mails and on paper, and must keep working."""

from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse


class PermanentRedirect(HttpResponse):
    """308 (RFC 9110, 15.4.9): the browser repeats a POST, unlike after a 301. The target is always on our own host."""

    status_code = 308

    def __init__(self, location: str) -> None:
        super().__init__(headers={"Location": location})


class PresentHostMiddleware:
    """Redirects pages requested on a legacy host to the current host. It costs nothing where no legacy host is set."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.LEGACY_HOSTS:
            raise MiddlewareNotUsed
        self.get_response = get_response
        self.legacy: Final = frozenset(host.lower() for host in settings.LEGACY_HOSTS)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        # Not get_host(): it refuses hosts missing from ALLOWED_HOSTS, which the redirect to https must not name.
        host = request.META.get("HTTP_HOST", "").lower()
        present = _present_host(request.path_info) if host in self.legacy else None
        if present is None:
            return self.get_response(request)
        return PermanentRedirect(present + request.get_full_path())


def _present_host(path: str) -> str | None:
    """Return where a page is served now; None if the path is not a page."""
    if path.startswith("/c/"):
        return str(settings.CHECKOUT_HOST)
    # The current host redirects old paths itself.
    return str(settings.LINK_HOST) if path.startswith(("/p/", "/pay/")) else None
