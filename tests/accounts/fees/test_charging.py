"""Where fees are charged: where the operator says so, and where they were before anybody could say it."""

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test import Client

from accounts.fees.service import charge, charges_fees, unvoid, void
from accounts.models import FeeEntry, Merchant
from accounts.states import FeeKind, FeeTier
from demo.management.commands.demo import DEVELOPMENT
from gateway.environment import parse_choice
from tests.accounts.fee_entries import booked, charged, completed
from tests.checkouts.schema import alter
from tests.contract.client import ApiClient
from tests.dashboard.people import Desk
from tests.factories import NOON, make_merchant
from tests.reports.answers import summary
from tests.reports.takings import earn, now_and

pytestmark = pytest.mark.django_db


@pytest.fixture
def free(settings: Any) -> None:
    """Nobody charges fees."""
    settings.CHARGE_FEES = False


def is_charged(merchant: Merchant) -> bool:
    """Whether a payment that completes now costs a fee."""
    payment = completed(merchant)
    charge([payment], now=NOON)
    return FeeEntry.objects.filter(subject_id=payment.subject_id).exists()


def test_the_demo_charges_fees_and_shows_them(settings: Any, owner: Desk) -> None:
    settings.CHARGE_FEES = parse_choice("CHARGE_FEES", "")
    assert owner.url("dashboard_fees") not in owner.get("dashboard_team").text
    settings.CHARGE_FEES = parse_choice("CHARGE_FEES", DEVELOPMENT["CHARGE_FEES"])
    assert owner.url("dashboard_fees") in owner.get("dashboard_team").text


@pytest.mark.parametrize(
    ("said", "charged_before", "charges"),
    [(None, False, False), (None, True, True), (True, False, True), (False, True, False)],
)
def test_the_operator_says_whether_fees_are_charged(
    settings: Any, *, said: bool | None, charged_before: bool, charges: bool
) -> None:
    settings.CHARGE_FEES = said
    merchant = make_merchant(charged_before=charged_before)
    # Later merchants of the same installation, and those with a plan, are treated alike.
    planned = make_merchant(fee_tier=FeeTier.SCALE, fee_rate="0.007")
    assert charges_fees() is charges
    assert [is_charged(one) for one in (merchant, make_merchant(), planned)] == [charges] * 3


def test_merchants_of_an_installation_that_is_upgraded_were_charged_before() -> None:
    """The migration marks those that there are, and none that an old or new process adds later."""
    old = make_merchant()
    alter("ALTER TABLE accounts_merchant DROP COLUMN charged_before")
    name = "0013_charged_before"
    migration = import_module(f"accounts.migrations.{name}").Migration(name, "accounts")
    state = MigrationLoader(None).project_state(("accounts", "0012_domain_is_proven"))
    with connection.schema_editor() as editor:
        migration.apply(state, editor)
    new = make_merchant()
    with connection.cursor() as cursor:
        # As the release before inserts it.
        cursor.execute(
            "INSERT INTO accounts_merchant (public_id, name, fee_tier, fee_rate, buyers_may_retry, mails_receipts,"
            " wallet_change_hours, created_at) VALUES ('mer_old', 'x', 'starter', 0.015, false, false, 24, now())"
        )
    marked = dict(Merchant.objects.values_list("public_id", "charged_before"))
    assert marked == {old.public_id: True, new.public_id: False, "mer_old": False}


def test_what_was_charged_is_still_corrected_where_nobody_charges_any_more(settings: Any, merchant: Merchant) -> None:
    entry = charged(merchant)
    settings.CHARGE_FEES = False
    void(FeeKind.CHECKOUT, [entry.subject_id], now=NOON + timedelta(days=1))
    assert sum(amount for _, amount in booked(entry.subject_id)) == 0
    unvoid(FeeKind.CHECKOUT, [entry.subject_id], now=NOON + timedelta(days=2))
    assert [amount for _, amount in booked(entry.subject_id)] == [entry.amount, -entry.amount, entry.amount]


def test_no_page_tells_of_plans_or_fees_where_nobody_charges_them(owner: Desk, settings: Any) -> None:
    settings.CHARGE_FEES = True
    entry = charged(owner.merchant, at=now_and()["block_time"])
    month = f"{entry.charged_at:%Y-%m}"
    page = owner.get("dashboard_reports").text
    assert "Starter plan" in page
    assert "<dt>Fees</dt>" in page
    assert owner.get("dashboard_fees").status_code == 200
    settings.CHARGE_FEES = False
    for name in ("dashboard_reports", "dashboard_overview", "dashboard_payments"):
        page = owner.get(name).text
        assert "plan</small>" not in page
        assert ">Fees<" not in page
        assert owner.url("dashboard_fees") not in page
    assert owner.get("dashboard_fees").status_code == 404
    for name in ("dashboard_statement", "dashboard_statement_csv"):
        assert owner.get(name, month=month).status_code == 404


@pytest.mark.usefixtures("free")
def test_the_api_keeps_its_fields_where_nobody_charges_fees(shop: ApiClient) -> None:
    earn(shop.merchant)
    assert shop.merchant is not None
    assert not is_charged(shop.merchant)
    assert summary(shop)["fees"] == "0.00"
    [row] = shop.get("/reports/transactions").body["data"]
    assert row["fee"] is None


@pytest.mark.usefixtures("free")
def test_the_operator_sees_no_plans_where_nobody_pays_for_one(operators_browser: Client, merchant: Merchant) -> None:
    listed = operators_browser.get("/operator/accounts/merchant/").text
    page = operators_browser.get(f"/operator/accounts/merchant/{merchant.pk}/change/").text
    assert merchant.name in listed
    assert merchant.name in page
    for text in (listed, page):
        assert "fee_tier" not in text
        assert "Starter" not in text
    operators_browser.post(
        f"/operator/accounts/merchant/{merchant.pk}/change/", {"fee_tier": "growth", "fee_rate": "0.01"}
    )
    merchant.refresh_from_db()
    assert merchant.fee_tier == FeeTier.STARTER
