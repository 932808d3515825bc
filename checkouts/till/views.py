"""The till's pages for a paired device: keypad, one sale, its own latest sales, its day.

A device sees its own sales alone, and can do nothing but sell and cancel what nobody has paid.
"""

from typing import Any, Final, cast
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe

from accounts.brand.facts import brand_of
from accounts.errors import LockedError
from accounts.login.devices import device_name
from accounts.merchants.time_zones import zone_of
from accounts.states import Mode
from checkouts.errors import MailLimitError
from checkouts.models import Terminal, TerminalSale
from checkouts.page.choice import apply_choice
from checkouts.page.qr import qr_code
from checkouts.page.state import CheckoutPage, clock_of
from checkouts.page.views import asked_page, find_checkout, json_answer
from checkouts.payloads import checkout_url
from checkouts.till.days import day_of_terminal, shown_sales
from checkouts.till.device import TillRequest, at_terminal, idle_seconds, keep, locked, not_paired, till_page
from checkouts.till.pairing import PairingError, pair, unlock
from checkouts.till.service import (
    LATEST,
    TerminalGoneError,
    cancel_sale,
    latest_sales,
    mail_sale,
    parse_press,
    sale_of,
    sell,
)
from gateway.core.api import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.currencies import DECIMALS, USD, readable_price
from gateway.core.ids import new_code
from gateway.core.times import today_in
from gateway.core.web.client_address import address_or_none
from gateway.core.web.pages import count_client, count_visit, manifest, too_many
from rates.errors import RateUnavailableError

# Guesses of codes by one client: of 40 random bits that live for ten minutes.
PAIR: Final = Limit("till.pair", 10)
PAIR_IN_AN_HOUR: Final = Limit("till.pair.hour", 60, seconds=3_600)
SALE: Final = Limit("till.sale", 60)
# Each keeps one of a price's amounts for days: a stolen device shall not take them all.
EXACT_IN_AN_HOUR: Final = Limit("till.exact.hour", 600, seconds=3_600)

_WRONG_CODE: Final = "This code does not work. It may be mistyped, used, or older than ten minutes. Ask for a new one."
_NO_RATE: Final = "There is no rate for {} now, so nothing was charged. Try again in a minute."
# On the keypad: a dollar amount has seven before the point; a million dollars in the smallest unit of a currency has eleven.
_MOST_DIGITS: Final = 9
_MOST_FOREIGN_DIGITS: Final = 13
_WRONG_PIN: Final = "This PIN is wrong. Type it again, or ask your manager."
_PROBLEMS: Final = {
    "receiving_wallet_missing": "This shop has no wallet to be paid to yet. Ask your manager.",
    "capacity_exhausted": "No more sales of exactly this amount can be open now. Change it by a cent.",
}


@till_page("GET", "POST")
@sensitive_post_parameters("code")
def pairing(request: HttpRequest) -> HttpResponse:
    """Show the form for a code, or pair this device by it. The code of a QR is behind the address's `#`, so no log has it."""
    if request.method != "POST":
        return not_paired(request, status=200)
    try:
        count_visit(request, PAIR, "")
        count_visit(request, PAIR_IN_AN_HOUR, "")
        agent = device_name(request.headers.get("User-Agent", "")) or "A browser"
        _, token = pair(
            request.POST.get("code", ""), device=agent, address=address_or_none(request), now=timezone.now()
        )
    except errors.RateLimitError as error:
        return too_many(request, error)
    except PairingError:
        return not_paired(request, problem=_WRONG_CODE, status=422)
    return keep(HttpResponseRedirect(reverse("till")), token)


@at_terminal("GET", "POST", unlocks=True)
@sensitive_post_parameters("pin")
def unlocking(request: TillRequest) -> HttpResponse:
    """Take the PIN of an idle device, and lead to the keypad. A reload of the answer leads there, too."""
    if request.method == "POST" and request.terminal.pin_hash:
        try:
            if not unlock(request.terminal, request.POST.get("pin", "")[:20], now=timezone.now()):
                return locked(request, problem=_WRONG_PIN, status=422)
        except errors.RateLimitError as error:
            return too_many(request, error)
        except LockedError as error:
            wait = f"Too many wrong PINs. Wait {error.minutes} min, or ask your manager to pair this device again."
            return locked(request, problem=wait, status=429)
    return HttpResponse(status=303, headers={"Location": reverse("till")})


@at_terminal("GET", "POST")
def keypad(request: TillRequest) -> HttpResponse:
    """Show the keypad; a POST charges what was typed, and leads to the sale."""
    if request.method != "POST":
        # Browsers forget a cookie after 400 days: a device in use goes on.
        return keep(_keypad(request), request.COOKIES[settings.TILL_COOKIE_NAME])
    sent, terminal = request.POST, request.terminal
    try:
        count_client("any", SALE, terminal.public_id)
        currency = sent.get("currency", USD)
        press = parse_press(
            sent.get("form", ""), sent.get("amount", ""), sent.get("tip", ""), terminal, currency=currency
        )
        made = sell(terminal.pk, press, now=timezone.now())
    except errors.RateLimitError as error:
        return too_many(request, error)
    except TerminalGoneError:
        return not_paired(request)
    except errors.InvalidRequestError as error:
        # A number that was typed in one currency is never offered in another.
        keeps = error.param != "currency"
        return _keypad(request, problem=_words(error, terminal), status=422, keeps_amount=keeps)
    except errors.ConflictError as error:
        return _keypad(request, problem=_PROBLEMS.get(error.code, error.message), status=409)
    except RateUnavailableError:
        return _keypad(request, problem=_NO_RATE.format(terminal.currency), status=503)
    # The terminal's network first, if it has one that is offered.
    query = _chosen(request, made, chain=terminal.chain, token="") if terminal.chain else ""
    return _to_sale(made, query)


def _words(error: errors.InvalidRequestError, terminal: Terminal) -> str:
    if error.code == "currency_unsupported":
        return f"Prices in {terminal.currency} are not taken any more. Ask your manager."
    return f"The {error.message}" if error.message.startswith(("amount ", "tip ")) else error.message


def _chosen(request: TillRequest, sale: TerminalSale, *, chain: str, token: str) -> str:
    """Apply a choice of network and token, and reserve the exact amount if needed; return the query string that shows it."""
    try:
        checkout = find_checkout(sale.checkout.code)
        # Not counted by its address: all terminals of a shop may have one.
        asked = apply_choice(request, checkout, chain=chain, token=token, count=_count_exact)
    except errors.RateLimitError:
        # The network's card asks again.
        asked = {"chain": chain}
    return f"?{urlencode(asked)}" if asked else ""


def _count_exact(request: HttpRequest, merchant_id: int) -> None:
    del merchant_id
    count_client("any", EXACT_IN_AN_HOUR, cast("TillRequest", request).terminal.public_id)


def _to_sale(sale: TerminalSale, query: str = "") -> HttpResponse:
    address = reverse("till_sale", kwargs={"checkout_id": sale.checkout.public_id})
    return HttpResponse(status=303, headers={"Location": address + query})


def _keypad(request: TillRequest, *, problem: str = "", status: int = 200, keeps_amount: bool = True) -> HttpResponse:
    terminal = request.terminal
    context = _frame(request) | {
        "problem": problem,
        "form": new_code(),
        "tips": [0, *terminal.tips] if terminal.tips else [],
        "typed": request.POST.get("amount", "")[:20] if keeps_amount else "",
        "decimals": DECIMALS.get(terminal.currency, 2),
        "most_digits": _MOST_DIGITS if terminal.currency == USD else _MOST_FOREIGN_DIGITS,
        "chosen_tip": request.POST.get("tip", "") or "0",
    }
    return render(request, "dashboard/checkouts/till/keypad.html", context, status=status)


def _frame(request: TillRequest) -> dict[str, Any]:
    """Return what each page of the device shows: the shop's and the terminal's names, and the mode."""
    terminal = request.terminal
    return {
        "terminal": terminal,
        "shop": brand_of(terminal.merchant).name,
        "is_test": terminal.mode == Mode.TEST,
        "idle_seconds": idle_seconds(terminal),
    }


@at_terminal("GET")
def sales(request: TillRequest) -> HttpResponse:
    """List the device's own newest sales."""
    context = _frame(request) | {"sales": shown_sales(latest_sales(request.terminal)), "most": LATEST}
    return render(request, "dashboard/checkouts/till/sales.html", context)


@at_terminal("GET")
def day(request: TillRequest) -> HttpResponse:
    """Show today's sheet, if the merchant lets the device show it. Raises Http404."""
    terminal = request.terminal
    if not terminal.shows_day:
        raise Http404
    zone = zone_of(terminal.merchant)
    context = _frame(request) | {"day": day_of_terminal(terminal, today_in(zone, now=timezone.now()), zone)}
    return render(request, "dashboard/checkouts/till/day.html", context)


@at_terminal("GET")
def sale(request: TillRequest, checkout_id: str) -> HttpResponse:
    """Show one of the device's own sales: its code, or how it ended. Raises Http404."""
    context = _sale_context(request, _found(request, checkout_id)) | {"is_mailed": "mailed" in request.GET}
    return render(request, "dashboard/checkouts/till/sale.html", _frame(request) | context)


@at_terminal("GET", answers_json=True)
def sale_status(request: TillRequest, checkout_id: str) -> HttpResponse:
    """Answer `{status, panel}` for an open sale, or 304 while it looks the same; `unpaired` once the terminal is revoked. Raises Http404."""
    context = _sale_context(request, _found(request, checkout_id))
    etag = f'"{context["version"]}"'
    if get_conditional_response(request, etag=etag) is not None:
        response: HttpResponse = HttpResponseNotModified()
    else:
        panel = render_to_string("dashboard/checkouts/till/_sale.html", _frame(request) | context, request=request)
        response = json_answer({"status": context["page"].status, "panel": panel})
    response["ETag"] = etag
    return response


@at_terminal("GET", "POST")
def choose(request: TillRequest, checkout_id: str) -> HttpResponse:
    """Choose the network and the token of a sale's code; that of a followed link is its customer's. Raises Http404."""
    found = _found(request, checkout_id)
    if request.method != "POST":
        return _to_sale(found)
    if found.is_of_link:
        return _to_sale(found)
    sent = request.POST
    return _to_sale(found, _chosen(request, found, chain=sent.get("chain", ""), token=sent.get("token", "")))


@at_terminal("GET", "POST")
def cancel(request: TillRequest, checkout_id: str) -> HttpResponse:
    """Cancel a sale that nobody has paid. A reload of the answer leads to the sale. Raises Http404."""
    found = _found(request, checkout_id)
    if request.method != "POST":
        return _to_sale(found)
    try:
        cancel_sale(found, request.terminal, address=address_or_none(request), now=timezone.now())
    except errors.ConflictError as error:
        context = _sale_context(request, found) | {"problem": error.message}
        return render(request, "dashboard/checkouts/till/sale.html", _frame(request) | context, status=409)
    return HttpResponse(status=303, headers={"Location": reverse("till")})


@at_terminal("GET", "POST")
@sensitive_post_parameters("email")
def mail_receipt(request: TillRequest, checkout_id: str) -> HttpResponse:
    """Mail the receipt of a paid sale to the customer. A reload of the answer leads to the sale. Raises Http404."""
    found = _found(request, checkout_id)
    if request.method != "POST":
        return _to_sale(found)
    try:
        text, now = request.POST.get("email", ""), timezone.now()
        mail_sale(found, request.terminal, text, address=address_or_none(request), now=now)
    except errors.InvalidRequestError as error:
        return _unmailed(request, found, error.message, 422)
    except errors.ConflictError as error:
        return _unmailed(request, found, error.message, 409)
    except MailLimitError as error:
        return _unmailed(request, found, str(error), 429)
    return _to_sale(found, "?mailed=1")


def _unmailed(request: TillRequest, found: TerminalSale, problem: str, status: int) -> HttpResponse:
    context = _frame(request) | _sale_context(request, found) | {"problem": problem}
    return render(request, "dashboard/checkouts/till/sale.html", context, status=status)


def _found(request: TillRequest, checkout_id: str) -> TerminalSale:
    found = sale_of(request.terminal, checkout_id)
    if found is None:
        raise Http404
    return found


def _sale_context(request: TillRequest, found: TerminalSale) -> dict[str, Any]:
    now = timezone.now()
    checkout = find_checkout(found.checkout.code)
    # The customer of a followed link chooses on a page of their own. Its address opens what is theirs, so the device gets no code of it.
    choice = {} if found.is_of_link else _choice(request)
    page = asked_page(request, checkout, now, asked=choice)
    payment = page.target.payment if page.target else None
    # The code of the page is for a customer's own phone: it has wallets, languages and gas-free payments.
    shows_page = request.GET.get("code") == "page" or not choice
    text = checkout_url(checkout.code) if shows_page else payment.qr_text if payment else ""
    return {
        "page": page,
        "sale": found,
        **_network_rows(page, request.terminal, shows_page=shows_page),
        "tip": readable_price(found.tip, checkout.currency) if found.tip else "",
        "payment": payment,
        "shows_page": shows_page,
        **_codes(page, found, text),
        "clock": clock_of(page, now=now),
        "version": _version(page, shows_page),
    }


def _codes(page: CheckoutPage, found: TerminalSale, text: str) -> dict[str, Any]:
    """Return what leads to a sale's checkout: the code to pay, that of the receipt, and the stream; nothing for a followed link's."""
    if found.is_of_link:
        return {"qr": None, "receipt_qr": None, "stream_url": ""}
    code = found.checkout.code
    return {
        "qr": qr_code(text) if page.is_payable and text else None,
        "receipt_qr": qr_code(f"{checkout_url(code)}/receipt") if page.is_confirmed else None,
        "stream_url": settings.STREAM_URL + reverse("checkout-stream", args=[code]),
    }


def _network_rows(page: CheckoutPage, terminal: Terminal, *, shows_page: bool) -> dict[str, Any]:
    """Return the networks whose buttons stand in the row, and those behind \"Other network\"; the chosen one is in the row."""
    first = set(terminal.chains) & {card.chain for card in page.networks}
    if not first:
        return {"row": page.networks, "other_networks": ()}
    if page.target is not None and not shows_page:
        first.add(page.target.chain)
    row = [card for card in page.networks if card.chain in first]
    return {"row": row, "other_networks": [card for card in page.networks if card.chain not in first]}


def _choice(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET[name] for name in ("chain", "token") if request.GET.get(name)}


def _version(page: CheckoutPage, shows_page: bool) -> str:
    return f"{page.stage}-{page.digest()}-{int(shows_page)}-{settings.SERVICE_VERSION}"


@require_safe
def till_manifest(_request: HttpRequest) -> HttpResponse:
    """Return what a browser needs to put the till on a home screen."""
    return manifest(name="Florin till", short_name="Till", start=reverse("till"), scope=reverse("till"))
