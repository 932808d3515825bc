"""The language of a signed-in person's pages: known only once the session was read.

A page of the dashboard is in another language only if everything on it is translated.
"""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation

from gateway.core.web.login_languages import ENGLISH, dashboard_language, login_language

_ACCOUNT: Final = "/account/"
_DASHBOARD: Final = "/dashboard/"
TRANSLATED: Final = frozenset({"dashboard_overview"})
"""Routes with pages, or that leave messages for pages, in the languages of the dashboard. Others are in English."""


class PersonsLanguageMiddleware:
    """Sets the language of pages for a person who is known; `SignedInPagesMiddleware` sets it back."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: object) -> None:
        """Set the language: the route is known, and who asks."""
        path = request.path_info
        kept = getattr(request.user, "language", "") if path.startswith((_ACCOUNT, _DASHBOARD)) else ""
        if not path.startswith(_DASHBOARD):
            translation.activate(login_language(request, kept))
        elif request.resolver_match and request.resolver_match.url_name in TRANSLATED:
            translation.activate(dashboard_language(request, kept))
        else:
            translation.activate(ENGLISH)
