"""The page of a customer: what it adds up, who may see it, and the team's notes."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import IntegrityError, transaction

from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.inbox.successors import accept_late
from checkouts.models import Checkout, CustomerNote
from payouts.models import PayoutSource
from tests.checkouts.factories import make_completed, make_page_checkout
from tests.checkouts.inboxes import LATER, late_item
from tests.checkouts.schema import alter
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.people import Desk
from tests.factories import NOON, WALLET
from tests.payouts.factories import make_payout
from wallets.models import Transfer

pytestmark = pytest.mark.django_db

REF, EMAIL = "cus_7", "Ann@shop.example"


@pytest.fixture
def bought(owner: Desk) -> list[Checkout]:
    """Two checkouts that Ann paid from one wallet, and one that she did not pay, oldest first."""
    named: dict[str, Any] = {"merchant": owner.merchant, "customer_ref": REF, "customer_email": EMAIL}
    made = [make_completed(**named), make_completed(**named), make_page_checkout(**named)]
    Transfer.objects.filter(payment__checkout__in=made).update(sender=WALLET)
    Checkout.objects.filter(pk=made[1].pk).update(paid_at=NOON + timedelta(days=1))
    Checkout.objects.filter(pk=made[0].pk).update(paid_at=NOON)
    make_completed(merchant=owner.merchant, customer_ref="cus_70", customer_email="joann@shop.example")
    make_completed(merchant=owner.merchant, customer_ref="", customer_email="", description=f"For {EMAIL}")
    return made


def page_of(desk: Desk, **query: str) -> Any:
    return desk.client.get(desk.url("dashboard_customers"), query)


@pytest.mark.parametrize("query", [{"ref": REF}, {"email": EMAIL.lower()}, {"email": EMAIL.upper()}])
def test_a_customer_has_what_its_checkouts_add_up_to(
    query: dict[str, str], owner: Desk, bought: list[Checkout]
) -> None:
    page = page_of(owner, **query)
    sums = page.context["sums"]
    assert (sums.checkouts, sums.completed, sums.paid) == (3, 2, Decimal(98))
    assert sums.last_paid_at == NOON + timedelta(days=1)
    assert [row.public_id for row in page.context["rows"]] == [one.public_id for one in reversed(bought)]
    assert "98.00" in page.text


def test_money_that_a_successor_took_over_is_added_up_once(owner: Desk) -> None:
    late = late_item(before=10 * DOLLAR, late=15 * DOLLAR, merchant=owner.merchant, customer_ref=REF)
    with transaction.atomic():
        accept_late(late, now=LATER)
    sums = page_of(owner, ref=REF).context["sums"]
    assert (sums.checkouts, sums.completed, sums.paid) == (2, 1, Decimal(25))


@pytest.mark.parametrize("address", [WALLET, WALLET.lower()])
def test_a_paying_address_is_a_customer_with_a_warning(address: str, owner: Desk, bought: list[Checkout]) -> None:
    page = page_of(owner, address=address)
    assert (page.context["sums"].checkouts, page.context["sums"].paid) == (2, Decimal(98))
    assert "for many people" in page.text


def test_a_customer_has_the_refunds_of_its_checkouts(owner: Desk, bought: list[Checkout]) -> None:
    refund, other = make_payout(owner.merchant), make_payout(owner.merchant)
    paid = bought[0].payments.get().transfer
    PayoutSource.objects.create(payout=refund, transfer=paid, units=1_000_000)
    assert [row.public_id for row in page_of(owner, ref=REF).context["refunds"]] == [refund.public_id]
    assert other.public_id not in page_of(owner, ref=REF).text


@pytest.mark.parametrize(
    "query",
    [
        {"ref": "cus_"},
        {"ref": "x" * 200},
        {"ref": "\x00"},
        {"email": "shop.example"},
        {"email": "nobody@shop.example"},
        {"address": "0x1234"},
        {"address": "0x" + "11" * 20},
        {"ref": REF, "email": EMAIL},
    ],
)
def test_what_is_no_customer_is_not_there(query: dict[str, str], owner: Desk, bought: list[Checkout]) -> None:
    assert page_of(owner, **query).status_code == 404


def test_another_merchants_and_the_other_modes_customers_are_not_there(
    owner: Desk, stranger: Desk, bought: list[Checkout]
) -> None:
    theirs = Desk(stranger.client, stranger.user.memberships.get().merchant, stranger.user)
    in_test = Desk(owner.client, owner.merchant, owner.user, Mode.TEST)
    for query in ({"ref": REF}, {"email": EMAIL}, {"address": WALLET}):
        for desk in (theirs, in_test):
            assert page_of(desk, **query).status_code == 404
            answer = desk.post("dashboard_customer_note", query | {"text": "x"})
            assert answer.status_code == 404
        assert stranger.client.get(owner.url("dashboard_customers"), query).status_code == 404
    assert not CustomerNote.objects.exists()


def test_viewers_reach_no_customer_by_e_mail_and_write_no_notes(
    owner: Desk, viewer: Desk, bought: list[Checkout]
) -> None:
    assert page_of(viewer, email=EMAIL).status_code == 404
    owner.post("dashboard_customer_note", {"email": EMAIL, "text": "calls often"})
    assert EMAIL.lower() in page_of(owner).text
    assert EMAIL.lower() not in page_of(viewer).text
    page = page_of(viewer, ref=REF)
    assert page.status_code == 200
    assert "Save note" not in page.text
    assert viewer.post("dashboard_customer_note", {"ref": REF, "text": "x"}).status_code == 403
    # The audit log, which viewers read, does not tell the address either.
    assert AuditEntry.objects.filter(action="customer.note_written").get().object_id == "an e-mail address"


def test_a_note_is_written_changed_and_removed_with_its_author_in_the_log(owner: Desk, bought: list[Checkout]) -> None:
    for text in ("Pays late", "Pays late", "Pays in time", ""):
        answer = owner.post("dashboard_customer_note", {"ref": REF, "text": text})
        assert answer["Location"] == f"{owner.url('dashboard_customers')}?{urlencode({'ref': REF})}"
        assert [note.text for note in CustomerNote.objects.all()] == ([text] if text else [])
        assert (text in page_of(owner, ref=REF).text) if text else True
    entries = AuditEntry.objects.filter(action="customer.note_written").order_by("pk")
    assert [(entry.before, entry.after) for entry in entries] == [
        ({"note": ""}, {"note": "Pays late"}),
        ({"note": "Pays late"}, {"note": "Pays in time"}),
        ({"note": "Pays in time"}, {"note": ""}),
    ]
    assert {entry.object_id for entry in entries} == {REF}
    too_long = owner.post("dashboard_customer_note", {"ref": REF, "text": "x" * 1_001})
    assert too_long.status_code == 302
    assert not CustomerNote.objects.exists()


def test_a_customer_has_one_note_whoever_writes_at_once(owner: Desk) -> None:
    values = {"merchant": owner.merchant, "mode": Mode.LIVE, "kind": "ref", "value": REF, "author": owner.user}
    CustomerNote.objects.create(**values, text="one", written_at=NOON)
    with pytest.raises(IntegrityError, match="customer_note_once"), transaction.atomic():
        CustomerNote.objects.create(**values, text="two", written_at=NOON)


def test_without_its_constraint_a_customer_has_two_notes(owner: Desk) -> None:
    alter("ALTER TABLE checkouts_customernote DROP CONSTRAINT customer_note_once")
    values = {"merchant": owner.merchant, "mode": Mode.LIVE, "kind": "ref", "value": REF, "author": owner.user}
    for text in ("one", "two"):
        CustomerNote.objects.create(**values, text=text, written_at=NOON)
    assert CustomerNote.objects.count() == 2


@pytest.mark.parametrize(("text", "kind"), [(REF, "ref"), (EMAIL, "email"), (WALLET.lower(), "address")])
def test_whatever_names_a_customer_leads_to_its_page(text: str, kind: str, owner: Desk, bought: list[Checkout]) -> None:
    answer = page_of(owner, q=text)
    assert f"?{kind}=" in answer["Location"]
    assert owner.client.get(answer["Location"]).status_code == 200
    found = owner.client.get(owner.url("dashboard_search"), {"q": text})
    assert f"?{kind}=" in found.text
    assert "No such customer" in page_of(owner, q=f"{text}-x").text


def test_what_customers_are_called_is_text(owner: Desk) -> None:
    hostile = "<script>alert(1)</script>"
    make_page_checkout(owner.merchant, customer_ref=hostile)
    owner.post("dashboard_customer_note", {"ref": hostile, "text": hostile})
    for page in (page_of(owner, ref=hostile), page_of(owner)):
        assert "&lt;script&gt;" in page.text
        assert "<script>alert" not in page.text
