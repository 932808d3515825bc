"""The language of the pages where people log in: the one they chose, kept in a cookie, else the browser's, else English.

The dashboard and the operator's pages are English.
"""

from collections.abc import Iterator
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header

PARAMETER: Final = "lang"
COOKIE: Final = "login_language"
_PATH: Final = "/account/"
_ENGLISH: Final = "en"
_YEAR: Final = 365 * 24 * 3600


def login_languages() -> list[tuple[str, str]]:
    """Return the languages of these pages, English first: code and own name."""
    offered = (_ENGLISH, *settings.LOGIN_LANGUAGES)
    names = dict(settings.LANGUAGES)
    return [(code, str(names[code])) for code in offered]


def login_language(request: HttpRequest) -> str:
    """Return the language of a page for signed-in people, or those who log in."""
    if not request.path_info.startswith(_PATH):
        return _ENGLISH
    return next(_wanted(request), _ENGLISH)


def remember_language(request: HttpRequest, response: HttpResponseBase) -> None:
    """Keep the language that a query string asks for in a cookie of these pages."""
    asked = request.GET.get(PARAMETER, "")
    if request.path_info.startswith(_PATH) and (code := _ours(asked)):
        response.set_cookie(
            COOKIE,
            code,
            max_age=_YEAR,
            path=_PATH,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )


def _wanted(request: HttpRequest) -> Iterator[str]:
    """Yield the languages that a person wants and that there are, the first choice first."""
    header = request.META.get("HTTP_ACCEPT_LANGUAGE", "")
    browsers = (code for code, _ in parse_accept_lang_header(header))
    for asked in (request.GET.get(PARAMETER, ""), request.COOKIES.get(COOKIE, ""), *browsers):
        if code := _ours(asked):
            yield code


def _ours(asked: str) -> str:
    """Return the language for a tag such as `zh-CN`; empty if there is none."""
    try:
        code = translation.get_supported_language_variant(asked.lower()) if asked else ""
    except LookupError:
        return ""
    return code if code in (_ENGLISH, *settings.LOGIN_LANGUAGES) else ""
