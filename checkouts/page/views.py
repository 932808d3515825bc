"""The hosted checkout page, its status, and what it asks for if the browser has a wallet.

Views read the clock and translate; `checkouts.page.build` decides.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import wraps
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.brand.facts import with_brand
from accounts.states import Mode
from checkouts.amounts import price_of
from checkouts.creation.service import begin_again
from checkouts.lifecycle.signed_receipts import FILE_NAME, MEDIA_TYPE, receipt_status, signed_receipt
from checkouts.models import Checkout
from checkouts.options import may_begin_again, takes_money
from checkouts.page.build import Conditions, build_page, doubt_of
from checkouts.page.choice import apply_choice, is_from_our_page
from checkouts.page.limits import STATUS, count_search
from checkouts.page.mailing import can_mail, mail_page
from checkouts.page.news import empty_gas, read_news, unheard_by_shop, unused_signature
from checkouts.page.qr import qr_code, qr_svg
from checkouts.page.receipt_facts import receipt_facts
from checkouts.page.state import CheckoutPage, PageNews, PageQuery, Stage, clock_of
from checkouts.page.transactions import parse_signed, prepare_transaction, send_signed
from checkouts.payloads import remaining_units
from checkouts.rescue.answers import UNREADABLE, answer_for
from checkouts.rescue.service import look_into
from checkouts.reservations import is_exhausted
from checkouts.rows import TransferRow, credited_transfers
from checkouts.selectors import has_late_money, keeping_money_before, reserved_amount, successor_code
from gateway.core import json
from gateway.core.api import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.api.wire import JsonParser
from gateway.core.web.compact import compact_page
from gateway.core.web.languages import asked_language, keep_language
from gateway.core.web.pages import count_visit, too_many, uncached
from wallets.chains.ton.relay import WalletBridge, open_relay
from wallets.disruptions import worst_by_chain
from wallets.lookup import UnreadableHashError
from wallets.networks import chain_spec
from wallets.selectors import transfer_fees

WALLETS = Limit("checkout.wallets", 60)
# Each costs our nodes two requests: limits per client for one checkout, and for all.
TRANSACTION = Limit("checkout.transaction", 10)
TRANSACTION_ANYWHERE = Limit("checkout.transaction.anywhere", 30)

# Each may cost our gas account a transaction.
FREE = Limit("checkout.free", 5)
FREE_IN_AN_HOUR = Limit("checkout.free.hour", 30, seconds=3_600)

_MOST_BYTES = 4096

# How long a browser keeps the words that pages show without a connection.
_OFFLINE_SECONDS = 3_600

PageView = Callable[[HttpRequest, str], HttpResponse]

PAGE = Limit("checkout.page", 60)
RECEIPT_STATUS = Limit("receipt.status", 60)
MAIL = Limit("checkout.mail", 5)
CHOOSE = Limit("checkout.choose", 60)
AGAIN = Limit("checkout.again", 10)
# The buyer's choice, and how much of a typed text is kept.
_CHOICE = ("chain", "token")
_LONGEST_TYPED = 300
_NOTHING: Mapping[str, str] = MappingProxyType({})
# A reload of a form's result requests it by GET, and is redirected to the page.
_FORM = require_http_methods(["GET", "HEAD", "POST"])


def find_checkout(code: str) -> Checkout:
    """Return the checkout of a page code, its merchant and brand loaded. Raises Http404."""
    try:
        return with_brand(Checkout.objects.all()).get(code=code)
    except Checkout.DoesNotExist:
        raise Http404 from None


def asked_page(
    request: HttpRequest, checkout: Checkout, now: datetime, *, asked: Mapping[str, str] | None = None
) -> CheckoutPage:
    """Build the page as of `now`, with the choice and the answer named by `asked`, the query string."""
    asked = request.GET if asked is None else asked
    found = asked.get("found", "")
    transfers = credited_transfers([checkout.pk]).get(checkout.pk, [])
    news = read_news(checkout)
    answer = answer_for(found, checkout, transfers, news.told)
    # A buyer who asked about a payment sees its network, or else the one that they had chosen.
    paid_on = answer.chain if answer and answer.chain in checkout.offers else ""
    conditions = _conditions(checkout, transfers, news, now)
    page = build_page(
        checkout,
        transfers=transfers,
        choice=PageQuery(
            chain=paid_on or asked.get("chain", ""), token=asked.get("token", ""), language=asked_language(request)
        ),
        conditions=conditions,
        now=now,
        answer=answer,
    )
    return replace(
        page,
        is_hash_unreadable=found == UNREADABLE,
        is_mailable=can_mail(checkout, now=now),
        doubt=doubt_of(transfers, conditions),
        unused=unused_signature(page, now=now),
        gas=empty_gas(page),
        unheard=unheard_by_shop(page),
    )


def _conditions(checkout: Checkout, transfers: Sequence[TransferRow], news: PageNews, now: datetime) -> Conditions:
    if not takes_money(checkout, now=now):
        is_doubted = any(row.is_doubted for row in transfers)
        return Conditions(news=news, disruptions=worst_by_chain(now=now) if is_doubted else {})
    # Simulated money does not depend on the chains' state.
    is_live = checkout.mode == Mode.LIVE
    disruptions = worst_by_chain(now=now) if is_live else {}
    fees = transfer_fees() if is_live else {}
    reserved = reserved_amount(checkout, now=now)
    price = price_of(remaining_units(checkout))
    is_full = reserved is None and is_exhausted(
        checkout.merchant_id, Mode(checkout.mode), price, now=now, for_links=checkout.is_from_link
    )
    return Conditions(reserved=reserved, is_full=is_full, disruptions=disruptions, fees=fees, news=news)


def json_answer(body: dict[str, Any], status: int = 200) -> HttpResponse:
    """Return a JSON response that must not be cached."""
    answer = HttpResponse(json.dumps(body), status=status, content_type="application/json")
    return uncached(answer)


def error_answer(error: errors.GatewayError) -> HttpResponse:
    """Return an error in the API's format."""
    return uncached(json_answer(error.body(), error.status), error.headers())


@compact_page
@require_safe
def wallet_buttons(request: HttpRequest, code: str) -> HttpResponse:
    """Show the part of the page with a button for each wallet; empty if wallets cannot pay. Raises Http404."""
    checkout = find_checkout(code)
    try:
        count_visit(request, WALLETS, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    page = asked_page(request, checkout, timezone.now())
    payment = page.target.payment if page.target else None
    words = {"page": page, "payment": payment, "wallet": payment.wallet if payment else None, "relay": _relay(page)}
    return uncached(render(request, "checkouts/_wallets.html", words))


def _answers_json(view: Callable[[HttpRequest, str], dict[str, Any]]) -> PageView:
    """Decorate a view: its result or error is JSON, for our own pages only."""

    @require_POST
    @wraps(view)
    def answer(request: HttpRequest, code: str) -> HttpResponse:
        try:
            _count(request, code)
            return json_answer(view(request, code))
        except Http404:
            return error_answer(errors.NotFoundError("There is no such checkout."))
        except errors.GatewayError as error:
            return error_answer(error)

    return answer


@_answers_json
def transaction(request: HttpRequest, code: str) -> dict[str, Any]:
    """Prepare the payment of `{chain, account}` for the buyer's wallet to sign, with `free: true` for us to send."""
    checkout, body = find_checkout(code), _body(request)
    if body.get("free"):
        count_visit(request, FREE, "")
        count_visit(request, FREE_IN_AN_HOUR, "")
    return prepare_transaction(checkout, body, now=timezone.now())


@_answers_json
def signed_transaction(request: HttpRequest, code: str) -> dict[str, Any]:
    """Send the transaction that the buyer's wallet signed, from `{ticket, signature}`."""
    checkout, signed = find_checkout(code), parse_signed(_body(request))
    return send_signed(checkout, signed, now=timezone.now())


def _count(request: HttpRequest, code: str) -> None:
    if not is_from_our_page(request):
        raise errors.RoleError("Only the checkout's own page may ask for this.")
    count_visit(request, TRANSACTION, code)
    count_visit(request, TRANSACTION_ANYWHERE, "")


def _body(request: HttpRequest) -> Mapping[str, Any]:
    """Read a JSON object. Other sites' pages cannot send its media type without a preflight."""
    if request.content_type != "application/json":
        raise errors.MediaTypeError("Send application/json.")
    if len(request.body) > _MOST_BYTES:
        raise errors.BodyTooLargeError("The body is too large.")
    return JsonParser().parse(request)


@compact_page
@require_safe
def checkout_page(request: HttpRequest, code: str) -> HttpResponse:
    """Show a checkout to its buyer. Raises Http404 for an unknown code."""
    checkout = find_checkout(code)
    try:
        count_visit(request, PAGE, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    now = timezone.now()
    page = asked_page(request, checkout, now)
    return _shown(request, _context(page, now))


@compact_page
@require_safe
def offline_notice(request: HttpRequest) -> HttpResponse:
    """Show what a page says once it has no connection. It asks for this while it has one."""
    answer = render(request, "checkouts/_offline.html")
    answer["Cache-Control"] = f"public, max-age={_OFFLINE_SECONDS}"
    return answer


@compact_page
@require_safe
def page_qr(request: HttpRequest, code: str) -> HttpResponse:
    """Draw the QR code of the page's own address with the choice, for the buyer's phone. Raises Http404 where nothing can be paid."""
    checkout = find_checkout(code)
    try:
        count_visit(request, PAGE, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    page = asked_page(request, checkout, timezone.now())
    payment = page.target.payment if page.target else None
    if payment is None:
        raise Http404
    return uncached(HttpResponse(qr_svg(payment.page_url), content_type="image/svg+xml"))


@_FORM
def choose_network(request: HttpRequest, code: str) -> HttpResponse:
    """Apply the buyer's choice of a token and a network: reserve an exact amount if needed, and redirect to the page.

    A buyer's reservation needs this POST, because robots and previews follow links. Raises Http404.
    """
    checkout = find_checkout(code)
    if request.method != "POST":
        return _see_page(request, code)
    chain, token = request.POST.get("chain", ""), request.POST.get("token", "")
    try:
        count_visit(request, CHOOSE, code)
        query = apply_choice(request, checkout, chain=chain, token=token)
    except errors.RateLimitError as error:
        return too_many(request, error)
    return _see_page(request, code, query)


@_FORM
def try_again(request: HttpRequest, code: str) -> HttpResponse:
    """Renew an expired checkout if its merchant allows it, and redirect there, or to an earlier try whose money is here.

    Raises Http404.
    """
    checkout = find_checkout(code)
    if request.method != "POST":
        return _see_page(request, code)
    try:
        count_visit(request, AGAIN, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    is_taken = has_late_money(checkout) or bool(successor_code(checkout))
    may_begin = may_begin_again(checkout) and not is_taken
    if not may_begin or not is_from_our_page(request):
        return _see_page(request, code)
    if kept := keeping_money_before(checkout):
        # Its page says what becomes of the money: another try would ask for the price twice.
        return _see_page(request, kept.code)
    try:
        fresh = begin_again(checkout, now=timezone.now())
    except (errors.ConflictError, errors.InvalidRequestError, errors.UnavailableError) as error:
        return _cannot_begin(request, checkout, error)
    return _see_page(request, fresh.code)


def _cannot_begin(request: HttpRequest, checkout: Checkout, error: errors.GatewayError) -> HttpResponse:
    words = {"merchant": checkout.merchant.shown_name, "code": error.code}
    return uncached(render(request, "409.html", words, status=409))


@compact_page
@require_safe
def checkout_receipt(request: HttpRequest, code: str) -> HttpResponse:
    """Show the receipt of a paid checkout, or that it is withdrawn; others redirect to their page. Raises Http404."""
    checkout = find_checkout(code)
    try:
        count_visit(request, PAGE, code)
    except errors.RateLimitError as error:
        return too_many(request, error)
    now = timezone.now()
    page = asked_page(request, checkout, now)
    if not page.is_completed:
        return _see_page(request, code)
    # Whoever scans it checks the receipt in their own browser. The code stays there: a fragment is not sent.
    proof_url = f"{settings.CHECKOUT_HOST}{reverse('verify')}#{code}"
    words = _context(page, now) | {"facts": receipt_facts(checkout), "proof": qr_code(proof_url)}
    return uncached(render(request, "checkouts/receipt.html", words))


@require_safe
def receipt_file(request: HttpRequest, code: str) -> HttpResponse:
    """Send the signed receipt of a paid checkout, or the API's error."""
    try:
        checkout = find_checkout(code)
        count_visit(request, PAGE, code)
        token = signed_receipt(checkout, now=timezone.now())
    except Http404:
        return error_answer(errors.NotFoundError("There is no such checkout."))
    except errors.GatewayError as error:
        return error_answer(error)
    answer = HttpResponse(token, content_type=MEDIA_TYPE)
    return uncached(answer, {"Content-Disposition": f'attachment; filename="{FILE_NAME}"'})


@require_safe
def status_of_receipt(request: HttpRequest, jti: str) -> HttpResponse:
    """Answer what became of the payment of a signed receipt, to whoever has it, or the API's error."""
    try:
        count_visit(request, RECEIPT_STATUS, "")
        answer = json_answer(receipt_status(jti, now=timezone.now()))
    except errors.GatewayError as error:
        answer = error_answer(error)
    return uncached(answer, {"Access-Control-Allow-Origin": "*"})


@_FORM
def find_payment(request: HttpRequest, code: str) -> HttpResponse:
    """Look up a transaction that a buyer reports as payment, record it, and redirect to the page with the answer.

    Raises Http404.
    """
    checkout = find_checkout(code)
    if request.method != "POST" or not is_from_our_page(request):
        return _see_page(request, code)
    try:
        count_search(request, code)
        report = look_into(checkout, request.POST.get("tx", ""), now=timezone.now())
    except UnreadableHashError:
        return _typed_again(request, checkout, asked={"found": UNREADABLE}, status=400)
    except errors.RateLimitError as error:
        return _search_later(request, checkout, error)
    return _see_page(request, report.checkout.code, {"found": report.tx_hash} | _kept_choice(request))


@_FORM
def mail_address(request: HttpRequest, code: str) -> HttpResponse:
    """Mail the page's address to whoever the buyer names, and redirect to the page, which says so. Raises Http404."""
    checkout = find_checkout(code)
    if request.method != "POST" or not is_from_our_page(request):
        return _see_page(request, code)
    try:
        count_visit(request, MAIL, code)
        language = get_language() or settings.LANGUAGE_CODE
        is_sent = mail_page(request, checkout, request.POST.get("email", ""), language=language, now=timezone.now())
    except errors.RateLimitError as error:
        return too_many(request, error)
    # The address never appears in a URL.
    return _see_page(request, code, _kept_choice(request) | {"notice": "mailed" if is_sent else "not-mailed"})


def _kept_choice(request: HttpRequest) -> dict[str, str]:
    return {name: request.POST[name] for name in _CHOICE if request.POST.get(name)}


def _search_later(request: HttpRequest, checkout: Checkout, error: errors.RateLimitError) -> HttpResponse:
    try:
        # The page costs more than a refusal.
        count_visit(request, PAGE, checkout.code)
    except errors.RateLimitError:
        return too_many(request, error)
    answer = _typed_again(request, checkout, search_wait=error.retry_after, status=error.status)
    return uncached(answer, error.headers())


def _typed_again(
    request: HttpRequest, checkout: Checkout, *, status: int, asked: Mapping[str, str] = _NOTHING, search_wait: int = 0
) -> HttpResponse:
    """Show the page with the typed text and what is wrong: that it is no hash, or how many seconds to wait.

    The text never appears in a URL, because it may be a secret.
    """
    asked = dict(asked) | _kept_choice(request)
    now = timezone.now()
    page = asked_page(request, checkout, now, asked=asked)
    context = _context(page, now) | {
        "typed_hash": request.POST.get("tx", "")[:_LONGEST_TYPED],
        "search_wait": search_wait,
        "page_address": _page_address(request, checkout.code, asked),
    }
    return _shown(request, context, status=status)


def _shown(request: HttpRequest, context: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    """Render the page; where it offers wallets behind a relay, its policy allows that one origin more."""
    response = uncached(render(request, "checkouts/page.html", dict(context), status=status))
    if relay := context["relay"]:
        response._csp_update = {"connect-src": [relay.origin]}  # type: ignore[attr-defined]  # noqa: SLF001 - what `csp_update` sets
    return response


def _relay(page: CheckoutPage) -> WalletBridge | None:
    """Return the relay to wallets of a page's networks; the page may change to each of them without being loaded again."""
    if not settings.TON_CONNECT_RELAY or page.is_test or not page.is_payable:
        return None
    specs = [chain_spec(card.chain) for card in page.networks]
    if not any(spec.family.relays_wallets and spec.family.wallets_chain_id(spec) for spec in specs):
        return None
    return open_relay(settings.TON_CONNECT_RELAY, settings.TON_CONNECT_RELAY_WALLETS)


def _see_page(request: HttpRequest, code: str, query: dict[str, str] | None = None) -> HttpResponse:
    location = _page_address(request, code, query)
    return uncached(HttpResponse(status=303), {"Location": location})


def _page_address(request: HttpRequest, code: str, query: dict[str, str] | None = None) -> str:
    address = reverse("checkout", args=[code])
    if query:
        address += f"?{urlencode(query)}"
    return keep_language(address, request)


@compact_page
@require_safe
def checkout_status(request: HttpRequest, code: str) -> HttpResponse:
    """Answer `{status, panel}` for polling, or 304 while the page looks the same."""
    try:
        checkout = find_checkout(code)
        count_visit(request, STATUS, code)
    except Http404:
        return error_answer(errors.NotFoundError("There is no such checkout."))
    except errors.RateLimitError as error:
        return error_answer(error)
    now = timezone.now()
    page = asked_page(request, checkout, now)
    # A page that was open before the payment leads back to the shop, however late it learns of it.
    page = replace(page, is_just_paid=page.is_completed and not _shows_completed(request))
    etag = f'"{_version(page)}"'
    if get_conditional_response(request, etag=etag) is not None:
        return uncached(HttpResponseNotModified(), {"ETag": etag})
    return uncached(json_answer(_status_body(request, page, now)), {"ETag": etag})


@require_safe
def no_stream(request: HttpRequest, code: str) -> HttpResponse:
    """Answer 204 where no proxy routes this path to the stream server, so that browsers stop reconnecting and the page polls."""
    del request, code
    return uncached(HttpResponse(status=204))


def _context(page: CheckoutPage, now: datetime) -> dict[str, Any]:
    payment = page.target.payment if page.target else None
    return {
        "page": page,
        "version": _version(page),
        "clock": clock_of(page, now=now),
        "stream_url": settings.STREAM_URL + reverse("checkout-stream", args=[page.code]),
        "qr": qr_code(payment.qr_text) if payment else None,
        "relay": _relay(page),
        "signs_receipts": bool(settings.ENCRYPTION_KEYS),
    }


def _version(page: CheckoutPage) -> str:
    """Return the ETag's version: it names the stage, and differs by language, and with each release."""
    return f"{page.stage}-{page.digest()}-{get_language()}-{settings.SERVICE_VERSION}"


def _shows_completed(request: HttpRequest) -> bool:
    """Return whether the asking page shows the payment already, by the version that it sends."""
    return f'"{Stage.COMPLETED}-' in request.headers.get("If-None-Match", "")


def _status_body(request: HttpRequest, page: CheckoutPage, now: datetime) -> dict[str, Any]:
    return {"status": page.status, "panel": render_to_string("checkouts/_panel.html", _context(page, now), request)}
