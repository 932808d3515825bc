"""Which receipt belongs to which transfer, by the logical times of the sender's jetton wallet."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from localnet.ton.messages import Payment, TonWallet
from localnet.ton.node import TonNode
from tests.wallets.contract.hostile import HttpProxy, honest
from tests.wallets.tonlab import account_at, changing, changing_rows, open_ton, read_on
from tests.wallets.transfers.told import told_transfer
from wallets.chains.base import Account, AccountReading, MalformedAnswerError
from wallets.chains.ton import find as ton_leaving
from wallets.chains.ton.adapter import TonAdapter
from wallets.chains.ton.decode import JettonReceipt, Listed
from wallets.chains.ton.find import Causes, by_hour, matched, read_message

WALLET, OTHER = b"\x01" * 33, b"\x02" * 33
PLACE = (b"\x03" * 33, b"\x04" * 33)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def listed(lt: int, wallet: bytes = WALLET) -> Listed:
    recipient, master = PLACE
    return Listed(f"tx{lt}", b"", recipient, wallet, master, lt, 0)


def receipt(sent_lt: int, body: str | None = None) -> JettonReceipt:
    return JettonReceipt("r", b"\x05" * 33, WALLET, sent_lt, 0, 1, succeeded=True, body=body)


def test_a_receipt_belongs_to_the_last_transfer_before_its_message() -> None:
    causes = Causes([listed(2_000), listed(1_000), listed(1_500, OTHER)])
    told = {lt: causes.of(receipt(lt)) for lt in (1_000, 1_001, 1_255, 1_256, 2_001)}
    named = {lt: row and row.tx_hash for lt, row in told.items()}
    # A transaction makes 255 messages at most, numbered from its own logical time on.
    assert named == {1_000: None, 1_001: "tx1000", 1_255: "tx1000", 1_256: None, 2_001: "tx2000"}


def test_a_receipt_at_another_place_is_not_paired() -> None:
    row = listed(1_000)
    found = matched([row], {PLACE: [receipt(1_001)], (OTHER, OTHER): [receipt(1_001)]})
    assert [(place, cause) for place, cause, _ in found] == [(PLACE, row)]


def test_a_message_that_cannot_be_read_is_the_nodes_mistake() -> None:
    with pytest.raises(MalformedAnswerError, match="unreadable"):
        read_message(receipt(1, body="te6ccgEBAQEAAgAAAA=="))


def test_groups_span_an_hour_at_most() -> None:
    minutes = [90, 0, 60, 61, 30]
    transfers = [told_transfer(block_time=NOON + timedelta(minutes=minute)) for minute in minutes]
    groups = [[(one.block_time - NOON) // timedelta(minutes=1) for one in group] for group in by_hour(transfers)]
    assert groups == [[0, 30, 60], [61, 90]]


@pytest.fixture
def payer(ton_node: TonNode) -> TonWallet:
    """A wallet that has something to send."""
    return ton_node.create_wallet(units=100)


@pytest.fixture
def account(ton_adapter: TonAdapter, payer: TonWallet) -> Account:
    """That wallet, read up to now."""
    return account_at(payer.address, ton_adapter.head())


def units_of(reading: AccountReading) -> list[int]:
    return [transfer.units for transfer in reading.transfers]


def test_both_sides_tell_of_a_transfer_in_the_same_words(
    ton_node: TonNode, ton_adapter: TonAdapter, payer: TonWallet, account: Account
) -> None:
    other = account_at(ton_node.create_wallet().address, ton_adapter.head())
    tx_hash = ton_node.pay(other.address, 7, "rent", payer=payer)
    # Apart: what one reading found is not to help the other.
    [left] = read_on(ton_adapter, account).transfers
    [arrived] = read_on(open_ton(ton_node), other).transfers
    assert left == arrived
    assert (left.tx_hash, left.position, left.units) == (tx_hash, 0, 7)
    assert (left.sender, left.sender_key) == (payer.address, account.key)
    assert (left.recipient, left.recipient_key) == (other.address, other.key)


def test_what_goes_to_several_at_once_is_told_apart(
    ton_node: TonNode, ton_adapter: TonAdapter, payer: TonWallet, account: Account
) -> None:
    others = [ton_node.create_wallet().address for _ in range(3)]
    payments = [Payment(other, units) for units, other in enumerate([*others, others[0]], 1)]
    hashes = ton_node.send(payments, payer=payer)
    arrived = ton_node.pay(payer.address, 50)
    head, before = ton_adapter.head(), ton_adapter.requests
    reading = read_on(ton_adapter, account, head=head)
    assert {(one.tx_hash, one.units) for one in reading.transfers} == set(
        zip([*hashes, arrived], [1, 2, 3, 4, 50], strict=True)
    )
    # Listing, whose wallets they are, what arrived, and one question for all that left.
    assert ton_adapter.requests - before == 4
    assert read_on(ton_adapter, account, head=head).transfers == reading.transfers
    assert ton_adapter.requests - before == 5


def test_what_is_on_its_way_is_waited_for(
    ton_node: TonNode, ton_adapter: TonAdapter, payer: TonWallet, account: Account
) -> None:
    ton_node.elapse(100)
    ton_node.withhold_blocks()
    ton_node.pay(ton_node.payer.address, 9, payer=payer)
    # Past the second in which it was sent, or the head may be the block before it, where there is nothing to wait for.
    ton_node.elapse(1)
    waiting = read_on(ton_adapter, account)
    assert (units_of(waiting), waiting.through.height < ton_node.head()) == ([], True)
    ton_node.withhold_blocks(False)
    known = replace(account, height=waiting.through.height, time=waiting.through.time)
    assert units_of(read_on(ton_adapter, known)) == [9]


def test_what_left_and_a_fork_took_is_lost(
    ton_node: TonNode, ton_adapter: TonAdapter, payer: TonWallet, account: Account
) -> None:
    fork = ton_node.head()
    ton_node.advance(100)
    ton_node.pay(ton_node.create_wallet().address, 2, payer=payer)
    transfers = list(read_on(ton_adapter, account).transfers)
    assert ton_adapter.lost(transfers) == [False]
    head = ton_node.head()
    ton_node.roll_back(to=fork)
    ton_node.advance(head - fork)
    assert ton_adapter.lost(transfers) == [True]
    assert read_on(ton_adapter, account).transfers == []


def test_more_than_can_be_looked_up_at_once_is_read_piece_by_piece(
    ton_node: TonNode, ton_adapter: TonAdapter, payer: TonWallet, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ton_leaving.first_of, "__kwdefaults__", {"most": 2})
    for units in range(1, 6):
        ton_node.elapse(200)
        ton_node.pay(ton_node.payer.address, units, payer=payer)
    head, found, readings = ton_adapter.head(), set(), 0
    while account.height < head.block.height:
        reading, readings = read_on(ton_adapter, account, head=head), readings + 1
        found |= set(units_of(reading))
        assert account.height < reading.through.height
        account = replace(account, height=reading.through.height, time=reading.through.time)
    assert (found, readings) == ({1, 2, 3, 4, 5}, 3)


def refused(trace: Any) -> Any:
    """The trace as it were if the recipient's jetton wallet had thrown, and sent it back."""
    failed = {
        name: row | {"description": row["description"] | {"aborted": True}}
        for name, row in trace["transactions"].items()
        if row["in_msg"]["opcode"] == "0x178d4519"
    }
    return trace | {"transactions": trace["transactions"] | failed}


def test_what_its_recipient_refused_never_left(
    ton_node: TonNode, ton_proxy: HttpProxy, payer: TonWallet, account: Account
) -> None:
    ton_node.pay(ton_node.create_wallet().address, 9, payer=payer)
    adapter = open_ton(ton_node, ton_proxy.url)
    head = adapter.head()
    ton_proxy.fault = changing_rows("traces", "traces", refused)
    reading = read_on(adapter, account, head=head)
    assert (units_of(reading), reading.through) == ([], head.block)
    # The same without the lie.
    assert units_of(read_on(open_ton(ton_node), account, head=head)) == [9]
    adapter.close()


def test_a_transfer_out_of_another_wallet_than_the_owners_own_is_not_told(
    ton_node: TonNode, ton_proxy: HttpProxy, payer: TonWallet, account: Account
) -> None:
    ton_node.pay(ton_node.create_wallet().address, 2, payer=payer)
    adapter = open_ton(ton_node, ton_proxy.url)
    stranger = ton_node.jetton_wallet(ton_node.payer.address)
    ton_proxy.fault = changing_rows(
        "jetton/transfers", "jetton_transfers", lambda row: row | {"source_wallet": stranger}
    )
    assert units_of(read_on(adapter, account)) == []
    adapter.close()


def test_a_trace_too_long_to_be_told_holds_up_no_payment(
    ton_node: TonNode, ton_proxy: HttpProxy, payer: TonWallet, account: Account
) -> None:
    ton_node.pay(ton_node.create_wallet().address, 2, payer=payer)
    ton_node.pay(payer.address, 5)
    adapter = open_ton(ton_node, ton_proxy.url)
    ton_proxy.fault = changing("traces", lambda answer: answer | {"filling": "x" * (1 << 24)})
    assert units_of(read_on(adapter, account)) == [5]
    ton_proxy.fault = honest
    assert sorted(units_of(read_on(adapter, account))) == [2, 5]
    adapter.close()


def test_an_index_that_names_no_sender_still_tells_of_payments(
    ton_node: TonNode, ton_proxy: HttpProxy, account: Account
) -> None:
    ton_node.pay(account.address, 5)
    adapter = open_ton(ton_node, ton_proxy.url)
    ton_proxy.fault = changing_rows("jetton/transfers", "jetton_transfers", lambda row: row | {"source": None})
    assert units_of(read_on(adapter, account)) == [5]
    adapter.close()
