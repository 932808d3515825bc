"""What a search finds, and by which indexes."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.states import Mode
from checkouts.models import Checkout, InboxItem, Payment
from links.models import LinkCheckout, PaymentLink
from reports.dashboard.search import MOST_SHOWN, matches_of
from settlements.models import Settlement, SettlementItem
from tests.checkouts.inboxes import extra_item
from tests.dashboard.machines import make_machine_payment, make_settlement
from tests.dashboard.people import Desk
from tests.factories import make_checkout
from tests.links.factories import make_link
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
    scans = [f"Seq Scan on {model._meta.db_table}" for model in filled]
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
