"""Pages that say no."""

from django.test import RequestFactory

from gateway.core.api.errors import RateLimitError
from gateway.core.web.pages import too_many
from tests.checkouts.page.test_views import words_in


def test_a_second_to_wait_is_not_called_seconds(rf: RequestFactory) -> None:
    assert "Wait a second, then" in words_in(too_many(rf.get("/"), RateLimitError(1)))
