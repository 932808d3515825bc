"""What owners are told of receiving wallets."""

import re

import pytest

from accounts.models import Merchant
from mails.models import OutgoingMail
from tests.factories import make_wallet
from tests.wallets.wallet_changes import DUE, ask
from wallets.addresses import shown_address
from wallets.chains.ton.family import TON_FAMILY
from wallets.models import WalletChange
from wallets.receiving.changes import apply_wallet_changes
from wallets.receiving.mails import tell_failed, tell_first, tell_machine_wallet, tell_taken_over

pytestmark = pytest.mark.django_db


TON = "EQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinaPP"


OTHER_TON = TON_FAMILY.canonical_address("0:" + "1f" * 32)


def test_letters_write_ton_addresses_as_buyers_read_them(teamed_merchant: Merchant) -> None:
    wallet = make_wallet(teamed_merchant, "ton", TON)
    change = ask(teamed_merchant, OTHER_TON, "ton")
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
