"""What is remembered of TON's nodes is kept by node, and bounded."""

import base64
from dataclasses import replace

import pytest

from localnet.ton.messages import ATTACHED_NANOTONS, NANOTONS, Envelope, Payment
from localnet.ton.messages import snake as cells_of
from localnet.ton.node import TonNode
from tests.wallets.tonlab import account_at, later, open_ton, read_on
from tests.wallets.transfers.told import told_transfer
from wallets.chains.base import Account, AccountReading
from wallets.chains.ton import adapter
from wallets.chains.ton.adapter import LATE_SECONDS, OVERLAP_SECONDS, PENDING_SECONDS, TonAdapter, TonMemory
from wallets.chains.ton.decode import Listed
from wallets.chains.ton.questions import AT_ONCE

PLACE = (b"\x01" * 33, b"\x02" * 33)


def listed(name: str) -> Listed:
    return Listed(name, b"", *PLACE, b"", 1, 1)


def test_what_one_node_told_does_not_answer_for_another() -> None:
    known, transfer = TonMemory(), told_transfer()
    known.keep("one", {"a": transfer, "b": None})
    known.keep_wallets("one", {PLACE: b"\x03" * 33})
    asked = [listed("a"), listed("b"), listed("c")]
    # None: nothing was received, which is known too.
    assert known.recall("one", asked) == {"a": transfer, "b": None}
    assert known.recall("two", asked) == {}
    assert known.wallets("one", [PLACE]) == {PLACE: b"\x03" * 33}
    assert known.wallets("two", [PLACE]) == {}


def test_what_is_forgotten_is_not_known() -> None:
    known = TonMemory()
    known.keep("one", {"a": None})
    known.keep_wallets("one", {PLACE: b"\x03" * 33})
    known.clear()
    assert known.recall("one", [listed("a")]) == {}
    assert known.wallets("one", [PLACE]) == {}


def test_the_longest_unused_is_dropped_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_REMEMBERED", 2)
    known = TonMemory()
    known.keep("one", {"a": None, "b": None})
    known.recall("one", [listed("a")])
    known.keep("one", {"c": None})
    assert known.recall("one", map(listed, "abc")).keys() == {"a", "c"}


def units_of(reading: AccountReading) -> list[int]:
    return [transfer.units for transfer in reading.transfers]


def on_from(account: Account, reading: AccountReading) -> Account:
    """The account, known as far as a reading says."""
    return replace(account, height=reading.through.height, time=reading.through.time)


def test_a_receipt_that_comes_late_is_still_a_payment(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    ton_node.withhold_receipts()
    ton_node.pay(ton_account.address, 9)
    ton_node.elapse(PENDING_SECONDS - 30)
    held = read_on(ton_adapter, ton_account)
    ton_node.withhold_receipts(False)
    assert units_of(read_on(ton_adapter, on_from(ton_account, held))) == [9]


def test_a_receipt_that_comes_after_its_account_was_released_is_still_a_payment(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    ton_node.withhold_receipts()
    ton_node.pay(ton_account.address, 9)
    head = ton_adapter.head()
    for _ in range(4):
        ton_node.elapse(PENDING_SECONDS)
        head = ton_adapter.head()
        ton_account = on_from(ton_account, read_on(ton_adapter, ton_account, head=head))
    assert ton_account.height == head.block.height
    ton_node.withhold_receipts(False)
    found = read_on(ton_adapter, ton_account)
    assert units_of(found) == [9]
    ton_node.elapse(10)
    head = ton_adapter.head()
    assert read_on(ton_adapter, on_from(ton_account, found), head=head).through == head.block


def test_what_has_no_receipt_within_an_hour_is_not_listed_for_ever(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    ton_node.withhold_receipts()
    ton_node.pay(ton_account.address, 9)
    ton_node.elapse(LATE_SECONDS + 1)
    head = ton_adapter.head()
    assert read_on(ton_adapter, ton_account, head=head).through == head.block


@pytest.mark.parametrize("by_ref", [False, True], ids=["inline", "by reference"])
def test_a_payment_is_told_in_full(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account, by_ref: bool
) -> None:
    tx_hash = ton_node.pay(ton_account.address, 25_003_700, "заказ №42", by_ref=by_ref)
    head = ton_adapter.head()
    reading = read_on(ton_adapter, ton_account, head=head)
    assert reading.key == ton_account.key
    assert reading.through == head.block
    [paid] = reading.transfers
    assert (paid.chain, paid.token, paid.token_address) == ("ton", "USDT", ton_node.usdt)
    assert (paid.tx_hash, paid.position, paid.units) == (tx_hash, 0, 25_003_700)
    assert (paid.recipient, paid.recipient_key) == (ton_account.address, ton_account.key)
    assert paid.sender == ton_node.payer.address
    assert paid.labels == ("заказ №42",)
    assert ton_account.height < paid.block_height <= head.block.height
    assert paid.block_hash == f"mc:{paid.block_height}"
    assert ton_account.time <= paid.block_time <= head.block.time


@pytest.mark.parametrize("forward_nanotons", [0, 1, NANOTONS // 50])
def test_whether_the_owner_was_told_does_not_matter(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account, forward_nanotons: int
) -> None:
    ton_node.pay(ton_account.address, 5, "memo", forward_nanotons=forward_nanotons)
    [paid] = read_on(ton_adapter, ton_account).transfers
    assert (paid.units, paid.labels) == (5, ("memo",))


def test_transfers_of_one_message_are_told_apart(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    strange = Payment(ton_account.address, 6, payload=bytes(4) + b"\xff\xfe")
    hashes = ton_node.send([Payment(ton_account.address, 5, "twin"), Payment(ton_account.address, 5), strange])
    found = [(paid.tx_hash, paid.units, paid.labels) for paid in read_on(ton_adapter, ton_account).transfers]
    assert found == [(hashes[0], 5, ("twin",)), (hashes[1], 5, ()), (hashes[2], 6, ())]


def test_accounts_are_read_together_and_kept_apart(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    other = account_at(ton_node.create_wallet().address, ton_adapter.head())
    idle = account_at(ton_node.create_wallet().address, ton_adapter.head())
    ton_node.send([Payment(ton_account.address, 1), Payment(other.address, 2)])
    head, before = ton_adapter.head(), ton_adapter.requests
    readings = ton_adapter.read_accounts([other, idle, ton_account], head=head)
    assert [reading.key for reading in readings] == [other.key, idle.key, ton_account.key]
    assert [units_of(reading) for reading in readings] == [[2], [], [1]]
    assert ton_adapter.requests - before == 3


def test_a_forged_internal_transfer_is_no_payment(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    ton_node.pay(ton_account.address, 3)
    forged = cells_of(bytes.fromhex("178d4519") + bytes(8) + b"\x13\xff\xff" + bytes(9))
    wallet = ton_node.jetton_wallet(ton_account.address)
    sender = ton_node.create_wallet()
    envelope = Envelope(wallet, ATTACHED_NANOTONS, forged)
    assert not ton_node.send_envelopes([envelope], payer=sender)
    assert units_of(read_on(ton_adapter, ton_account)) == [3]


def test_nothing_and_what_an_owner_sends_to_himself_are_no_payments(ton_node: TonNode, ton_adapter: TonAdapter) -> None:
    owner = ton_node.create_wallet(units=10)
    account = account_at(owner.address, ton_adapter.head())
    assert ton_node.pay(owner.address, 0)
    assert ton_node.pay(owner.address, 4, payer=owner)
    head = ton_adapter.head()
    reading = read_on(ton_adapter, account, head=head)
    assert (units_of(reading), reading.through) == ([], head.block)


def test_reading_on_tells_of_what_is_new(ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account) -> None:
    ton_node.pay(ton_account.address, 1)
    first = read_on(ton_adapter, ton_account)
    ton_node.elapse(1_000)
    moved = on_from(ton_account, read_on(ton_adapter, on_from(ton_account, first)))
    assert units_of(read_on(ton_adapter, moved)) == []
    ton_node.pay(ton_account.address, 2)
    assert units_of(read_on(ton_adapter, moved)) == [2]


def test_what_is_known_is_not_asked_for_again(ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account) -> None:
    ton_node.pay(ton_account.address, 1)
    first = read_on(ton_adapter, ton_account)
    head, before = ton_adapter.head(), ton_adapter.requests
    again = read_on(ton_adapter, ton_account, head=head)
    assert again.transfers == first.transfers
    assert ton_adapter.requests - before == 1


def test_more_than_can_be_read_at_once_is_read_piece_by_piece(ton_node: TonNode) -> None:
    adapter = open_ton(ton_node, page=1)
    account = account_at(ton_node.create_wallet().address, adapter.head())
    for units in range(1, 25):
        ton_node.elapse(200)
        ton_node.pay(account.address, units)
    head = adapter.head()
    found, readings = set(), 0
    while account.height < head.block.height:
        before, readings = account.height, readings + 1
        reading = read_on(adapter, account, head=head)
        found |= set(units_of(reading))
        account = on_from(account, reading)
        assert before < account.height
    assert found == set(range(1, 25))
    assert 1 < readings < 6
    adapter.close()


def test_more_accounts_than_one_request_names_are_read(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    head = ton_adapter.head()
    ton_node.pay(ton_account.address, 1)
    others = [
        Account(bytes(1) + number.to_bytes(32, "big"), "", 0, head.block.time) for number in range(1, AT_ONCE + 5)
    ]
    readings = ton_adapter.read_accounts([*others, ton_account], head=ton_adapter.head())
    assert [units_of(reading) for reading in readings] == [[]] * len(others) + [[1]]


def test_what_is_in_no_masterchain_block_is_not_told_and_not_passed_over(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    ton_node.elapse(100)
    ton_node.withhold_blocks()
    ton_node.pay(ton_account.address, 9)
    reading = read_on(ton_adapter, ton_account)
    assert units_of(reading) == []
    [row] = ton_node.get("jetton/transfers", owner_address=ton_account.address)["jetton_transfers"]
    assert reading.through.time.timestamp() < row["transaction_now"]
    ton_node.withhold_blocks(False)
    head = ton_adapter.head()
    reading = read_on(ton_adapter, on_from(ton_account, reading), head=head)
    assert (units_of(reading), reading.through) == ([9], head.block)


def test_what_was_sent_before_a_block_and_received_after_it_is_told(ton_node: TonNode, ton_adapter: TonAdapter) -> None:
    wallet = ton_node.create_wallet()
    ton_node.withhold_blocks()
    ton_node.pay(wallet.address, 9)
    ton_node.elapse(OVERLAP_SECONDS - 30)
    account = account_at(wallet.address, ton_adapter.head())
    ton_node.withhold_blocks(False)
    assert units_of(read_on(ton_adapter, account)) == [9]


def test_what_is_in_a_block_after_the_head_waits_for_the_next_reading(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    head = ton_adapter.head()
    ton_node.pay(ton_account.address, 9)
    reading = read_on(ton_adapter, ton_account, head=head)
    assert (units_of(reading), reading.through) == ([], head.block)
    assert units_of(read_on(ton_adapter, on_from(ton_account, reading))) == [9]


def test_a_transfer_without_receipt_holds_its_account_up_for_a_while_only(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    other = account_at(ton_node.create_wallet().address, ton_adapter.head())
    ton_node.pay(ton_account.address, 1)
    ton_node.elapse(100)
    ton_node.withhold_receipts()
    ton_node.pay(ton_account.address, 9)
    ton_node.elapse(PENDING_SECONDS - 30)
    head = ton_adapter.head()
    held, free = ton_adapter.read_accounts([ton_account, other], head=head)
    assert (units_of(held), units_of(free)) == ([1], [])
    assert ton_account.height < held.through.height < head.block.height
    assert held.through.time < head.block.time
    assert free.through == head.block
    ton_node.elapse(60)
    head = ton_adapter.head()
    released = read_on(ton_adapter, on_from(ton_account, held), head=head).through
    assert released.height == head.block.height


def test_a_head_of_long_ago_claims_nothing_new(ton_node: TonNode, ton_adapter: TonAdapter) -> None:
    head = ton_adapter.head()
    ton_node.advance(50)
    account = account_at(ton_node.create_wallet().address, ton_adapter.head())
    ton_node.pay(account.address, 1)
    reading = read_on(ton_adapter, account, head=head)
    assert (units_of(reading), reading.through) == ([], head.block)


def test_a_forked_payment_is_lost_once_the_chain_has_passed_it(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    ton_node.pay(ton_account.address, 1)
    kept = read_on(ton_adapter, ton_account).transfers
    fork = ton_node.head()
    ton_node.advance(100)
    ton_node.pay(ton_account.address, 2)
    transfers = read_on(ton_adapter, ton_account).transfers
    assert ton_adapter.lost(transfers) == [False, False]
    head = ton_node.head()
    ton_node.roll_back(to=fork)
    assert read_on(ton_adapter, ton_account).transfers == kept
    assert ton_adapter.lost(transfers) == [False, False]
    ton_node.advance(head - fork)
    assert ton_adapter.lost(transfers) == [False, True]
    assert units_of(read_on(ton_adapter, ton_account)) == [1]


def test_a_block_with_another_above_it_is_final(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    ton_node.pay(ton_account.address, 1)
    head = ton_adapter.head()
    assert ton_adapter.final_height(head, read_height=0) == head.block.height - 1
    ton_node.advance(1)
    assert head.block.height <= ton_adapter.finalized() < ton_adapter.head().block.height


def test_the_genesis_names_the_chain(ton_node: TonNode, ton_adapter: TonAdapter) -> None:
    genesis = ton_adapter.genesis()
    assert len(bytes.fromhex(genesis)) == 32
    first = ton_node.get("masterchainInfo")["first"]["root_hash"]
    assert genesis == base64.b64decode(first).hex()


def test_nothing_is_asked_where_nothing_is_wanted(ton_adapter: TonAdapter) -> None:
    head, before = ton_adapter.head(), ton_adapter.requests
    assert ton_adapter.read_accounts([], head=head) == []
    assert ton_adapter.lost([]) == []
    assert ton_adapter.requests == before


def test_a_later_time_than_the_chains_own_changes_nothing_but_patience(
    ton_node: TonNode, ton_adapter: TonAdapter, ton_account: Account
) -> None:
    ton_node.withhold_receipts()
    ton_node.pay(ton_account.address, 1)
    head = later(ton_adapter.head(), seconds=PENDING_SECONDS + 60)
    assert read_on(ton_adapter, ton_account, head=head).through.height == head.block.height
