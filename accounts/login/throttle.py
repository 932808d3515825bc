"""How much one address may send to the pages of people: a bound on guessing across many accounts, and on our mail."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from gateway.core.api.errors import RateLimitError
from gateway.core.api.rate_limits import Limit
from gateway.core.web.pages import (
    count_visit,
    too_many,
)

PER_ADDRESS: Final = Limit("account", 30)


class AccountThrottleMiddleware:
    """Refuses what a client address posts to /account/ beyond 30 forms a minute, and answers refusals of password hashes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        if request.method == "POST" and request.path_info.startswith("/account/"):
            try:
                count_visit(request, PER_ADDRESS, "account")
            except RateLimitError as error:
                return too_many(request, error)
        return self.get_response(request)

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponse | None:
        """Answer 429 where no turn came to hash a password (`accounts.login.hashers`)."""
        if isinstance(exception, RateLimitError):
            return too_many(request, exception)
        return None
