"""Error pages: plain words and what to do, in the same look, and JSON where programs ask."""

from typing import Any

import pytest
from django.test import Client

from tests.checkouts.page.test_views import words_in

PAGES = {
    400: ["We can't read that request", "Open your link again"],
    403: ["You may not open this page", "Ask for your own link"],
    404: ["Page not found", "Check each character of the link"],
    409: ["can't take this payment right now", "You were not charged"],
    410: ["This page is no longer available", "a new link"],
    429: ["One moment, please", "Wait 37 seconds", "Reload the page"],
    500: ["Something went wrong on our side", "don't send it again", "Reload the page"],
}


@pytest.fixture
def failing(settings: Any) -> Client:
    """A client of a server that fails as it is asked to, and answers all the same."""
    settings.ROOT_URLCONF = "tests.browser.failing_urls"
    return Client(raise_request_exception=False)


# No database here: a failure may well be the database's own.
@pytest.mark.parametrize("status", PAGES)
def test_each_failure_says_what_it_is_and_what_to_do(status: int, failing: Client) -> None:
    response = failing.get(f"/fail/{status}")
    assert response.status_code == status
    text = words_in(response)
    assert [words for words in PAGES[status] if words not in text] == []
    assert "css/florin" in text
    assert str(status) in text
    assert "<script" not in text
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert response["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("status", [400, 404, 500])
def test_programs_get_the_envelope_and_no_page(status: int, failing: Client) -> None:
    response = failing.get(f"/api/v1/fail/{status}")
    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    assert response.json()["error"]["message"]
    assert "<" not in response.content.decode()
