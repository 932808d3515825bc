"""What a search finds, and by which indexes."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.states import Mode
from checkouts.models import Checkout, InboxItem, Payment
from links.models import LinkCheckout, PaymentLink
from reports.dashboard.search import MOST_SHOWN, matches_of
from settlements.models import GasAttempt, Settlement, SettlementItem
from tests.checkouts.inboxes import extra_item
from tests.checkouts.watcher import pay
from tests.dashboard.machines import make_gas_transaction, make_machine_payment, make_settlement
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout, make_wallet
from tests.links.factories import make_link
from tests.reports.takings import earn
from wallets.models import DepositAddress, Transfer
from x402.models import X402Payment

pytestmark = pytest.mark.django_db

BUYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def found(desk: Desk, text: str) -> dict[str, list[str]]:
    """What the page lists by group: ids, an item's amount and a payment's transaction; groups without a result left out."""
    page = desk.client.get(desk.url("dashboard_search"), {"q": text})
    assert page.status_code == 200
    matches = page.context["matches"]
    names = {
        "items": [row.amount for row in matches.items],
        "checkouts": [row.public_id for row in matches.checkouts],
        "payments": [row.tx_hash for row in matches.payments],
        "links": [row.link.public_id for row in matches.links],
        "settlements": [row.public_id for row in matches.settlements],
    }
    return {group: rows for group, rows in names.items() if rows}


@pytest.fixture
def item(owner: Desk) -> InboxItem:
    """26 USDC that came for a paid checkout, whose order is A-1."""
    item = extra_item(26_000_000, merchant=owner.merchant, order_ref="A-1")
    Transfer.objects.filter(pk=item.transfer_id).update(sender=BUYER)
    return item


def test_a_receipts_number_finds_its_checkout_alone(owner: Desk) -> None:
    checkout = make_checkout(owner.merchant)
    make_checkout(owner.merchant)
    begin = checkout.public_id.removeprefix("chk_live_")[:10]
    for text in (begin, begin.upper(), f"{begin[:5].upper()}-{begin[5:].upper()}"):
        assert found(owner, text)["checkouts"] == [checkout.public_id]
    assert found(owner, begin[:9]) == {}


def test_of_many_the_newest_are_shown(owner: Desk) -> None:
    for _ in range(MOST_SHOWN + 2):
        make_checkout(owner.merchant, order_ref="A-9", creation_ref=None)
    newest = Checkout.objects.order_by("-pk").values_list("public_id", flat=True)
    assert found(owner, "A-9")["checkouts"] == list(newest[:MOST_SHOWN])


MANY = 20_000


def multiply(model: Any, pk: int, **different: str) -> None:
    """Copy a row many times; `different` has SQL for the columns that differ, in which n counts."""
    columns = [f.column for f in model._meta.concrete_fields if not f.primary_key]
    values = [different.get(column, f'"{column}"') for column in columns]
    names = ", ".join(f'"{column}"' for column in columns)
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({names}) SELECT {', '.join(values)}"
            f" FROM {table} CROSS JOIN generate_series(1, {MANY}) n WHERE id = {pk}"
        )


HASHED = "'0x' || md5(n::text) || md5((-n)::text)"

BYTES = "decode(md5(n::text) || md5((-n)::text), 'hex')"

SHORT_ID = "left(public_id, 30) || n"

SHORT_CODE = "left(code, 20) || n"


def run(statement: str, *values: int) -> None:
    """Run a statement of SQL."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def fill(item: InboxItem) -> None:
    """Give the merchant some thousands of everything that is searched."""
    fill_payments(item)
    fill_links(item)
    fill_settlements(item)
    run("ANALYZE")


def fill_payments(item: InboxItem) -> None:
    """Checkouts, transfers that paid them or wait in the inbox, and machines' payments."""
    multiply(
        Checkout,
        item.checkout_id or 0,
        public_id=SHORT_ID,
        code=SHORT_CODE,
        order_ref="'order-' || n",
        creation_ref="'order-' || n",
        deposit_nonce=BYTES,
    )
    multiply(Transfer, item.transfer_id, public_id=SHORT_ID, tx_hash=HASHED, sender="'0x' || md5(n::text)")
    run(
        "INSERT INTO checkouts_inboxitem (merchant_id, mode, transfer_id, reason, explanation, candidates, status,"
        " created_at) SELECT merchant_id, mode, id, 'unmatched', '', '[]', 'dismissed', now() FROM wallets_transfer"
        " WHERE id > %s AND id %% 2 = 0",
        item.transfer_id,
    )
    run(
        "INSERT INTO checkouts_payment (checkout_id, transfer_id, reason, credited_at) SELECT c.id, t.id, '', now()"
        " FROM (SELECT id, row_number() OVER () n FROM wallets_transfer WHERE id > %s AND id %% 2 = 1) t"
        " JOIN (SELECT id, row_number() OVER () n FROM checkouts_checkout WHERE id > %s) c USING (n)",
        item.transfer_id,
        item.checkout_id or 0,
    )
    machine = make_machine_payment(item.merchant)
    multiply(X402Payment, machine.pk, public_id=SHORT_ID, tx_hash=HASHED)


def fill_links(item: InboxItem) -> None:
    """Links, one of which made all the checkouts."""
    link = make_link(item.merchant, mode=Mode.LIVE)
    multiply(PaymentLink, link.pk, public_id=SHORT_ID, code=SHORT_CODE)
    run(
        "INSERT INTO links_linkcheckout (link_id, checkout_id, slot, attempt)"
        " SELECT %s, id, id::text, 1 FROM checkouts_checkout WHERE id > %s",
        link.pk,
        item.checkout_id or 0,
    )


def fill_settlements(item: InboxItem) -> None:
    """Settlements, each of one forwarder."""
    deposit = item.transfer.deposit
    assert deposit is not None
    settled = make_settlement(item.merchant, deposit=deposit)
    multiply(Settlement, settled.pk, public_id=SHORT_ID, tx_hash=HASHED)
    key = "decode(substr(md5(n::text) || md5((-n)::text), 1, 40), 'hex')"
    multiply(DepositAddress, deposit.pk, key=key, nonce=BYTES)
    run(
        "INSERT INTO settlements_settlementitem (settlement_id, deposit_id, token, chain, units, units_moved, ended_at)"
        " SELECT s.id, d.id, 'USDC', 'base', 1, 1, now()"
        " FROM (SELECT id, row_number() OVER () n FROM settlements_settlement WHERE id > %s) s"
        " JOIN (SELECT id, row_number() OVER () n FROM wallets_depositaddress WHERE id > %s) d USING (n)",
        settled.pk,
        deposit.pk,
    )


def test_every_question_is_answered_by_an_index(owner: Desk, item: InboxItem) -> None:
    fill(item)
    seat = owner.get("dashboard_search").wsgi_request.seat
    assert item.checkout is not None
    filled = [
        Checkout,
        Transfer,
        InboxItem,
        Payment,
        X402Payment,
        PaymentLink,
        LinkCheckout,
        Settlement,
        SettlementItem,
        DepositAddress,
    ]
    # The blank ends the name: `wallets_transferreturn` is empty here and may be read whole.
    scans = [f"Seq Scan on {model._meta.db_table} " for model in filled]
    for text in (
        "order-77",
        str(item.pk),
        BUYER,
        item.transfer.tx_hash,
        item.transfer.recipient,
        item.checkout.public_id,
    ):
        with CaptureQueriesContext(connection) as asked:
            assert matches_of(seat, text).count, text
        with connection.cursor() as cursor:
            for query in asked.captured_queries:
                cursor.execute(f"EXPLAIN {query['sql']}")
                plan = "\n".join(line for [line] in cursor.fetchall())
                assert not [scan for scan in scans if scan in plan], (text, plan)


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
GROUPS = ("items", "checkouts", "payments", "links", "settlements")


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
