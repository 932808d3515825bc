"""Sessions, CSRF and logins, only for pages where people log in.

Buyers' pages and the API need none of them: a session would cost a query per request, a CSRF cookie would make responses
differ by client, and a cookie that is never set cannot be stolen.
"""

from collections.abc import Callable
from typing import Final

from csp.decorators import csp_replace
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.module_loading import import_string

from gateway.core.web.login_languages import login_language, remember_language

# The last two are pages of the facade for shop plugins, whose addresses are BTCPay Server's.
PREFIXES: Final = ("/account/", "/dashboard/", "/operator/", "/btcpay/api-keys/", "/btcpay/invoices/")

# These pages are never framed, and their forms post only here. Their manifest lets iOS show notices.
_POLICY: Final = {"frame-ancestors": ["'none'"], "form-action": ["'self'"], "manifest-src": ["'self'"]}
_HEADERS: Final = {
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    # Not `no-referrer`, as elsewhere: under it browsers send `Origin: null` with a form (Fetch standard, "append a request
    # Origin header"), and Django's CSRF check rightly rejects that.
    "Referrer-Policy": "same-origin",
}
Respond = Callable[[HttpRequest], HttpResponseBase]
Hook = Callable[..., HttpResponse | None]


def wants_login(path: str) -> bool:
    """Return whether a path is for signed-in people."""
    return path.startswith(PREFIXES)


class SignedInPagesMiddleware:
    """Runs the middleware of `SIGNED_IN_MIDDLEWARE` for paths under `PREFIXES`, and adds stricter headers."""

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response
        self._view_hooks: list[Hook] = []
        self._exception_hooks: list[Hook] = []
        self._inside = csp_replace(_POLICY)(self._chain(get_response))

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        if not wants_login(request.path_info):
            return self.get_response(request)
        # Rejects an unknown host before its name is used in a page.
        request.get_host()
        with translation.override(login_language(request)):
            response = self._inside(request)
        remember_language(request, response)
        for name, value in _HEADERS.items():
            response[name] = value
        return response

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: object) -> HttpResponse | None:
        """Call each inner middleware's `process_view`, as Django does. CSRF is checked here."""
        if not wants_login(request.path_info):
            return None
        for hook in self._view_hooks:
            if response := hook(request, view, args, kwargs):
                return response
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Let each inner middleware handle an exception, the innermost first."""
        if not wants_login(request.path_info):
            return None
        for hook in self._exception_hooks:
            if response := hook(request, exception):
                return response
        return None

    def _chain(self, get_response: Respond) -> Respond:
        for path in reversed(settings.SIGNED_IN_MIDDLEWARE):
            get_response = import_string(path)(get_response)
            if hook := getattr(get_response, "process_view", None):
                self._view_hooks.insert(0, hook)
            if hook := getattr(get_response, "process_exception", None):
                self._exception_hooks.append(hook)
        return get_response
