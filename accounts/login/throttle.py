"""Limits an address's POSTs to the login pages, against guessing across many accounts and mail floods."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from gateway.core.api.errors import RateLimitError
from gateway.core.api.rate_limits import Limit
from gateway.core.web.pages import count_visit, too_many

PER_ADDRESS: Final = Limit("account", 30)


class AccountThrottleMiddleware:
    """Refuses more than 30 forms a minute from one address to /account/, and answers 429 when password hashing is overloaded."""

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

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer 429 if hashing a password had to wait too long (`accounts.login.hashers`)."""
        if isinstance(exception, RateLimitError):
            return too_many(request, exception)
        return None
