"""The page behind a terminal's counter sign: a customer types the amount that they were told, and pays.

Anybody with the address can open it. A GET makes nothing, and each sale appears on the terminal.
"""

from dataclasses import dataclass
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from accounts.brand.facts import Brand, brand_of, with_brand
from accounts.states import Mode
from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.models import Terminal
from checkouts.payloads import checkout_url
from checkouts.till.service import Press, TerminalGoneError, check_currency, form_name, parse_amount, sell
from gateway.core.api import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.currencies import DECIMALS, USD
from gateway.core.ids import new_code
from gateway.core.web.compact import compact_page
from gateway.core.web.languages import keep_language
from gateway.core.web.pages import count_visit, too_many, uncached
from rates.errors import RateUnavailableError
from wallets.selectors import Offerable, offerable_chains

# Limits per client for one sign, and for all signs: those of payment links.
PAGE: Final = Limit("till.sign.page", 60)
PAY: Final = Limit("till.sign.pay", 20)
PAY_ANYWHERE: Final = Limit("till.sign.pay.anywhere", 60)


@dataclass(frozen=True, slots=True)
class SignPage:
    """What the page shows. Amounts are formatted.

    `least` and `most` are of an amount in USD. In another currency what it is worth is limited, and no figure is shown.
    """

    brand: Brand
    is_test: bool
    title: str
    currency: str
    accepted_tokens: tuple[str, ...]
    least: str = f"{MIN_AMOUNT:,.2f}"
    most: str = f"{MAX_AMOUNT:,.2f}"

    @property
    def merchant_name(self) -> str:
        """Return the merchant's name as buyers know it."""
        return self.brand.name

    @property
    def is_in_dollars(self) -> bool:
        """Return whether the amount is in USD."""
        return self.currency == USD

    @property
    def has_cents(self) -> bool:
        """Return whether amounts have decimals."""
        return DECIMALS.get(self.currency, 2) > 0

    @property
    def is_payable(self) -> bool:
        """Whether the merchant can be paid on any network now."""
        return bool(self.accepted_tokens)


@compact_page
@require_http_methods(["GET", "HEAD", "POST"])
def sign_page(request: HttpRequest, code: str) -> HttpResponse:
    """Show a counter sign's page; a POST makes a sale of the typed amount, and leads to its checkout. Raises Http404."""
    terminal = _terminal(code)
    try:
        count_visit(request, PAGE, code)
        if request.method != "POST":
            return _show(request, terminal)
        count_visit(request, PAY, code)
        count_visit(request, PAY_ANYWHERE, "")
    except errors.RateLimitError as error:
        return too_many(request, error)
    return _pay(request, terminal)


def _terminal(code: str) -> Terminal:
    open_ones = Terminal.objects.filter(has_sign=True, revoked_at=None, merchant__closed_at=None)
    found = with_brand(open_ones).filter(code=code).first()
    if found is None:
        raise Http404
    return found


def _pay(request: HttpRequest, terminal: Terminal) -> HttpResponse:
    sent = request.POST
    currency = sent.get("currency", USD)
    try:
        check_currency(currency, terminal)
        price = parse_amount(sent.get("amount", ""), currency)
        press = Press(form=form_name(sent.get("form", "")), price=price, is_by_customer=True, currency=currency)
        sale = sell(terminal.pk, press, now=timezone.now())
    except errors.InvalidRequestError as error:
        return _show(request, terminal, problem=_problem(error), status=400)
    except RateUnavailableError:
        return _show(request, terminal, problem="unavailable", status=503)
    except errors.ConflictError:
        return _show(request, terminal, problem="unavailable", status=409)
    except TerminalGoneError:
        raise Http404 from None
    location = keep_language(checkout_url(sale.checkout.code), request)
    return uncached(HttpResponse(status=303), {"Location": location})


def _problem(error: errors.InvalidRequestError) -> str:
    if error.code == "currency_unsupported":
        return "unavailable"
    return "currency" if error.param == "currency" else "amount"


def _show(request: HttpRequest, terminal: Terminal, *, problem: str = "", status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {
        "page": _page(terminal),
        "problem": problem,
        "is_refused": problem in {"amount", "currency"},
        "form": new_code(),
        # A number that was typed in one currency is never offered in another.
        "typed_amount": "" if problem == "currency" else request.POST.get("amount", "")[:20],
    }
    return uncached(render(request, "checkouts/sign.html", context, status=status))


def _page(terminal: Terminal) -> SignPage:
    chains: list[Offerable] = offerable_chains(terminal.merchant_id, Mode(terminal.mode))
    return SignPage(
        brand=brand_of(terminal.merchant),
        is_test=terminal.mode == Mode.TEST,
        title=terminal.name,
        currency=terminal.currency,
        accepted_tokens=tuple(sorted({token for chain in chains for token in chain.tokens})),
    )
