"""A shop's domain: what proves it, for how long, and that nothing else is shown."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from accounts.brand import views
from accounts.brand.domains import PATH, parse_domain, review_domains, set_domain
from accounts.brand.facts import brand_of
from accounts.brand.service import change_branding
from accounts.models import AuditEntry, Branding, Merchant
from gateway.core.api.errors import InvalidRequestError
from gateway.core.fetching import UnavailableTextError
from tests.checkouts.factories import make_page_checkout
from tests.checkouts.schema import alter
from tests.dashboard.people import Desk
from tests.factories import NOON, make_merchant

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
SHOP = "shop.example.com"


def says(text: str) -> Callable[[str], str]:
    """A shop whose file has this text, and which has no other file."""

    def fetch(url: str) -> str:
        assert url == f"https://{SHOP}{PATH}"
        return text

    return fetch


def is_away(_url: str) -> str:
    raise UnavailableTextError("it cannot be reached")


def proven(merchant: Merchant) -> Branding:
    set_domain(merchant, SHOP, now=NOON, fetch=says(f"# Florin\r\n  {merchant.public_id}  \r\n"))
    return Branding.objects.get(merchant=merchant)


@pytest.mark.parametrize(
    ("typed", "domain"),
    [
        ("shop.example.com", "shop.example.com"),
        (" https://Shop.Example.com/ ", "shop.example.com"),
        ("b\u00fccher.example", "xn--bcher-kva.example"),
    ],
)
def test_a_domain_is_read_as_browsers_write_it(typed: str, domain: str) -> None:
    assert parse_domain(typed) == domain


@pytest.mark.parametrize(
    "typed",
    ["localhost", "127.0.0.1", "2130706433", "[::1]", "a@b.example", "shop.example:8080", "a.local", "..", "x y.example",
     "javascript:alert(1)", "shop.example.", "x" * 70 + ".example"],
)  # fmt: skip
def test_what_is_no_public_domain_is_refused_and_not_asked(typed: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        set_domain(make_merchant(), typed, now=NOON, fetch=says(""))
    assert refused.value.param == "domain"
    assert not Branding.objects.exists()


def test_a_file_that_names_the_merchant_proves_the_domain_and_it_is_audited() -> None:
    merchant = make_merchant()
    branding = proven(merchant)
    assert (branding.domain, branding.domain_verified_at) == (SHOP, NOON)
    assert brand_of(Merchant.objects.get(pk=merchant.pk)).domain == SHOP
    entry = AuditEntry.objects.get(action="merchant.domain_changed")
    assert (entry.before, entry.after) == ({"domain": ""}, {"domain": SHOP})
    proven(merchant)
    assert AuditEntry.objects.filter(action="merchant.domain_changed").count() == 1


@pytest.mark.parametrize(
    "fetch", [says(""), says("mer_another"), says("xmer_"), is_away], ids=["empty", "another", "longer", "away"]
)
def test_nothing_else_proves_it(fetch: Callable[[str], str]) -> None:
    with pytest.raises(InvalidRequestError, match="is not proven"):
        set_domain(make_merchant(), SHOP, now=NOON, fetch=fetch)
    assert not Branding.objects.exists()


def test_a_merchants_id_within_a_line_is_no_proof() -> None:
    merchant = make_merchant()
    with pytest.raises(InvalidRequestError, match="has no line"):
        set_domain(merchant, SHOP, now=NOON, fetch=says(f"not {merchant.public_id}"))


def test_an_empty_text_removes_it_without_asking() -> None:
    merchant = make_merchant()
    proven(merchant)
    assert set_domain(merchant, " ", now=NOON, fetch=is_away) == ""
    assert Branding.objects.get().domain_verified_at is None


def test_a_proof_is_looked_up_each_day_and_lasts_a_month_without_an_answer() -> None:
    merchant = make_merchant()
    proven(merchant)
    assert review_domains(now=NOON + DAY, fetch=is_away) == 0
    later = NOON + 2 * DAY
    assert review_domains(now=later, fetch=says(merchant.public_id)) == 0
    assert Branding.objects.get().domain_verified_at == later
    assert review_domains(now=later + 30 * DAY, fetch=is_away) == 0
    assert Branding.objects.get().domain == SHOP
    assert review_domains(now=later + 31 * DAY, fetch=is_away) == 1
    assert Branding.objects.get().domain == ""


def test_a_file_that_names_somebody_else_takes_it_away_at_once() -> None:
    proven(make_merchant())
    assert review_domains(now=NOON + 2 * DAY, fetch=says("mer_another")) == 1
    assert Branding.objects.get().domain == ""


def test_what_was_set_during_a_look_stays() -> None:
    merchant = make_merchant()
    proven(merchant)
    later = NOON + 2 * DAY

    def fetch(_url: str) -> str:
        set_domain(merchant, SHOP, now=later, fetch=says(merchant.public_id))
        return "mer_another"

    assert review_domains(now=later, fetch=fetch) == 0
    assert Branding.objects.get().domain == SHOP


def test_no_row_has_a_domain_that_nobody_proved() -> None:
    branding = change_branding(make_merchant(), changes={"accent": "#112233"}, now=NOON)
    for values in ({"domain": SHOP}, {"domain_verified_at": NOON}):
        with pytest.raises(IntegrityError, match="branding_domain_is_proven"), transaction.atomic():
            Branding.objects.filter(pk=branding.pk).update(**values)


def test_without_the_constraint_a_domain_would_be_shown_that_nobody_proved() -> None:
    """The negative control of the test above."""
    branding = change_branding(make_merchant(), changes={"accent": "#112233"}, now=NOON)
    alter("ALTER TABLE accounts_branding DROP CONSTRAINT branding_domain_is_proven")
    Branding.objects.filter(pk=branding.pk).update(domain=SHOP)
    assert brand_of(Merchant.objects.get(pk=branding.pk)).domain == SHOP


def test_an_admin_proves_it_and_buyers_see_it(admin: Desk, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def prove(*arguments: Any, **options: Any) -> str:
        return set_domain(*arguments, **options, fetch=says(admin.merchant.public_id))

    monkeypatch.setattr(views, "set_domain", prove)
    page = admin.get("dashboard_branding").text
    assert admin.merchant.public_id in page
    refused = admin.post("dashboard_domain", {"domain": "localhost"})
    assert refused.status_code == 422
    assert "must be a domain such as" in refused.text
    assert admin.post("dashboard_domain", {"domain": f"https://{SHOP}"}).status_code == 302
    checkout = make_page_checkout(Merchant.objects.get(pk=admin.merchant.pk))
    text = " ".join(client.get(f"/c/{checkout.code}").content.decode().split())
    assert f"Verified domain:</span> <bdi>{SHOP}</bdi>" in text


def test_a_member_cannot_have_servers_asked_again_and_again(admin: Desk) -> None:
    answers = [admin.post("dashboard_domain", {"domain": "localhost"}) for _ in range(6)]
    assert "Too many requests" in answers[-1].text
