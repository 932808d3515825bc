"""Selects the language of buyers' pages: `?lang=`, else the first supported language of the browser.

No cookie stores it. Links from page to page keep the parameter; see `keep_language`.
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation.trans_real import parse_accept_lang_header

from gateway.core.web.signed_in import PREFIXES

PARAMETER: Final = "lang"
_LIST: Final = "languages"
# Paths that buyers do not read. The API is English for all clients, and choosing a language would slow it down.
_OTHERS: Final = (
    "/api/",
    "/btcpay/api/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/status.json",
    "/till/",
    "/.well-known/",
    "/receipts/",
    "/verify",
    *PREFIXES,
)

# Paths that follow from a page in another language.
_KEPT: Final = ("chain", "token", "found")


class LanguageMiddleware:
    """Sets the language of buyers' pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        if request.path_info.startswith(_OTHERS):
            return self.get_response(request)
        language = asked_language(request) or _browsers_language(request)
        with translation.override(language, deactivate=True):
            response = self.get_response(request)
        # A page in the language that its reader keeps has said so.
        response.setdefault("Content-Language", language)
        patch_vary_headers(response, ["Accept-Language"])
        return response


def asked_language(request: HttpRequest) -> str:
    """Return the code of the language in the query string; empty if it is missing or not supported."""
    asked = request.GET.get(PARAMETER, "")
    return _ours(asked) if asked else ""


def _browsers_language(request: HttpRequest) -> str:
    header = request.META.get("HTTP_ACCEPT_LANGUAGE", "")
    wanted = (_ours(code) for code, _ in parse_accept_lang_header(header))
    return next(filter(None, wanted), settings.LANGUAGE_CODE)


def _ours(code: str) -> str:
    """Return the supported language for a tag such as `pt-BR` or `zh-CN`; empty if there is none."""
    try:
        return translation.get_supported_language_variant(code.lower())
    except LookupError:
        return ""


def keep_language(address: str, request: HttpRequest) -> str:
    """Return one of our URLs with the requested language added, if any."""
    asked = asked_language(request)
    if not asked:
        return address
    return f"{address}{'&' if '?' in address else '?'}{PARAMETER}={asked}"


def language_links(request: HttpRequest) -> dict[str, Any]:
    """Return the template context for languages: `lang_query`, to append to our URLs, and the links to other languages.

    `language_name` is the current language's own name. `languages_query` asks for this page with the list of languages on
    it, `language_choices`: (code, name, query) each. The list is not on every page: with so many writing systems it is as
    large as a script file.
    """
    kept = {name: request.GET[name] for name in _KEPT if name in request.GET}
    asked = asked_language(request)
    now = kept | ({PARAMETER: asked} if asked else {})
    return {
        "lang_query": keep_language("", request),
        "language_name": dict(settings.LANGUAGES).get(translation.get_language()),
        "languages_query": _query(now | {_LIST: "1"}),
        "language_choices": _choices(kept) if _LIST in request.GET else [],
    }


def _choices(kept: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(code, str(name), _query(kept | {PARAMETER: code})) for code, name in settings.LANGUAGES]


def _query(parameters: dict[str, str]) -> str:
    return f"?{urlencode(parameters)}"
