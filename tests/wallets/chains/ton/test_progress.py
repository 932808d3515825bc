"""A TON transfer that is listed, and whose receipt comes minutes later: it is waited for, and holds up nothing for long."""

from dataclasses import replace

from demo.localnet.ton.node import TonNode
from tests.wallets.tonlab import read_on
from wallets.chains.base import Account, AccountReading
from wallets.chains.ton.adapter import LATE_SECONDS, PENDING_SECONDS, TonAdapter


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
