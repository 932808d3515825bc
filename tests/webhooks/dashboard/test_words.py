"""What the merchant's pages call deliveries, endpoints and what went wrong."""

import pytest

from tests.factories import NOON
from webhooks.dashboard.words import health_of, result_of, status_in_words, trouble_of
from webhooks.health import PROBATION_AFTER
from webhooks.models import Attempt, Endpoint


def test_a_status_code_has_its_name_where_it_has_one() -> None:
    assert status_in_words(404) == "404 Not Found"
    assert status_in_words(599) == "599"


def test_a_try_without_an_answer_is_told_by_its_error() -> None:
    silent = Attempt(status_code=None, error="tls_failed")
    assert result_of(silent) == "tls failed"
    assert "certificate" in trouble_of(silent)


@pytest.mark.parametrize(
    ("code", "words"), [(200, ""), (204, ""), (301, "redirects"), (410, "disabled"), (500, "200 to 299")]
)
def test_the_trouble_with_an_answer_is_told(code: int, words: str) -> None:
    trouble = trouble_of(Attempt(status_code=code))
    assert words in trouble
    assert bool(trouble) == bool(words)


@pytest.mark.parametrize(
    ("failures", "label"), [(0, "Healthy"), (1, "Failing"), (PROBATION_AFTER, "Retrying one at a time")]
)
def test_an_endpoint_does_as_its_last_tries_did(failures: int, label: str) -> None:
    assert health_of(Endpoint(consecutive_failures=failures)).label == label


def test_a_disabled_endpoint_is_called_so() -> None:
    assert health_of(Endpoint(disabled_at=NOON)).label == "Disabled"
