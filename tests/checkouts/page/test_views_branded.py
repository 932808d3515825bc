"""The hosted page in a merchant's own look: what the buyer reads, what it weighs, and what it costs to make."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from django.test import Client

from accounts.brand.service import BrandingChanges, change_branding
from accounts.models import Merchant
from checkouts.models import Checkout
from demo.shop.logo import shop_logo
from gateway.core.ids import new_id
from tests.checkouts.factories import (
    make_closed,
    make_completed,
    make_exact_checkout,
    make_expired,
    make_overpaid,
    make_page_checkout,
    make_seen,
    make_underpaid,
)
from tests.checkouts.page.test_views import page_of
from tests.factories import NOON, make_merchant
from tests.weight import MOST_BYTES, static_files_of, weights
from wallets.selectors import forget

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

LEGAL = "Halden Coffee Trading GmbH"
STATES: list[Callable[..., Checkout]] = [
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


@pytest.mark.parametrize("make", STATES)
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
        with django_assert_num_queries(3) as asked:
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
