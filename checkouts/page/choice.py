"""A buyer's choice of a token and a network, sent by a form of our pages."""

from collections.abc import Callable

from django.http import HttpRequest
from django.utils import timezone

from checkouts.models import Checkout
from checkouts.page.limits import count_exact_choice
from checkouts.reservations import choose_exact_amount
from checkouts.selectors import reserved_amount
from gateway.core.api import errors

CountExact = Callable[[HttpRequest, int], None]


def is_from_our_page(request: HttpRequest) -> bool:
    """Return whether the request's headers say that it comes from our own page. Old browsers send no such headers.

    `Origin` is null, because our pages send no referrer.
    """
    return request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"


def apply_choice(
    request: HttpRequest, checkout: Checkout, *, chain: str, token: str, count: CountExact = count_exact_choice
) -> dict[str, str]:
    """Return the query string of the page with the choice, both unvalidated; reserve the exact amount if the network needs it.

    Empty for a network that was not offered. A token without a network, or that the network does not take, is a new choice of the
    token: then the page says which network is next. `count` limits reservations by the request and the merchant. Raises RateLimitError.
    """
    offer = checkout.offers.get(chain)
    # A form sends no network while the chosen one is disabled.
    if offer is None and chain:
        return {}
    takers = {name for name, other in checkout.offers.items() if token in other["tokens"]}
    if takers and chain not in takers:
        return {"token": token}
    if offer is None:
        return {}
    if offer["address"] is None and is_from_our_page(request):
        _reserve(request, checkout, count)
    return {"chain": chain, "token": token if takers else offer["tokens"][0]}


def _reserve(request: HttpRequest, checkout: Checkout, count: CountExact) -> None:
    """Reserve the exact amount unless it is reserved already. Raises RateLimitError."""
    now = timezone.now()
    if reserved_amount(checkout, now=now) is not None:
        return
    count(request, checkout.merchant_id)
    try:
        choose_exact_amount(checkout.pk, now=now)
    except errors.ConflictError:
        # The page shows the reason: it is paid or over, or the price has no amount left.
        return
