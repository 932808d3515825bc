"""The language of a signed-in person's pages: known only once the session was read.

Files that the dashboard sends are in English in every language: programs read them.
"""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation

from gateway.core.web.login_languages import ENGLISH, dashboard_language, login_language

_ACCOUNT: Final = "/account/"
_DASHBOARD: Final = "/dashboard/"
_CSV: Final = "_csv"
FILES: Final = frozenset(
    {
        "dashboard_branding_style",
        "dashboard_download_data",
        "dashboard_inbox_export",
        "dashboard_link_qr",
        "dashboard_payout_batch_safe",
    }
)
"""Routes of files, beside those whose names end with `_csv`."""


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
        elif is_file(request):
            translation.activate(ENGLISH)
        else:
            translation.activate(dashboard_language(request, kept))


def is_file(request: HttpRequest) -> bool:
    """Return whether a path of the dashboard is a file's."""
    route = str(request.resolver_match.url_name) if request.resolver_match else ""
    return route in FILES or route.endswith(_CSV)
