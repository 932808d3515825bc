"""The public pages of links; services decide."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language
from django.views.decorators.http import require_http_methods, require_safe

from accounts.brand.facts import with_brand
from checkouts.models import Checkout
from checkouts.page.choice import apply_choice
from checkouts.payloads import checkout_url
from gateway.core.api import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.web.compact import compact_page
from gateway.core.web.languages import keep_language
from gateway.core.web.middleware import PermanentRedirect
from gateway.core.web.pages import count_visit, too_many, uncached
from links.models import EMAIL_LENGTH, PaymentLink, Subscription
from links.page.build import LinkPage, LinkStage, PaymentProblem, build_link_page
from links.page.payment import NotPayableError, PayIntent, begun_checkout, parse_donation, pay
from links.selectors import kept_checkout
from links.states import LinkType
from links.subscriptions.service import stop_reminders
from links.tokens import StaleFormError, form_name, link_url, new_form, subscription_id_of
from mails.addresses import writable

# Limits per client for one link, and for all links.
PAGE = Limit("link.page", 60)
PAY = Limit("link.pay", 20)
PAY_ANYWHERE = Limit("link.pay.anywhere", 60)


@dataclass(frozen=True, slots=True)
class _Visit:
    """A request for a link's page; `subscription` is the owner of a personal page."""

    request: HttpRequest
    link: PaymentLink
    subscription: Subscription | None


@compact_page
@require_http_methods(["GET", "HEAD", "POST"])
def link_page(request: HttpRequest, code: str, token: str = "") -> HttpResponse:
    """Show a link to a payer; a POST is its Pay button. Raises Http404 for an unknown link.

    A GET creates nothing: robots and previews follow links.
    """
    link = _link(code)
    visit = _Visit(request, link, _subscription(link, token) if token else None)
    try:
        _count(request, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    if request.method != "POST":
        return _show(visit)
    if visit.subscription and "stop" in request.POST:
        return _stop(visit, visit.subscription)
    return _pay(visit)


@require_safe
def old_page(request: HttpRequest, code: str) -> HttpResponse:
    """Redirect an old path to the current one. Raises Http404."""
    query = request.META.get("QUERY_STRING", "")
    suffix = f"?{query}" if query else ""
    if PaymentLink.objects.filter(code=code).exists():
        return PermanentRedirect(link_url(code) + suffix)
    if Checkout.objects.filter(code=code).exists():
        return PermanentRedirect(checkout_url(code) + suffix)
    raise Http404


def _link(code: str) -> PaymentLink:
    try:
        return with_brand(PaymentLink.objects.all()).get(code=code)
    except PaymentLink.DoesNotExist:
        raise Http404 from None


def _subscription(link: PaymentLink, token: str) -> Subscription:
    public_id = subscription_id_of(token)
    found = Subscription.objects.filter(link=link, public_id=public_id).first()
    if found is None:
        raise Http404
    return found


def _count(request: HttpRequest, code: str) -> None:
    if request.method != "POST":
        count_visit(request, PAGE, code)
        return
    count_visit(request, PAY, code)
    count_visit(request, PAY_ANYWHERE, "")


def _pay(visit: _Visit) -> HttpResponse:
    try:
        intent = _intent(visit)
        code = pay(visit.link.pk, intent, now=timezone.now())
    except NotPayableError:
        return _show(_Visit(visit.request, _link(visit.link.code), visit.subscription))
    except StaleFormError:
        return _show(visit, PaymentProblem.STALE, status=400)
    except errors.InvalidRequestError:
        # A fixed price may be worth too little or too much, once it is converted.
        if visit.link.type == LinkType.DONATION:
            return _show(visit, PaymentProblem.AMOUNT, status=400)
        return _show(visit, PaymentProblem.UNAVAILABLE, status=409)
    except (errors.ConflictError, errors.UnavailableError):
        return _show(visit, PaymentProblem.UNAVAILABLE, status=409)
    # The payment goes on without an address that cannot be written to; the checkout's page says so.
    query = _choice(visit, code)
    if _typed_email(visit) and not intent.email:
        query["notice"] = "email"
    address = _checkout_address(code) + (f"?{urlencode(query)}" if query else "")
    return _see_other(keep_language(address, visit.request))


def _choice(visit: _Visit, code: str) -> dict[str, str]:
    """Apply the network that the payer pressed, if any, to the checkout; return the query string that shows it."""
    chain = visit.request.POST.get("chain", "")
    if not chain:
        return {}
    checkout = Checkout.objects.get(code=code)
    try:
        return apply_choice(visit.request, checkout, chain=chain, token="")
    except errors.RateLimitError:
        # The page asks again before it reserves an amount.
        return {"chain": chain}


def _intent(visit: _Visit) -> PayIntent:
    """Parse the form. Raises StaleFormError, InvalidRequestError for the amount."""
    sent = visit.request.POST
    link = visit.link
    form = form_name(sent.get("form", ""), link.code)
    amount = None
    if link.type == LinkType.DONATION:
        amount = parse_donation(sent.get("amount", ""), link)
    return PayIntent(form=form, amount=amount, email=writable(_typed_email(visit)), subscription=visit.subscription)


def _typed_email(visit: _Visit) -> str:
    """Return what a new subscriber typed."""
    is_new = visit.link.type == LinkType.SUBSCRIPTION and visit.subscription is None
    return visit.request.POST.get("email", "").strip() if is_new else ""


def _checkout_address(code: str) -> str:
    if settings.LINK_HOST == settings.CHECKOUT_HOST:
        return reverse("checkout", args=[code])
    return checkout_url(code)


def _receipt_url(request: HttpRequest, page: LinkPage) -> str:
    if not page.receipt_code:
        return ""
    return keep_language(f"{_checkout_address(page.receipt_code)}/receipt", request)


def _stop(visit: _Visit, subscription: Subscription) -> HttpResponse:
    stop_reminders(subscription)
    return _see_other(keep_language(visit.request.path, visit.request))


def _see_other(address: str) -> HttpResponse:
    return uncached(HttpResponse(status=303), {"Location": address})


def _show(visit: _Visit, problem: PaymentProblem = PaymentProblem.NONE, *, status: int = 200) -> HttpResponse:
    page = build_link_page(visit.link, subscription=visit.subscription, now=timezone.now())
    if page.stage == LinkStage.OPEN and (kept := kept_checkout(visit.link)):
        return _see_other(keep_language(_checkout_address(kept.code), visit.request))
    if page.stage == LinkStage.UNPRICED and (begun := begun_checkout(visit.link, visit.subscription)):
        return _see_other(keep_language(_checkout_address(begun.code), visit.request))
    if page.stage == LinkStage.ARCHIVED:
        status = 410
    etag = f'"{page.digest()}-{get_language()}-{settings.SERVICE_VERSION}"'
    # An open page asks by its version whether its payment still stands.
    if visit.request.method != "POST" and get_conditional_response(visit.request, etag=etag) is not None:
        return uncached(HttpResponseNotModified(), {"ETag": etag})
    context = _context(visit, page, problem) | {"version": etag.strip('"')}
    is_open = page.stage == LinkStage.OPEN
    template = "links/page.html" if is_open else "links/closed.html"
    return uncached(render(visit.request, template, context, status=status), {"ETag": etag})


def _context(visit: _Visit, page: LinkPage, problem: PaymentProblem) -> dict[str, Any]:
    typed = visit.request.POST.get("amount", "") or page.typed_amount
    return {
        "page": page,
        "problem": problem,
        "form": new_form(visit.link.code),
        "typed_amount": typed[:20],
        "receipt_url": _receipt_url(visit.request, page),
        "typed_email": visit.request.POST.get("email", "")[:EMAIL_LENGTH],
    }
