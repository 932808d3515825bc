"""Django's requests: any Content-Type header makes one."""

import io
from typing import Any

import pytest
from django.core.exceptions import TooManyFieldsSent
from django.http.multipartparser import MultiPartParserError

from gateway.server.requests import Handler, PlainRequest

UNPARSABLE = ["; a*=nope''x", "; a*=x; a*0=y", "; a*=undefined''x", "; a*=\x00''x"]


TOO_MANY = "&".join(["a"] * 1001)


def environ_of(content_type: str, body: bytes = b"", query: str = "", path: str = "/") -> dict[str, Any]:
    return {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        "wsgi.url_scheme": "http",
    }


def request_with(content_type: str, body: bytes = b"", query: str = "") -> PlainRequest:
    return PlainRequest(environ_of(content_type, body, query))


def part(headers: bytes) -> bytes:
    return b"--b\r\n" + headers + b"\r\n\r\n1\r\n--b--\r\n"


@pytest.mark.parametrize("parameters", UNPARSABLE)
def test_parameters_that_cannot_be_parsed_are_left_out(parameters: str) -> None:
    request = request_with(f"Application/JSON {parameters}")
    assert (request.content_type, request.content_params) == ("application/json", {})
    # What others parse again.
    assert request.META["CONTENT_TYPE"] == "application/json"


def test_other_parameters_are_kept() -> None:
    request = request_with("multipart/form-data; boundary=b")
    assert request.content_params == {"boundary": "b"}
    assert request.META["CONTENT_TYPE"] == "multipart/form-data; boundary=b"


@pytest.mark.parametrize("charset", ["hex", "base64", "rot13", "undefined", "latin-1"])
def test_query_strings_and_forms_are_in_utf_8_whatever_the_charset_says(charset: str) -> None:
    named = "a=%E6%9D%B1"
    form = f"application/x-www-form-urlencoded; charset={charset}"
    request = request_with(form, b"a=%E6%9D%B1", named)
    assert (request.GET["a"], request.POST["a"]) == ("東", "東")
    parts = part(b'Content-Disposition: form-data; name="a"')
    files = f"multipart/form-data; boundary=b; charset={charset}"
    assert request_with(files, parts, named).POST["a"] == "1"


@pytest.mark.parametrize("parameters", UNPARSABLE)
def test_a_form_without_a_boundary_that_can_be_parsed_is_refused(parameters: str) -> None:
    request = request_with(f"multipart/form-data; boundary=b{parameters}", part(b""))
    with pytest.raises(MultiPartParserError):
        request.POST  # noqa: B018 - reading it parses the form
    assert not request.POST


def test_a_form_is_refused_if_a_parts_header_cannot_be_parsed() -> None:
    parts = part(b"Content-Disposition: form-data; name*=x; name*0=y")
    request = request_with("multipart/form-data; boundary=b", parts)
    with pytest.raises(MultiPartParserError):
        request.POST  # noqa: B018
    assert not request.POST


def test_too_many_parameters_are_refused_once_and_then_there_are_none() -> None:
    request = request_with("", query=TOO_MANY)
    with pytest.raises(TooManyFieldsSent):
        request.GET  # noqa: B018
    assert not request.GET


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/account/login/", "/dashboard/", "/c/abc"])
@pytest.mark.parametrize("redirects", [False, True])
def test_too_many_parameters_with_an_unknown_host_are_refused(path: str, redirects: bool, settings: Any) -> None:
    settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = ["ours.example"], redirects
    environ = environ_of("", path=path, query=TOO_MANY)
    request = PlainRequest(environ | {"HTTP_HOST": "theirs.example"})
    assert Handler().get_response(request).status_code == 400
