"""The service worker, and the page on which a mail's reader stops mails of its kind. The link is the permission."""

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
from gateway.core.web.pages import count_visit, too_many, uncached
from notices.choices import Member
from notices.mails import mute, muted_by
from notices.states import Kind

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


@require_http_methods(["GET", "HEAD", "POST"])
def mute_notices(request: HttpRequest, token: str) -> HttpResponse:
    """Show what a link stops, with a button; a POST stops it, of the page or of a mail program (RFC 8058).

    A GET changes nothing: programs that look for viruses open links. Raises Http404 for a link that we did not make.
    """
    try:
        count_visit(request, MUTE, token)
    except errors.RateLimitError as error:
        return too_many(request, error)
    found = muted_by(token)
    if found is None:
        raise Http404
    member, kinds = found
    if request.method == "POST":
        mute(member, kinds)
    return _page(request, member, kinds, is_done=request.method == "POST" or not kinds)


def _page(request: HttpRequest, member: Member, kinds: list[Kind], *, is_done: bool) -> HttpResponse:
    """Return the page. It shows the merchant and the kinds, which the mail says too, and nothing of the person."""
    merchant = member.seat.merchant
    context = {
        "is_done": is_done,
        "kinds": [kind.label for kind in kinds],
        "merchant_name": merchant.name,
        "choices": reverse("dashboard_notices", kwargs={"mer_id": merchant.public_id, "mode": str(member.mode)}),
    }
    with translation.override(mail_language(member.seat.user.language)):
        return uncached(render(request, "dashboard/notices/mute.html", context))
