"""Rate limits per client for checkout pages, shared by web and stream servers."""

from django.http import HttpRequest

from gateway.core.api.rate_limits import Limit
from gateway.core.web.client_address import client_address
from gateway.core.web.pages import count_client, count_visit

# Opening a stream counts as one of these.
STATUS = Limit("checkout.status", 60)

# Each search may ask six chains' nodes: limits of one client for one page, of one client, and of all for one page.
_SEARCH = Limit("checkout.find", 5)
_SEARCH_OF_CLIENT = Limit("checkout.find.client", 10)
_SEARCH_OF_PAGE = Limit("checkout.find.page", 30, seconds=3_600)

# A price has about 150 easily distinguished amounts: a client that reserves many takes them from other buyers.
_EXACT = Limit("checkout.exact", 20)
_EXACT_IN_AN_HOUR = Limit("checkout.exact.hour", 100, seconds=3_600)


def count_exact_choice(request: HttpRequest, merchant_id: int) -> None:
    """Count a client's reservation of an exact amount, on any page of the merchant. Raises RateLimitError."""
    count_visit(request, _EXACT, str(merchant_id))
    count_visit(request, _EXACT_IN_AN_HOUR, str(merchant_id))


def count_search(request: HttpRequest, code: str) -> None:
    """Count a search for a transaction. Raises RateLimitError."""
    count_visit(request, _SEARCH, code)
    client = client_address(request)
    count_client(client, _SEARCH_OF_CLIENT, "any")
    count_client("any", _SEARCH_OF_PAGE, code)
