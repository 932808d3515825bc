"""The hosted page over HTTP: every state, its headers, its limits, and what it must never show."""

import gzip
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from django.core.exceptions import SuspiciousOperation
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.views.defaults import bad_request, server_error

from accounts.brand.service import BrandingChanges, change_branding
from accounts.models import Merchant
from checkouts.models import Checkout
from checkouts.states import CheckoutException, CheckoutStatus
from demo.shop.logo import shop_logo
from gateway.core.ids import new_id
from tests.checkouts.factories import (
    ADDRESS,
    HEAD,
    make_closed,
    make_completed,
    make_exact_checkout,
    make_exact_choice,
    make_expired,
    make_overpaid,
    make_page_checkout,
    make_seen,
    make_test_checkout,
    make_underpaid,
    move,
)
from tests.contract.provoking import count_requests
from tests.factories import NOON, make_live_chain, make_merchant
from tests.weight import MOST_BYTES, MOST_BYTES_WITH_FONTS, fonts_weight, static_files_of, weights
from wallets.selectors import forget

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


STATES: dict[str, tuple[Callable[[], Checkout], list[str]]] = {
    "pending": (make_page_checkout, ["Choose how to pay", "Send only USDC on Base", "49.00"]),
    "underpaid": (make_underpaid, ["Almost there", "20.00 USDC", "29.00", "same address"]),
    "seen": (make_seen, ["Payment seen", "5 of 12", "about 14 s left"]),
    "completed": (make_completed, ["Payment complete", "Return now", "basescan.org/tx/0x"]),
    "overpaid": (make_overpaid, ["Payment complete", "You overpaid by 5.00 USDC"]),
    "closed": (make_closed, ["This checkout has expired", "don't send anything now"]),
    "expired": (make_expired, ["This checkout has expired", "Already sent it?"]),
    "test mode": (make_test_checkout, ["Test mode: no real money", "completes automatically"]),
}
EVERY_STATE = pytest.mark.parametrize("state", STATES)
WITHOUT_ADDRESS = pytest.mark.parametrize("make", [make_closed, make_expired, make_completed])


def page_of(client: Client, checkout: Checkout, query: str = "") -> str:
    response = client.get(f"/c/{checkout.code}{query}")
    assert response.status_code == 200
    return words_in(response)


def words_in(response: Any) -> str:
    """The page's text as a reader sees it: entities resolved, spaces run together, tags kept."""
    text = response.content.decode().replace("&#x27;", "'").replace("&amp;", "&")
    return re.sub(r"\s+", " ", text)


@EVERY_STATE
def test_each_state_says_what_it_is(state: str, client: Client) -> None:
    make, words = STATES[state]
    text = page_of(client, make())
    assert [word for word in words if word not in text] == []
    assert "Halden Roasters" in text


@EVERY_STATE
def test_references_and_metadata_are_never_shown(state: str, client: Client) -> None:
    checkout = STATES[state][0]()
    assert checkout.order_ref == "secret-order"
    for path in (f"/c/{checkout.code}", f"/c/{checkout.code}/status"):
        assert "secret" not in client.get(path).content.decode()


@EVERY_STATE
def test_every_state_carries_the_headers_of_a_page_that_handles_money(state: str, client: Client) -> None:
    response = client.get(f"/c/{STATES[state][0]().code}")
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "data:" not in policy
    assert re.search(r"frame-ancestors (https://\w+\.telegram\.org ?)+(;|$)", policy)
    assert "X-Frame-Options" not in response
    assert response["Referrer-Policy"] == "no-referrer"
    assert response["Cache-Control"] == "no-store"
    assert '<meta name="robots" content="noindex, nofollow">' in words_in(response)


@WITHOUT_ADDRESS
def test_no_address_is_shown_when_nothing_may_be_sent(make: Callable[[], Checkout], client: Client) -> None:
    checkout = make()
    for path in (f"/c/{checkout.code}", f"/c/{checkout.code}/status"):
        assert ADDRESS not in client.get(path).content.decode()


def test_the_address_is_shown_whole_with_its_ends_set_in_bold(client: Client) -> None:
    text = page_of(client, make_page_checkout())
    assert f"<b>0x9858</b>{ADDRESS[6:-6]}<b>aEda94</b>" in text
    assert f'data-copy="{ADDRESS}"' in text
    assert 'data-copy="49.00"' in text


def test_an_address_of_its_own_is_said_to_pay_only_the_merchant_and_explained(client: Client) -> None:
    text = page_of(client, make_exact_checkout())
    assert "This address can pay only Halden Roasters." in text
    assert 'href="/docs/for-buyers/"' in text
    assert client.get("/docs/for-buyers/").status_code == 200
    assert f'href="https://basescan.org/address/{ADDRESS}"' in text


@pytest.mark.parametrize("make", [make_exact_choice, make_test_checkout])
def test_it_is_not_said_where_it_is_not_true(make: Callable[[], Checkout], client: Client) -> None:
    text = page_of(client, make(), "?chain=ethereum")
    assert "can pay only" not in text
    shown = "etherscan.io/address/0x70997970C51812dc3A010C7d01b50e0d17dc79C8" in text
    assert shown is (make is make_exact_choice)


def test_leaving_is_not_called_cancelling(client: Client) -> None:
    text = page_of(client, make_page_checkout())
    assert "Back to the shop" in text
    assert "Cancel" not in text


def test_a_network_and_token_are_chosen_by_a_link(client: Client) -> None:
    text = page_of(client, make_page_checkout(), "?chain=polygon&token=USDT")
    assert "Send only USDT on Polygon" in text
    assert 'value="polygon" checked' in text


def test_the_page_works_by_form_and_reload_without_scripts(client: Client) -> None:
    text = page_of(client, make_page_checkout())
    assert '<noscript> <meta http-equiv="refresh" content="15"> </noscript>' in text
    assert '<noscript> <button type="submit"' in text


def test_a_paid_page_returns_by_itself_without_scripts(client: Client) -> None:
    checkout = make_completed()
    target = f"https://shop.example/thanks?order=77&checkout_id={checkout.public_id}&status=completed"
    assert f'content="2; url={target}"' in page_of(client, checkout)


def test_a_paid_page_without_a_shop_stays_where_it_is(client: Client) -> None:
    text = page_of(client, make_completed(redirect_url=""))
    assert '<noscript> <meta http-equiv="refresh" content="60"> </noscript>' in text
    assert "; url=" not in text
    assert "Return now" not in text


def test_a_scenario_is_named(client: Client) -> None:
    text = page_of(client, make_test_checkout(test_scenario="late"))
    assert 'plays its scenario "late" automatically' in text.replace("&quot;", '"')


def test_a_live_page_has_no_test_strip(client: Client) -> None:
    assert "Test mode" not in page_of(client, make_page_checkout())


def test_a_payment_taken_back_by_the_network_is_told(client: Client) -> None:
    checkout = make_completed()
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)
    text = page_of(client, checkout)
    assert "The network reversed this payment" in text
    assert "Confirmed</span>" not in text


def test_what_merchants_write_is_text_and_never_markup(client: Client) -> None:
    merchant = make_merchant(name='<script>alert(1)</script>"')
    checkout = make_page_checkout(merchant, description="<img src=x onerror=alert(2)>")
    for path in (f"/c/{checkout.code}", f"/c/{checkout.code}/status"):
        text = client.get(path).content.decode()
        assert "<script>alert" not in text
        assert "<img src=x" not in text


@pytest.mark.parametrize(
    "path", ["/c/nnnnnn", "/c/unknown", "/c/0OIl", "/c/a%00b", "/c/", "/c/%F0%9F%92%B8", "/c/" + "a" * 33, "/nowhere"]
)
def test_an_unknown_page_is_a_404_in_the_same_look(path: str, client: Client) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert "Page not found" in words_in(response)
    assert "css/florin" in words_in(response)
    assert "default-src 'none'" in response["Content-Security-Policy"]


def test_a_damaged_request_is_a_400_in_the_same_look(rf: RequestFactory) -> None:
    response: HttpResponse = bad_request(rf.get("/c/x"), SuspiciousOperation())
    assert response.status_code == 400
    assert "We can't read that request" in words_in(response)


def test_a_failure_of_ours_tells_a_buyer_not_to_pay_twice(rf: RequestFactory) -> None:
    response: HttpResponse = server_error(rf.get("/c/x"))
    assert response.status_code == 500
    assert "Please don't send it again" in words_in(response)


@pytest.mark.parametrize("suffix", ["", "/status"])
def test_pages_are_only_read(suffix: str, client: Client) -> None:
    assert client.post(f"/c/{make_page_checkout().code}{suffix}").status_code == 405


def test_the_page_costs_three_questions_and_while_it_can_be_paid_one_a_second_more(
    client: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    seen, pending = make_seen(), make_page_checkout()
    for checkout, most in ((seen, 3), (pending, 4)):
        with django_assert_num_queries(most):
            client.get(f"/c/{checkout.code}")
    # A second may pass between two of them.
    assert min(questions_of(client, pending) for _ in range(3)) == 3


def questions_of(client: Client, checkout: Checkout) -> int:
    """How many a checkout's page costs."""
    with CaptureQueriesContext(connection) as asked:
        client.get(f"/c/{checkout.code}")
    return len(asked)


def test_the_status_is_answered_once_and_then_304_until_it_changes(client: Client) -> None:
    checkout = make_page_checkout()
    path = f"/c/{checkout.code}/status"
    first = client.get(path)
    assert first.json()["status"] == "pending"
    same = client.get(path, headers={"If-None-Match": first["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    assert same["ETag"] == first["ETag"]
    move(checkout, CheckoutStatus.PROCESSING)
    changed = client.get(path, headers={"If-None-Match": first["ETag"]})
    assert changed.json()["status"] == "processing"
    assert "Payment seen" in changed.json()["panel"]


def test_the_page_names_the_version_that_the_status_compares(client: Client) -> None:
    checkout = make_page_checkout()
    path, etag = f"/c/{checkout.code}/status", version_of(client, checkout)
    assert client.get(path, headers=etag).status_code == 304
    assert client.get(f"{path}?chain=polygon", headers=etag).status_code == 200


def test_the_status_changes_when_the_time_to_pay_is_over(client: Client) -> None:
    checkout = make_page_checkout()
    path = f"/c/{checkout.code}/status"
    etag = client.get(path)["ETag"]
    Checkout.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    response = client.get(path, headers={"If-None-Match": etag})
    assert response.json()["status"] == "pending"
    assert "We are checking the network" in response.json()["panel"]
    assert ADDRESS not in response.json()["panel"]


@pytest.mark.parametrize("rest", ["", "/receipt"])
def test_an_open_paid_page_and_its_receipt_learn_of_a_reversal_and_of_the_return(client: Client, rest: str) -> None:
    checkout = move(make_completed(), CheckoutStatus.COMPLETED, paid_at=timezone.now() - timedelta(hours=1))
    path, held = f"/c/{checkout.code}/status", version_of(client, checkout, rest)
    assert client.get(path, headers=held).status_code == 304
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)
    told = client.get(path, headers=held)
    assert "The network reversed this payment" in told.json()["panel"]
    assert version_of(client, checkout, rest) == {"If-None-Match": told["ETag"]}
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.NONE)
    told = client.get(path, headers={"If-None-Match": told["ETag"]})
    assert "Payment complete" in told.json()["panel"]
    # It showed the payment before: there is news to read, and nobody is led to the shop.
    assert "data-redirect-seconds" not in told.json()["panel"]


@pytest.mark.parametrize("make", [make_seen, make_completed, make_underpaid])
def test_an_open_page_learns_that_its_payment_is_in_doubt_and_when_it_no_longer_is(
    client: Client, make: Callable[[], Checkout]
) -> None:
    checkout = make()
    path, held = f"/c/{checkout.code}/status", version_of(client, checkout)
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0, head=HEAD)
    told = client.get(path, headers=held)
    for words in ("We are checking your payment again", "send anything again"):
        assert words in told.json()["panel"]
    for words in ("Send the remaining", "Taking you back", "/receipt"):
        assert words not in told.json()["panel"]
    assert ADDRESS not in told.json()["panel"]
    make_live_chain("base", halted_reason="", doubted_above=None, head=HEAD)
    told = client.get(path, headers={"If-None-Match": told["ETag"]})
    assert "We are checking your payment again" not in told.json()["panel"]


def version_of(client: Client, checkout: Checkout, rest: str = "") -> dict[str, str]:
    """The header by which an open page asks whether it looks different."""
    found = re.search(r'data-version="([^"]+)"', client.get(f"/c/{checkout.code}{rest}").text)
    assert found is not None
    return {"If-None-Match": f'"{found[1]}"'}


def test_an_unknown_status_is_a_json_404(client: Client) -> None:
    response = client.get("/c/nnnnnn/status")
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "resource_missing"


def hit(client: Client, path: str, *, address: str, times: int = 1) -> Any:
    """Ask as often from one address and return the last answer; those between it and the first are only counted."""
    response = client.get(path, REMOTE_ADDR=address)
    if times > 1:
        count_requests(times - 2)
        response = client.get(path, REMOTE_ADDR=address)
    return response


@pytest.mark.usefixtures("still_window")
def test_polling_is_limited_to_sixty_a_minute_for_each_code_and_client(client: Client) -> None:
    path, other = (f"/c/{make_page_checkout().code}/status" for _ in range(2))
    assert hit(client, path, address="192.0.2.1", times=60).status_code == 200
    refused = hit(client, path, address="192.0.2.1")
    assert refused.status_code == 429
    assert refused["Retry-After"] == "30"
    assert refused.json() == {"error": {"type": "rate_limit", "message": "Too many requests. Retry in 30 seconds."}}
    assert hit(client, other, address="192.0.2.1").status_code == 200
    assert hit(client, path, address="192.0.2.2").status_code == 200


@pytest.mark.usefixtures("still_window")
def test_reloading_is_limited_apart_from_polling(client: Client) -> None:
    path = f"/c/{make_page_checkout().code}"
    assert hit(client, path, address="192.0.2.3", times=60).status_code == 200
    refused = hit(client, path, address="192.0.2.3")
    assert refused.status_code == 429
    assert refused["Retry-After"] == "30"
    assert "Wait 30 seconds" in words_in(refused)
    assert hit(client, f"{path}/status", address="192.0.2.3").status_code == 200


def test_the_page_weighs_at_most_eighteen_kilobytes_in_fifteen_requests(client: Client) -> None:
    path = f"/c/{make_test_checkout().code}?chain=polygon"
    names = static_files_of(page_of(client, make_test_checkout(), "?chain=polygon"))
    # The page itself, the second font that only the styles name, and nothing else.
    assert 1 + 1 + len(names) <= 15
    weighed = weights(client, path)
    assert sum(weighed.values()) <= MOST_BYTES, weighed
    assert sum(weighed.values()) + fonts_weight() <= MOST_BYTES_WITH_FONTS


def test_what_a_page_says_without_a_connection_is_fetched_in_its_language_and_kept(
    client: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    with django_assert_num_queries(0):
        said = {language: client.get(f"/c/offline?lang={language}") for language in ("en", "de")}
    assert "If you have paid, your payment still counts, so don't pay again." in said["en"].text
    assert "Keine Verbindung." in said["de"].text
    assert said["en"]["Cache-Control"] == "public, max-age=3600"
    # The page that shows it is spared its bytes.
    assert "offline" not in page_of(client, make_page_checkout())


def test_pages_travel_compressed(client: Client) -> None:
    response = client.get(f"/c/{make_page_checkout().code}", headers={"Accept-Encoding": "gzip"})
    assert response["Content-Encoding"] == "gzip"
    assert b"Choose how to pay" in gzip.decompress(response.content)


# The hosted page in a merchant's own look: what the buyer reads, what it weighs, and what it costs to make.


LEGAL = "Halden Coffee Trading GmbH"
BRANDED_STATES: list[Callable[..., Checkout]] = [
    make_page_checkout,
    make_underpaid,
    make_seen,
    make_completed,
    make_overpaid,
    make_closed,
    make_expired,
]
BUDGET_LANGUAGES = ["en", "ru", "hi"]


def make_branded(**overrides: Any) -> Merchant:
    """A merchant whose pages call it Halden, and everything else is set too."""
    merchant = make_merchant(LEGAL)
    changes: dict[str, Any] = {
        "display_name": "Halden",
        "logo": shop_logo(),
        "accent": "#0b6e4f",
        "support_url": "https://halden.example/help?a=1&b=2",
        "terms_url": "https://halden.example/terms",
        "return_label": "Back to <the> beans",
    }
    wanted = cast("BrandingChanges", changes | overrides)
    change_branding(merchant, changes=wanted, now=NOON)
    return merchant


@pytest.mark.parametrize("make", BRANDED_STATES)
def test_the_buyer_reads_the_shown_name_alone_in_every_state(make: Callable[..., Checkout], client: Client) -> None:
    checkout = make(merchant=make_branded())
    texts = [page_of(client, checkout)]
    texts.append(client.get(f"/c/{checkout.code}/status").json()["panel"])
    if checkout.status == "completed":
        texts.append(page_of(client, checkout, "/receipt"))
    for text in texts:
        assert "Halden" in text
        assert LEGAL not in text


@pytest.mark.parametrize("make", [make_completed, make_expired])
def test_the_return_button_says_what_the_merchant_chose(make: Callable[..., Checkout], client: Client) -> None:
    text = page_of(client, make(merchant=make_branded()))
    assert "Back to &lt;the&gt; beans" in text
    assert "Return to" not in text
    assert "Return now" not in text


def test_links_are_there_only_where_the_merchant_gave_them(client: Client) -> None:
    checkout = make_completed(merchant=make_branded(terms_url=""))
    for path in ("", "/receipt"):
        text = page_of(client, checkout, path)
        assert text.count("Need help?") == 1
        assert 'href="https://halden.example/help?a=1&b=2"' in text
        assert "Terms" not in text


def test_a_page_without_branding_has_nothing_of_it(client: Client) -> None:
    change_branding(named := make_merchant(), changes={"display_name": "X"}, now=NOON)
    for merchant in (make_merchant(), named):
        text = page_of(client, make_page_checkout(merchant))
        assert "/brand/" not in text
        assert "Need help?" not in text
        assert "merchant__mark" in text


def test_style_sheet_and_logo_of_the_page_are_served(client: Client) -> None:
    text = page_of(client, make_page_checkout(make_branded()))
    merchant = Merchant.objects.get()
    folder = f"/brand/{merchant.public_id}/"
    addresses = {part.split('"')[0] for part in text.split(folder)[1:] if '"' in part}
    assert len(addresses) == 2
    kinds = {client.get(folder + name)["Content-Type"] for name in addresses}
    assert kinds == {"text/css", "image/png"}
    # The logo is the picture of the tab too, and spares ours.
    assert "favicon.svg" not in text


@pytest.mark.parametrize("language", BUDGET_LANGUAGES)
@pytest.mark.parametrize("make", [make_page_checkout, make_exact_checkout])
def test_a_branded_page_weighs_no_more_than_any(make: Callable[..., Checkout], language: str, client: Client) -> None:
    checkout = make(merchant=make_branded())
    weighed = weights(client, f"/c/{checkout.code}?lang={language}")
    assert sum("/brand/" in name for name in weighed) == 1
    assert sum(weighed.values()) <= MOST_BYTES, weighed
    # The page, its second font, and the merchant's style sheet and logo.
    names = static_files_of(page_of(client, checkout))
    assert 4 + len(names) <= 15


def test_branding_costs_the_page_no_query(client: Client, django_assert_num_queries: Callable[[int], Any]) -> None:
    plain, branded = (make_page_checkout(merchant) for merchant in (make_merchant(), make_branded()))
    for checkout in (plain, branded):
        # Or what is remembered for a second may be forgotten for one of the two.
        forget()
        with django_assert_num_queries(4) as asked:
            page_of(client, checkout)
        assert not any('"logo"' in query["sql"] for query in asked.captured_queries)


def test_a_new_look_reaches_pages_that_are_open(client: Client) -> None:
    checkout = make_page_checkout(merchant := make_branded())
    path = f"/c/{checkout.code}/status"
    etag = client.get(path)["ETag"]
    held = {"If-None-Match": etag}
    assert client.get(path, headers=held).status_code == 304
    change_branding(merchant, changes={"display_name": "Halden & Co"}, now=NOON)
    assert client.get(path, headers=held).status_code == 200


def test_the_wallets_label_is_the_shown_name(client: Client) -> None:
    checkout = make_exact_checkout(merchant=make_branded())
    path = f"/c/{checkout.code}/choose"
    answer = client.post(path, {"chain": "solana", "token": "USDC"})
    text = client.get(answer["Location"]).content.decode()
    assert "label=Halden&" in text.replace("&amp;", "&")


def test_a_stranger_learns_nothing_of_merchants_by_guessing(client: Client) -> None:
    assert client.get(f"/brand/{new_id('mer')}/{'0' * 16}.css").status_code == 404
