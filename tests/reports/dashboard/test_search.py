"""What a search finds, and by which indexes."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.states import Mode, Role
from accounts.team.access import Seat
from checkouts.models import AmountReservation, Checkout, InboxItem, Payment
from checkouts.search import SEARCHED, take_in_words
from checkouts.states import InboxStatus
from gateway.core.postgres.words import vector
from links.models import LinkCheckout, PaymentLink
from links.selectors import SEARCHED as LINKS_SEARCHED
from payouts.models import Payout
from reports.dashboard.search import MOST_SHOWN, matches_of
from settlements.models import GasAttempt, Settlement, SettlementItem
from tests.checkouts.inboxes import extra_item
from tests.checkouts.watcher import pay
from tests.dashboard.machines import make_gas_transaction, make_machine_payment, make_settlement
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout, make_wallet
from tests.links.factories import make_link
from tests.payouts.factories import make_payout
from tests.rates.playing import make_quoted
from tests.reports.takings import earn
from wallets.models import DepositAddress, Transfer
from x402.models import X402Payment

pytestmark = pytest.mark.django_db

BUYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def found(desk: Desk, text: str) -> dict[str, list[str]]:
    """What is found by group: ids, an item's amount and a payment's transaction; groups without a result left out."""
    matches = matches_of(seat_of(desk), text)
    names = {
        "items": [row.amount for row in matches.items],
        "checkouts": [row.public_id for row in matches.checkouts],
        "payments": [row.tx_hash for row in matches.payments],
        "links": [row.link.public_id for row in matches.links],
        "payouts": [row.public_id for row in matches.payouts],
        "settlements": [row.public_id for row in matches.settlements],
    }
    return {group: rows for group, rows in names.items() if rows}


def seat_of(desk: Desk) -> Seat:
    """The person's place at the merchant, in the mode."""
    role = desk.user.memberships.get(merchant=desk.merchant).role
    return Seat(desk.user, desk.merchant, Role(role), Mode(desk.mode))


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
    assert found(owner, checkout.public_id[:15])["checkouts"] == [checkout.public_id]


def test_of_many_the_newest_are_shown(owner: Desk) -> None:
    for _ in range(MOST_SHOWN + 2):
        make_checkout(owner.merchant, order_ref="A-9", creation_ref=None)
    newest = Checkout.objects.order_by("-pk").values_list("public_id", flat=True)
    assert found(owner, "A-9")["checkouts"] == list(newest[:MOST_SHOWN])


def walnut(desk: Desk) -> Checkout:
    """A checkout of 4,242.42 USD, exactly 4,242.420042, of a table for Ann."""
    made = make_checkout(
        desk.merchant,
        amount=Decimal("4242.42"),
        description="“Walnut” table, oiled",
        order_ref="HR-20481",
        customer_ref="cus_77",
        customer_email="Ann@shop.example",
    )
    AmountReservation.objects.create(
        checkout=made,
        merchant=desk.merchant,
        mode=made.mode,
        price=made.amount,
        suffix=42,
        reference=b"r" * 32,
        memo="memo",
        reserved_at=NOON,
    )
    return made


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
        description="'Coffee ' || n",
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


OF_SEARCH = {
    "checkout_words",
    "checkout_by_amount",
    "checkout_by_price",
    "link_words",
    "transfer_hash_begins",
    "transfer_sender_begins",
}
"""Indexes that nothing but the search uses. Another may look good enough to the planner: they are looked for by name."""


FILLED = (
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
)


def plans_of(seat: Seat, text: str) -> list[str]:
    """The plan of each question that a text which finds something asks."""
    with CaptureQueriesContext(connection) as asked:
        assert matches_of(seat, text).count, text
    plans = []
    with connection.cursor() as cursor:
        for query in asked.captured_queries:
            cursor.execute(f"EXPLAIN {query['sql']}")
            plans.append("\n".join(line for [line] in cursor.fetchall()))
    return plans


def test_every_question_is_answered_by_an_index(owner: Desk, item: InboxItem, monkeypatch: pytest.MonkeyPatch) -> None:
    # A few of the newest, as five thousand are of a million.
    monkeypatch.setattr("gateway.core.postgres.words.RECENT", 50)
    walnut(owner)
    make_quoted(owner.merchant)
    fill(item)
    assert item.checkout is not None
    transfer, public_id = item.transfer, item.checkout.public_id
    names = ["order-77", str(item.pk), BUYER, transfer.tx_hash, transfer.recipient, public_id]
    beginnings = ["ORDER-77", public_id[:14], transfer.tx_hash[:12], BUYER[:10], transfer.recipient[:10]]
    words = ["walnut tab", "ann@shop.example", "4242.42", "4242.420042", "~4200", "23.00 EUR", "23.00", "~23 EUR"]
    # The blank ends the name: `wallets_transferreturn` is empty here and may be read whole.
    scans = [f"Seq Scan on {model._meta.db_table} " for model in FILLED]
    used: set[str] = set()
    for text in (*names, *beginnings, *words):
        for plan in plans_of(seat_of(owner), text):
            assert not [scan for scan in scans if scan in plan], (text, plan)
            used |= {name for name in OF_SEARCH if name in plan}
    assert used == OF_SEARCH


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


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


def test_no_word_amount_or_beginning_finds_what_is_anothers_or_of_the_other_mode(
    owner: Desk, stranger: Desk, item: InboxItem
) -> None:
    theirs = Desk(stranger.client, stranger.user.memberships.get().merchant, stranger.user)
    in_test = Desk(owner.client, owner.merchant, owner.user, Mode.TEST)
    earned = earn(owner.merchant, order_ref="A-2", sender=BUYER)
    walnut(owner)
    make_link(owner.merchant, mode=Mode.LIVE, title="Walnut board")
    assert item.checkout is not None
    keys = [
        item.checkout.public_id[:16],
        item.transfer.tx_hash[:12],
        earned.recipient[:12],
        BUYER[:12],
        "A-",
        "walnut",
        "ann@shop.example",
        "cus_77",
        "4242.42",
        "4242.420042",
        "~4200",
        "26.00",
    ]
    for key in keys:
        assert found(owner, key), key
        assert found(theirs, key) == {}, key
        assert found(in_test, key) == {}, key


@pytest.mark.parametrize("text", ["nobody@buyer.example", "\x00", "9" * 30, "http://[", "x" * 2000, "%", HOSTILE])
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


def test_a_checkout_is_found_by_any_word_and_by_beginnings(owner: Desk) -> None:
    wanted = walnut(owner)
    make_checkout(owner.merchant, description="Oak table", order_ref="OAK-20482", customer_ref="cus_78")
    texts = [
        "walnut",
        "WALN",
        "oiled walnut",
        "table wal",
        "HR-20",
        "hr-20481",
        "20481",
        "cus_77",
        "ann@shop.example",
        "ann@shop",
        "Ann",
    ]
    for text in texts:
        assert found(owner, text)["checkouts"] == [wanted.public_id], text
    for text in ("wal table", "nut", "walnut oak", "table " * 13, "cus_7 walnuts"):
        assert "checkouts" not in found(owner, text), text
    assert len(found(owner, "table")["checkouts"]) == 2


def test_a_name_that_is_complete_finds_no_longer_one(owner: Desk) -> None:
    short, long = (make_checkout(owner.merchant, order_ref=name) for name in ("A-1", "A-10"))
    assert found(owner, "A-1")["checkouts"] == [short.public_id]
    assert found(owner, "a-1")["checkouts"] == [long.public_id, short.public_id]


@pytest.mark.parametrize(
    "text", ["4242.42", "$4,242.42", "4242,42", "4242.42 USD", "4,242.42USDC", "4242.420042", "~4300", "about 4,100"]
)
def test_an_amount_finds_its_checkout(text: str, owner: Desk) -> None:
    wanted = walnut(owner)
    make_checkout(owner.merchant)
    assert found(owner, text)["checkouts"] == [wanted.public_id]


@pytest.mark.parametrize("text", ["23.00 EUR", "23 eur", "23.00", "23", "~23.50 EUR", "~23.50", "25.03", "25.03 USD"])
def test_a_price_in_another_currency_is_found_by_itself_and_by_its_worth(text: str, owner: Desk) -> None:
    wanted = make_quoted(owner.merchant)
    make_quoted(owner.merchant, price=Decimal(230), amount=Decimal("250.29"))
    make_checkout(owner.merchant, amount=Decimal("80.00"))
    assert found(owner, text)["checkouts"] == [wanted.public_id]


@pytest.mark.parametrize("text", ["23.00 USD", "$23", "23 GBP", "~23 GBP", "25.03 EUR", "$23 EUR", "23 XYZ"])
def test_a_price_is_not_found_in_a_currency_that_it_is_not_in(text: str, owner: Desk) -> None:
    make_quoted(owner.merchant)
    assert found(owner, text) == {}


def test_money_that_waits_is_not_found_by_an_amount_of_another_currency(owner: Desk, item: InboxItem) -> None:
    assert found(owner, "26.00 EUR") == {}


def test_a_price_of_many_digits_is_found(owner: Desk) -> None:
    facts = {"currency": "VND", "price": Decimal(25_000_000_000), "amount": Decimal(950_000)}
    wanted = make_quoted(owner.merchant, **facts)
    assert found(owner, "25,000,000,000 VND")["checkouts"] == [wanted.public_id]


def test_an_amount_finds_money_that_waits(owner: Desk, item: InboxItem) -> None:
    assert found(owner, "26.00")["items"] == ["26.00"]
    InboxItem.objects.update(status=InboxStatus.DISMISSED)
    assert "items" not in found(owner, "26.00")


@pytest.mark.parametrize("text", ["0", "~0", "1,23", "1e3", "4.1234567", "9" * 12, "٤٢", "4242.421"])
def test_what_is_no_amount_of_a_checkout_finds_none(text: str, owner: Desk) -> None:
    walnut(owner)
    assert found(owner, text) == {}


def test_transactions_and_addresses_are_found_by_their_beginnings(owner: Desk) -> None:
    transfer = earn(owner.merchant, sender=BUYER)
    checkout = Checkout.objects.get()
    texts = [transfer.tx_hash[:8], transfer.tx_hash[:12].upper().replace("0X", "0x"), BUYER[:8].lower(), BUYER[:20]]
    for text in (*texts, transfer.recipient[:10], transfer.recipient[:7].lower(), checkout.public_id[:16]):
        assert found(owner, text)["checkouts"] == [checkout.public_id], text
    # Three digits are shared by too many, and a wildcard is a letter.
    for text in (transfer.tx_hash[:5], "0x%%%%%%", f"{BUYER[:6]}____"):
        assert found(owner, text) == {}, text


def test_a_viewer_cannot_try_out_a_buyers_address(owner: Desk, viewer: Desk) -> None:
    wanted = walnut(owner)
    assert found(viewer, "walnut")["checkouts"] == [wanted.public_id]
    for text in ("ann@shop.example", "Ann", "ann walnut"):
        assert found(viewer, text) == {}, text


def test_one_hit_opens_itself(owner: Desk, item: InboxItem) -> None:
    wanted = walnut(owner)
    paid = earn(owner.merchant, order_ref="A-2", sender=BUYER)
    link = make_link(owner.merchant, mode=Mode.LIVE, title="Cherry board")
    checkout = Checkout.objects.get(order_ref="A-2").public_id
    pages = {
        "walnut": owner.url("dashboard_checkout", checkout_id=wanted.public_id),
        paid.tx_hash: owner.url("dashboard_checkout", checkout_id=checkout),
        item.transfer.tx_hash: owner.url("dashboard_inbox_item", item_id=item.pk),
        "cherry": owner.url("dashboard_link", link_id=link.public_id),
    }
    for text, page in pages.items():
        answer = owner.client.get(owner.url("dashboard_search"), {"q": text})
        assert answer.headers.get("Location") == page, text
    # An order and the money that waits for it are two, as are two orders.
    for text, count in (("A-1", 1), ("A-", 3)):
        listed = owner.client.get(owner.url("dashboard_search"), {"q": text})
        assert len(listed.context["matches"].checkouts) == count


def test_a_refund_is_found_by_id_reference_address_and_checkout(owner: Desk) -> None:
    payout = make_payout(owner.merchant)
    Payout.objects.filter(pk=payout.pk).update(reference="RMA-7")
    assert payout.address
    for text in (payout.public_id, payout.public_id[:16], "RMA-7", payout.address):
        assert payout.public_id in found(owner, text)["payouts"], text


def test_the_words_of_new_checkouts_are_found_before_and_after_they_are_taken_in(owner: Desk) -> None:
    wanted = walnut(owner)
    assert found(owner, "walnut")["checkouts"] == [wanted.public_id]
    take_in_words()
    assert found(owner, "walnut")["checkouts"] == [wanted.public_id]


def test_words_are_found_beyond_the_newest(owner: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.core.postgres.words.RECENT", 1)
    wanted = walnut(owner)
    last = make_checkout(owner.merchant, description="Walnut board")
    assert found(owner, "walnut")["checkouts"] == [last.public_id, wanted.public_id]
    # One or two letters are whole words there.
    assert found(owner, "wa") == {"checkouts": [last.public_id]}


def test_the_indexes_have_the_expressions_that_are_searched(owner: Desk) -> None:
    for table, text, index in (
        ("checkouts_checkout", SEARCHED, "checkout_words"),
        ("links_paymentlink", LINKS_SEARCHED, "link_words"),
    ):
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE INDEX other ON {table} USING gin (({vector(text)}))")
            cursor.execute(
                "SELECT pg_get_expr(indexprs, indrelid) FROM pg_index WHERE indexrelid IN (%s::regclass, 'other'::regclass)",
                [index],
            )
            first, second = (expression for [expression] in cursor)
            assert first == second
            cursor.execute("DROP INDEX other")
