"""Recorded facts, told again as their chain told them."""

import pytest

from tests.factories import NOON, WALLET, make_merchant
from tests.wallets.days import make_movement
from tests.wallets.factories import make_deposit
from tests.wallets.transfers.test_service import OTHER, new_transfer
from tests.wallets.watched_wallets import watch
from wallets.chains.evm.address import address_key
from wallets.chains.evm.family import EVM_FAMILY
from wallets.models import Transfer
from wallets.states import Direction
from wallets.transfers.service import record_transfers
from wallets.watchers.owners import as_told, movement_as_told

pytestmark = pytest.mark.django_db


def test_a_transfer_is_told_with_its_labels_and_the_recipients_key() -> None:
    deposit = make_deposit()
    record_transfers([new_transfer(deposit, labels=("memo",))], now=NOON)
    transfer = Transfer.objects.get()
    told = as_told(transfer, EVM_FAMILY)
    assert (told.tx_hash, told.position) == (transfer.tx_hash, 0)
    assert (told.sender, told.recipient_key) == (OTHER, bytes(deposit.key))
    assert (told.units, told.labels) == (25_000_000, ("memo",))


@pytest.mark.parametrize("direction", Direction)
def test_a_movement_is_told_from_its_sender_to_its_recipient(direction: Direction) -> None:
    wallet = watch(make_merchant(), address=WALLET)
    movement = make_movement(wallet, direction=direction, counterparty=OTHER)
    told = movement_as_told(movement, EVM_FAMILY)
    sides = (OTHER, WALLET) if direction == Direction.IN else (WALLET, OTHER)
    assert (told.sender, told.recipient) == sides
    assert told.recipient_key == address_key(sides[1])


def test_what_was_burned_went_to_nobody() -> None:
    wallet = watch(make_merchant())
    movement = make_movement(wallet, direction=Direction.OUT, counterparty="")
    assert movement_as_told(movement, EVM_FAMILY).recipient_key == b""
