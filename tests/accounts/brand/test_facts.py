"""What pages know of a merchant's brand."""

import io
from collections.abc import Callable
from typing import Any, cast

import pytest
from PIL import Image

from accounts.brand.facts import Brand, brand_of, with_brand
from accounts.brand.service import BrandingChanges, change_branding
from accounts.brand.styles import stylesheet_version
from accounts.models import Branding, Merchant
from checkouts.models import Checkout
from tests.factories import NOON, make_checkout, make_merchant, make_user

pytestmark = pytest.mark.django_db


FULL = BrandingChanges(
    display_name="Halden",
    accent="#D2001A",
    support_url="https://halden.example/help",
    terms_url="https://halden.example/terms",
    return_label="Back to the beans",
)


def a_logo(colour: str = "navy") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(out, "JPEG")
    return out.getvalue()


def change(merchant: Merchant, **changes: Any) -> Branding:
    return change_branding(merchant, changes=cast("BrandingChanges", changes), now=NOON)


@pytest.mark.parametrize(
    ("name", "mark"), [("Halden Roasters", "HR"), ("florin", "F"), ("Ćevapi & Sons Ltd", "ĆS"), ("***", "")]
)
def test_a_merchant_is_marked_by_its_initials(name: str, mark: str) -> None:
    assert Brand(name).mark == mark


def test_a_merchant_without_branding_has_its_name_and_nothing_else() -> None:
    merchant = make_merchant()
    assert merchant.shown_name == "Halden Roasters"
    assert brand_of(merchant) == Brand("Halden Roasters")


def test_what_was_chosen_is_what_pages_show() -> None:
    merchant = make_merchant()
    branding = change_branding(merchant, changes={**FULL, "logo": a_logo()}, now=NOON, actor=make_user())
    read = Merchant.objects.get(pk=merchant.pk)
    assert read.shown_name == "Halden"
    assert brand_of(read) == Brand(
        name="Halden",
        merchant_id=merchant.public_id,
        style_version=stylesheet_version("#d2001a"),
        logo_digest=branding.logo_digest,
        support_url="https://halden.example/help",
        terms_url="https://halden.example/terms",
        return_label="Back to the beans",
    )
    assert branding.updated_at == NOON
    assert bytes(read.branding.logo).startswith(b"\x89PNG")


def test_a_page_reads_the_brand_in_its_own_query_and_leaves_the_logo_where_it_is(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    branded = make_merchant()
    change(branded, logo=a_logo())
    codes = [make_checkout(merchant).code for merchant in (branded, make_merchant())]
    with django_assert_num_queries(2) as asked:
        brands = [brand_of(with_brand(Checkout.objects.all()).get(code=code).merchant) for code in codes]
    assert [bool(brand.logo_digest) for brand in brands] == [True, False]
    assert '"logo"' not in asked.captured_queries[0]["sql"]
