"""The form in which Django reads a request."""

from django.http import QueryDict

from gateway.server.requests import environ_of
from tests.gateway.server.exchanges import Asked, Lines


def test_a_request_has_the_form_that_django_reads() -> None:
    lines = [("host", "x:1"), ("x-a", "1"), ("x-a", "2"), ("cookie", "a=1")]
    lines += [("cookie", "b=2"), ("content-type", "text/plain"), ("x_a", "3")]
    lines += [("x_forwarded_for", "192.0.2.1"), ("x_forwarded-for", "192.0.2.2")]
    environ = environ_of(Asked(Lines(lines)))
    assert environ["PATH_INFO"] == "/é".encode().decode("latin-1")
    assert (environ["REMOTE_ADDR"], environ["SERVER_NAME"]) == ("2001:db8::7", "::1")
    assert (environ["SERVER_PORT"], environ["QUERY_STRING"]) == ("8000", "a=%20")
    assert (environ["HTTP_HOST"], environ["HTTP_X_A"]) == ("x:1", "1,2")
    assert environ["HTTP_COOKIE"] == "a=1; b=2"
    assert environ["CONTENT_TYPE"] == "text/plain"
    assert "HTTP_X_FORWARDED_FOR" not in environ


def test_a_query_string_that_is_not_percent_encoded_is_encoded() -> None:
    asked = Asked(query_string="tag=東京&a=%20é+b&%zz")
    query = environ_of(asked)["QUERY_STRING"]
    assert query == "tag=%E6%9D%B1%E4%BA%AC&a=%20%C3%A9+b&%zz"
    assert QueryDict(query)["tag"] == "東京"
