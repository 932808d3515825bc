"""The languages of the pages of people who log in, and of their mails.

Login pages: the language that the person keeps, else the one chosen at their foot, kept in a cookie, else the browser's, else English.
The dashboard has fewer languages, and does not see that cookie. The operator's pages are English.
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
ENGLISH: Final = "en"
_PATH: Final = "/account/"
_YEAR: Final = 365 * 24 * 3600


def login_languages() -> list[tuple[str, str]]:
    """Return the languages of login pages, English first: code and own name."""
    offered = (ENGLISH, *settings.LOGIN_LANGUAGES)
    names = dict(settings.LANGUAGES)
    return [(code, str(names[code])) for code in offered]


def login_language(request: HttpRequest, kept: str = "") -> str:
    """Return the language of a page for signed-in people, or those who log in; `kept` is that of the person, if they are known."""
    if not request.path_info.startswith(_PATH):
        return ENGLISH
    chosen = (request.GET.get(PARAMETER, ""), kept, request.COOKIES.get(COOKIE, ""))
    return next(_known((*chosen, *_browsers(request))), ENGLISH)


def dashboard_language(request: HttpRequest, kept: str) -> str:
    """Return the language of a page of the dashboard. `kept`, the person's, may be one that the dashboard lacks: then it is English."""
    wanted = [kept] if kept else _known(_browsers(request))
    return next(filter(_has_dashboard, wanted), ENGLISH)


def mail_language(kept: str) -> str:
    """Return the language of mails to a person who keeps a language, or none: no browser tells."""
    return kept if _has_dashboard(kept) else ENGLISH


def known_language(asked: str) -> str:
    """Return the language of login pages for a tag such as `zh-CN`; empty if there is none."""
    try:
        code = translation.get_supported_language_variant(asked.lower()) if asked else ""
    except LookupError:
        return ""
    return code if code in (ENGLISH, *settings.LOGIN_LANGUAGES) else ""


def chosen_language(request: HttpRequest) -> str:
    """Return the language that a visitor of the login pages chose at their foot; empty if none."""
    return known_language(request.COOKIES.get(COOKIE, ""))


def remember_language(request: HttpRequest, response: HttpResponseBase) -> None:
    """Keep the language that a query string asks for in a cookie of these pages."""
    asked = request.GET.get(PARAMETER, "")
    if request.path_info.startswith(_PATH) and (code := known_language(asked)):
        response.set_cookie(
            COOKIE,
            code,
            max_age=_YEAR,
            path=_PATH,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )


def _browsers(request: HttpRequest) -> Iterator[str]:
    """Yield the tags that a browser asks for, the first choice first."""
    return (code for code, _ in parse_accept_lang_header(request.META.get("HTTP_ACCEPT_LANGUAGE", "")))


def _known(wanted: Iterator[str] | tuple[str, ...]) -> Iterator[str]:
    return filter(None, map(known_language, wanted))


def _has_dashboard(code: str) -> bool:
    return code in (ENGLISH, *settings.DASHBOARD_LANGUAGES)
