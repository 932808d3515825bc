"""What owners are told of receiving wallets."""

import re
from datetime import timedelta

import pytest

from accounts.models import Merchant
from accounts.states import Role
from mails.models import OutgoingMail
from tests.dashboard.people import make_member
from tests.factories import NOON, make_merchant, make_wallet
from wallets.addresses import shown_address
from wallets.chains.ton.family import TON_FAMILY
from wallets.models import ReceivingWallet, WalletChange
from wallets.receiving.changes import (
    apply_wallet_changes,
    request_wallet,
)
from wallets.receiving.mails import (
    tell_failed,
    tell_first,
    tell_machine_wallet,
    tell_taken_over,
)

pytestmark = pytest.mark.django_db


OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


TON = "EQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinaPP"


OTHER_TON = TON_FAMILY.canonical_address("0:" + "1f" * 32)


DUE = NOON + timedelta(hours=24)


@pytest.fixture
def merchant() -> Merchant:
    """A merchant with two owners, one admin, and a wallet on Ethereum."""
    merchant = make_merchant()
    for role in (Role.OWNER, Role.OWNER, Role.ADMIN):
        make_member(merchant, role)
    make_wallet(merchant, "ethereum")
    return merchant


def ask(
    merchant: Merchant, address: str = OTHER, chain: str = "ethereum"
) -> ReceivingWallet | WalletChange:
    actor = merchant.memberships.filter(role=Role.OWNER).order_by("pk")[0].user
    return request_wallet(
        merchant,
        chain=chain,
        address=address,
        actor=actor,
        now=NOON,
        client="203.0.113.9",
    )


def test_letters_write_ton_addresses_as_buyers_read_them(merchant: Merchant) -> None:
    wallet = make_wallet(merchant, "ton", TON)
    change = ask(merchant, OTHER_TON, "ton")
    assert isinstance(change, WalletChange)
    apply_wallet_changes(now=DUE)
    change.failure = "It was refused."
    tell_failed(change, now=DUE)
    tell_first(wallet, actor=change.requested_by, now=DUE)
    tell_taken_over(wallet, now=DUE)
    tell_machine_wallet(wallet, actor=change.requested_by, before=OTHER_TON, now=DUE)
    recipient = change.requested_by.email
    letters = OutgoingMail.objects.filter(recipient=recipient).order_by("pk")
    old, new = shown_address(TON), shown_address(OTHER_TON)
    named = [re.findall(r"[EU]Q[\w-]{46}", letter.text) for letter in letters]
    assert named == [[old, new], [new], [new], [old], [old], [old, new]]
