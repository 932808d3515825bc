"""The search page: whatever names an object finds it in its group, for its own merchant and mode alone, and by indexes."""

import pytest

from accounts.states import Mode
from checkouts.models import Checkout, InboxItem
from links.models import LinkCheckout
from settlements.models import GasAttempt
from tests.checkouts.inboxes import extra_item
from tests.checkouts.watcher import pay
from tests.dashboard.machines import make_gas_transaction, make_machine_payment, make_settlement
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout, make_wallet
from tests.links.factories import make_link
from tests.reports.takings import earn
from wallets.models import Transfer

pytestmark = pytest.mark.django_db

BUYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
GROUPS = ("items", "checkouts", "payments", "links", "settlements")


def found(desk: Desk, text: str) -> dict[str, list[str]]:
    """What the page lists by group: ids, an item's amount and a payment's transaction; groups without a result left out."""
    page = desk.client.get(desk.url("dashboard_search"), {"q": text})
    assert page.status_code == 200
    matches = page.context["matches"]
    names = {
        "items": [row.amount for row in matches.items],
        "checkouts": [row.public_id for row in matches.checkouts],
        "payments": [row.tx_hash for row in matches.payments],
        "links": [row.public_id for row in matches.links],
        "settlements": [row.id for row in matches.settlements],
    }
    return {group: rows for group, rows in names.items() if rows}


@pytest.fixture
def item(owner: Desk) -> InboxItem:
    """26 USDC that came for a paid checkout, whose order is A-1."""
    item = extra_item(26_000_000, merchant=owner.merchant, order_ref="A-1")
    Transfer.objects.filter(pk=item.transfer_id).update(sender=BUYER)
    return item


def test_inbox_money_is_found_by_hash_address_id_and_order_reference(owner: Desk, item: InboxItem) -> None:
    assert item.checkout is not None
    transfer = item.transfer
    keys = [
        str(item.pk),
        transfer.tx_hash,
        f"https://basescan.org/tx/{transfer.tx_hash}",
        transfer.public_id,
        transfer.recipient.lower(),
        BUYER,
        BUYER.lower(),
        "A-1",
        item.checkout.public_id,
    ]
    for key in keys:
        assert found(owner, key)["items"] == ["26.00"], key


def test_a_payment_is_found_by_hash_addresses_id_and_order_reference(owner: Desk) -> None:
    transfer = earn(owner.merchant, order_ref="A-2", sender=BUYER)
    keys = [transfer.tx_hash, transfer.public_id, transfer.recipient, BUYER, "A-2"]
    for key in keys:
        groups = found(owner, key)
        assert groups["payments"] == [transfer.tx_hash], key
        assert len(groups["checkouts"]) == 1, key


def test_a_receiving_wallet_finds_what_came_to_it(owner: Desk) -> None:
    wallet = make_wallet(owner.merchant)
    transfer = earn(owner.merchant)
    Transfer.objects.filter(pk=transfer.pk).update(deposit=None, wallet=wallet)
    assert found(owner, wallet.address)["payments"] == [transfer.tx_hash]


def test_a_machines_payment_is_found_by_hash_and_id(owner: Desk) -> None:
    made = make_machine_payment(owner.merchant)
    for key in (made.public_id, made.tx_hash):
        assert found(owner, key) == {"payments": [made.tx_hash]}
    tested = make_machine_payment(owner.merchant, mode=Mode.TEST)
    assert found(owner, tested.tx_hash) == {}
    owner.mode = Mode.TEST
    assert found(owner, tested.tx_hash) == {"payments": [tested.tx_hash]}


def test_a_link_is_found_by_id_code_page_and_what_was_paid(owner: Desk) -> None:
    link = make_link(owner.merchant, mode=Mode.LIVE)
    paid = make_checkout(owner.merchant, order_ref="L-1")
    LinkCheckout.objects.create(link=link, checkout=paid, slot="x", attempt=1)
    transfer = pay(paid)
    keys = [
        link.public_id,
        link.code,
        f"https://pay.example/p/{link.code}?lang=de",
        paid.public_id,
        "L-1",
        transfer.tx_hash,
    ]
    for key in keys:
        assert found(owner, key)["links"] == [link.public_id], key


def test_a_settlement_is_found_by_id_hash_forwarder_and_order_reference(owner: Desk) -> None:
    transfer = earn(owner.merchant, order_ref="S-1")
    sent = make_gas_transaction(now=NOON)
    tx_hash = f"0x{'5e' * 32}"
    GasAttempt.objects.create(
        transaction=sent, number=1, tx_hash=tx_hash, raw=b"", max_fee=1, priority_fee=1, signed_at=NOON
    )
    made = make_settlement(owner.merchant, deposit=transfer.deposit, transaction=sent, tx_hash=tx_hash)
    for key in (made.public_id, tx_hash, transfer.recipient, "S-1", transfer.tx_hash):
        assert found(owner, key)["settlements"] == [made.public_id], key


def test_nothing_of_another_merchant_or_mode_is_ever_found(owner: Desk, stranger: Desk, item: InboxItem) -> None:
    theirs = Desk(stranger.client, stranger.user.memberships.get().merchant, stranger.user)
    in_test = Desk(owner.client, owner.merchant, owner.user, Mode.TEST)
    link = make_link(owner.merchant, mode=Mode.LIVE)
    earned = earn(owner.merchant, order_ref="A-2", sender=BUYER)
    settled = make_settlement(owner.merchant, deposit=earned.deposit)
    machine = make_machine_payment(owner.merchant)
    assert item.checkout is not None
    keys = [
        str(item.pk),
        item.transfer.tx_hash,
        item.transfer.public_id,
        item.checkout.public_id,
        item.checkout.code,
        earned.recipient,
        BUYER,
        "A-1",
        "A-2",
        link.public_id,
        link.code,
        settled.public_id,
        settled.tx_hash,
        machine.public_id,
        machine.tx_hash,
    ]
    for key in keys:
        assert found(theirs, key) == {}, key
        assert found(in_test, key) == {}, key
    answer = stranger.client.get(owner.url("dashboard_search"), {"q": "A-1"})
    assert answer.status_code == 404


@pytest.mark.parametrize("text", ["secret@buyer.example", "\x00", "9" * 30, "http://[", "x" * 2000, "%", HOSTILE])
def test_what_names_nothing_finds_nothing_and_is_text(text: str, owner: Desk, item: InboxItem) -> None:
    page = owner.client.get(owner.url("dashboard_search"), {"q": text})
    assert page.status_code == 200
    assert page.context["matches"].count == 0
    assert "<script>alert" not in page.text
    assert "Nothing found" in page.text


def test_what_strangers_wrote_is_text(owner: Desk, item: InboxItem) -> None:
    Transfer.objects.filter(pk=item.transfer_id).update(labels=[HOSTILE])
    Checkout.objects.filter(inbox_items=item).update(description=HOSTILE)
    page = owner.client.get(owner.url("dashboard_search"), {"q": "A-1"}).text
    assert "&lt;script&gt;alert" in page
    assert "<script>alert" not in page


def test_an_empty_search_says_what_can_be_found(owner: Desk) -> None:
    page = owner.get("dashboard_search").text
    assert "What are you looking for?" in page
    assert "Search" in page


def test_the_box_on_every_page_leads_here_and_keeps_its_text(owner: Desk) -> None:
    assert f'action="{owner.url("dashboard_search")}"' in owner.get("dashboard_team").text
    page = owner.client.get(owner.url("dashboard_search"), {"q": "A-77"}).text
    assert 'value="A-77"' in page
