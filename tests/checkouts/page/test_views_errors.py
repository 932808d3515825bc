"""Error pages: plain words and what to do, in the same look, and JSON where programs ask."""

from typing import Any

import pytest
from django.test import Client

from tests.checkouts.page.test_views import words_in
from tests.dashboard.people import Desk
from tests.factories import make_checkout, make_merchant

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


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "link", "words"),
    [
        ("/docs/no-such-page/", "/docs/", "The documentation has no such page."),
        ("/dashboard/mer_nobody/live/", "/dashboard/", "or it is not yours to see"),
        ("/account/no-such-page/", "/dashboard/", "or it is not yours to see"),
        ("/c/no-such-checkout", "/status", "If a shop sent you here"),
        ("/no-such-page", "/status", "If a shop sent you here"),
    ],
)
def test_a_page_that_is_not_there_leads_on_by_its_path(path: str, link: str, words: str, owner: Desk) -> None:
    response = owner.client.get(path)
    assert response.status_code == 404
    assert f'<a class="button" href="{link}">' in response.text
    assert words in words_in(response)


@pytest.mark.django_db
def test_what_is_anothers_looks_as_what_is_nowhere(owner: Desk) -> None:
    checkout = make_checkout(make_merchant("Other"))
    theirs = owner.get("dashboard_checkout", checkout_id=checkout.public_id)
    nowhere = owner.get("dashboard_checkout", checkout_id="chk_nowhere")
    assert (theirs.status_code, theirs.content) == (404, nowhere.content)


@pytest.mark.parametrize("status", [400, 404, 500])
def test_programs_get_the_envelope_and_no_page(status: int, failing: Client) -> None:
    response = failing.get(f"/api/v1/fail/{status}")
    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    assert response.json()["error"]["message"]
    assert "<" not in response.content.decode()
