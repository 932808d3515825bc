"""Which receipt belongs to which transfer, by the logical times of the sender's jetton wallet."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.wallets.transfers.told import told_transfer
from wallets.chains.base import MalformedAnswerError
from wallets.chains.ton.decode import Listed, Receipt
from wallets.chains.ton.find import Causes, by_hour, matched, read_message

WALLET, OTHER = b"\x01" * 33, b"\x02" * 33
PLACE = (b"\x03" * 33, b"\x04" * 33)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def listed(lt: int, wallet: bytes = WALLET) -> Listed:
    recipient, master = PLACE
    return Listed(f"tx{lt}", b"", recipient, wallet, master, lt, 0)


def receipt(sent_lt: int, body: str | None = None) -> Receipt:
    return Receipt("r", b"\x05" * 33, WALLET, sent_lt, 0, 1, succeeded=True, body=body)


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
