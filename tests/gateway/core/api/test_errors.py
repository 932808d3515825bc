"""The errors an API client can meet."""

import pytest

from gateway.core.api import errors


def test_an_error_says_what_where_and_by_which_code() -> None:
    error = errors.InvalidRequestError("Too much.", param="amount", code="amount_large")
    assert error.body() == {
        "error": {"type": "invalid_request", "message": "Too much.", "param": "amount", "code": "amount_large"}
    }


def test_without_a_code_it_has_its_kinds() -> None:
    assert errors.ConflictError("No.").code == "state_conflict"


def test_a_401_challenges() -> None:
    assert errors.AuthenticationError("No key.").headers() == {"WWW-Authenticate": "Bearer"}


@pytest.mark.parametrize("seconds", [1, 60])
def test_whoever_asks_too_often_is_told_when_to_come_back(seconds: int) -> None:
    assert errors.RateLimitError(seconds).headers()["Retry-After"] == str(seconds)
