"""The service worker, the manifest of the dashboard, and the page on which the reader of a mail or push notice stops its kind. The link is the permission."""

from functools import cache
from typing import Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import translation
from django.views.decorators.http import require_http_methods, require_safe

from gateway.core.api import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.web.login_languages import mail_language
from gateway.core.web.pages import count_visit, manifest, too_many, uncached
from notices.mails import Muted, mute, muted_by
from notices.states import Way

MUTE: Final = Limit("notices.mute", 30)


@cache
def _script() -> bytes:
    return (settings.BASE_DIR / "static" / "js" / "push-worker.js").read_bytes()


@require_safe
def worker(_request: HttpRequest) -> HttpResponse:
    """Return the worker that shows notices. Its address never changes, so a browser finds a newer one there.

    The till's pages register it for themselves, too. A browser lets no page register it outside of what the header names, not even
    below the worker's own folder, where notices have it.
    """
    headers = {"Cache-Control": "no-cache", "Service-Worker-Allowed": "/"}
    return HttpResponse(_script(), content_type="text/javascript; charset=utf-8", headers=headers)


@require_safe
def dashboard_manifest(_request: HttpRequest) -> HttpResponse:
    """Return what a browser needs to put the dashboard on a home screen, where iOS lets a page show notices.

    The login is within its scope: a page outside would open in the browser, and the application would stay logged out.
    """
    return manifest(name="Florin", short_name="Florin", start=reverse("dashboard"), scope="/")


@require_http_methods(["GET", "HEAD", "POST"])
def mute_notices(request: HttpRequest, token: str) -> HttpResponse:
    """Show what a link stops, with a button; a POST stops it, of the page, a mail program (RFC 8058) or our service worker.

    A GET changes nothing: programs that look for viruses open links. Raises Http404 for a link that we did not make.
    """
    try:
        count_visit(request, MUTE, token)
    except errors.RateLimitError as error:
        return too_many(request, error)
    found = muted_by(token)
    if found is None:
        raise Http404
    if request.method == "POST":
        mute(found)
    return _page(request, found, is_done=request.method == "POST" or not found.kinds)


def _page(request: HttpRequest, muted: Muted, *, is_done: bool) -> HttpResponse:
    """Return the page. It shows the merchant and the kinds, which the notice says too, and nothing of the person."""
    member, merchant = muted.member, muted.member.seat.merchant
    context = {
        "is_done": is_done,
        "is_push": muted.way == Way.PUSH,
        "kinds": [kind.label for kind in muted.kinds],
        "merchant_name": merchant.name,
        "choices": reverse("dashboard_notices", kwargs={"mer_id": merchant.public_id, "mode": str(member.mode)}),
    }
    language = mail_language(member.seat.user.language)
    with translation.override(language):
        page = render(request, "dashboard/notices/mute.html", context)
    return uncached(page, {"Content-Language": language})
