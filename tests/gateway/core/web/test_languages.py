"""Which language a request is answered in."""

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.utils import translation

from gateway.core.web.languages import LanguageMiddleware, keep_language


def answer(path: str, **headers: str) -> HttpResponse:
    """The middleware's answer around a view that says which language is in force."""

    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(translation.get_language())

    return LanguageMiddleware(view)(RequestFactory().get(path, headers=headers))


def test_the_next_request_of_a_thread_is_not_answered_in_the_last_ones_language() -> None:
    def fail(request: HttpRequest) -> HttpResponse:
        raise LookupError(translation.get_language())

    with pytest.raises(LookupError, match="ar"):
        LanguageMiddleware(fail)(RequestFactory().get("/c/x?lang=ar"))
    assert translation.get_language() == "en"
    assert answer("/api/v1/x").content == b"en"


@pytest.mark.parametrize(
    ("query", "address", "kept"),
    [
        ("", "/c/x", "/c/x"),
        ("?lang=ar", "/c/x", "/c/x?lang=ar"),
        ("?lang=ar", "/c/x?chain=ton", "/c/x?chain=ton&lang=ar"),
        ("?lang=pt-BR", "/c/x", "/c/x?lang=pt"),
        ("?lang=%22%3E", "/c/x", "/c/x"),
    ],
)
def test_an_address_keeps_the_language_that_was_asked_for(query: str, address: str, kept: str) -> None:
    assert keep_language(address, RequestFactory().get(f"/{query}")) == kept
