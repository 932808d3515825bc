"""Views that wait, and what they keep until they are called again."""

from concurrent.futures import Future
from typing import Any

from django.http import HttpResponse
from django.test import RequestFactory

from gateway.core.web.parked_views import VISIT, call_again, counted_before, later_of, visit_of


def test_a_view_that_is_called_again_was_counted_before() -> None:
    request: Any = RequestFactory().get("/")
    request.META[VISIT] = {}
    assert visit_of(request) == {}
    assert counted_before(request) is None
    request.rate_state = "59 left"
    response, after = HttpResponse(), Future[None]()
    call_again(request, response, after)
    assert later_of(response) is after
    assert counted_before(request) == "59 left"


def test_an_answer_waits_for_nothing() -> None:
    assert later_of(HttpResponse()) is None


def test_no_header_of_a_client_makes_a_visit() -> None:
    request = RequestFactory().get("/", headers={VISIT: "{}"})
    assert visit_of(request) is None
    assert counted_before(request) is None
