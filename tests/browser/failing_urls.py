"""The product's routes, and one that fails in every way a page can."""

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from gateway import urls
from gateway.core.api.errors import RateLimitError
from gateway.core.web.pages import too_many

_RAISED: dict[int, Exception] = {
    400: SuspiciousOperation("damaged"),
    403: PermissionDenied(),
    404: Http404(),
    500: RuntimeError("a failure of ours"),
}
_WORDS = {"merchant": "Halden Roasters", "code": "receiving_wallet_missing"}


def fail(request: HttpRequest, status: int) -> HttpResponse:
    """Fail with a status."""
    if status in _RAISED:
        raise _RAISED[status]
    if status == 429:
        return too_many(request, RateLimitError(37))
    return render(request, f"{status}.html", _WORDS, status=status)


urlpatterns = [path("fail/<int:status>", fail), path("api/v1/fail/<int:status>", fail), *urls.urlpatterns]
