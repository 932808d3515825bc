"""The language of the buyers' pages: the one asked for by `?lang=`, else the first of the browser's that we have.

No cookie remembers it: what leads from one page to the next keeps the parameter, see `keep_language`.
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
# What no buyer reads. The API speaks English whoever asks, and an answer of it shall not cost more for that.
_OTHERS: Final = ("/api/", "/healthz", "/readyz", "/metrics", *PREFIXES)

# What a page in another language goes on to show.
_KEPT: Final = ("chain", "token", "found")


class LanguageMiddleware:
    """Answers buyers in their language."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        if request.path_info.startswith(_OTHERS):
            return self.get_response(request)
        language = asked_language(request) or _browsers_language(request)
        with translation.override(language, deactivate=True):
            response = self.get_response(request)
        response["Content-Language"] = language
        patch_vary_headers(response, ["Accept-Language"])
        return response


def asked_language(request: HttpRequest) -> str:
    """Return the code of the language that the address asks for; empty if it asks for none, or none of ours."""
    asked = request.GET.get(PARAMETER, "")
    return _ours(asked) if asked else ""


def _browsers_language(request: HttpRequest) -> str:
    header = request.META.get("HTTP_ACCEPT_LANGUAGE", "")
    wanted = (_ours(code) for code, _ in parse_accept_lang_header(header))
    return next(filter(None, wanted), settings.LANGUAGE_CODE)


def _ours(code: str) -> str:
    """Return which of our languages a tag such as `pt-BR` or `zh-CN` is served by; empty for none."""
    try:
        return translation.get_supported_language_variant(code.lower())
    except LookupError:
        return ""


def keep_language(address: str, request: HttpRequest) -> str:
    """Return an address of ours with the language that was asked for in it, if one was."""
    asked = asked_language(request)
    if not asked:
        return address
    return f"{address}{'&' if '?' in address else '?'}{PARAMETER}={asked}"


def language_links(request: HttpRequest) -> dict[str, Any]:
    """Give templates `lang_query`, to put after an address of ours, and what leads to other languages.

    `language_name` is what its readers call the language in force. `languages_query` asks for this page with the list of
    languages on it, `language_choices`: (code, name, query) each. The list is not on every page, for in all these scripts
    it weighs as much as a script does.
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
    return [
        (code, str(name), _query(kept | {PARAMETER: code}))
        for code, name in settings.LANGUAGES
    ]


def _query(parameters: dict[str, str]) -> str:
    return f"?{urlencode(parameters)}"
