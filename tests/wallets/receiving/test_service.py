"""Choosing where a merchant's money goes."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from gateway.core.api.errors import ConflictError, InvalidRequestError
from tests.factories import NOON, WALLET, make_merchant, make_user
from tests.wallets.factories import address_of, make_deposit
from wallets.forwarders.addresses import FACTORY_ADDRESS, checksum
from wallets.models import ReceivingWallet
from wallets.receiving.service import set_receiving_wallet
from wallets.selectors import receiving_wallets

pytestmark = pytest.mark.django_db


LATER = NOON + timedelta(seconds=5)


OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


def test_a_receiving_wallet_is_kept_in_canonical_form_and_audited() -> None:
    merchant, owner = make_merchant(), make_user()
    wallet = set_receiving_wallet(merchant, chain="base", address=WALLET.lower(), now=NOON, actor=owner)
    assert wallet.address == WALLET
    [entry] = AuditEntry.objects.filter(action="receiving_wallet.set")
    assert (entry.actor, entry.object_id) == (owner, "base")
    assert (entry.before, entry.after) == (None, {"address": WALLET})


def test_a_new_receiving_wallet_retires_the_old_one(django_capture_on_commit_callbacks: Any) -> None:
    merchant = make_merchant()
    old = set_receiving_wallet(merchant, chain="base", address=WALLET, now=NOON)
    assert receiving_wallets(merchant.pk) == {"base": WALLET}
    with django_capture_on_commit_callbacks(execute=True):
        new = set_receiving_wallet(merchant, chain="base", address=OTHER, now=LATER)
    old.refresh_from_db()
    assert (old.retired_at, new.retired_at) == (LATER, None)
    assert receiving_wallets(merchant.pk) == {"base": OTHER}


def test_setting_the_same_wallet_again_changes_nothing() -> None:
    merchant = make_merchant()
    first = set_receiving_wallet(merchant, chain="base", address=WALLET, now=NOON)
    assert set_receiving_wallet(merchant, chain="base", address=WALLET, now=LATER) == first
    assert AuditEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("chain", "address", "code"),
    [
        ("bitcoin", WALLET, "chain_unsupported"),
        ("base", "0x12", "address_invalid"),
        ("base", WALLET.replace("C", "c", 1), "address_invalid"),
        ("base", "0x" + "0" * 40, "address_invalid"),
        ("base", checksum(FACTORY_ADDRESS), "address_invalid"),
        ("tron", WALLET, "address_invalid"),
    ],
)
def test_addresses_that_would_lose_the_money_are_refused(chain: str, address: str, code: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        set_receiving_wallet(make_merchant(), chain=chain, address=address, now=NOON)
    assert caught.value.code == code
    assert not ReceivingWallet.objects.exists()


def test_token_contracts_and_deposit_addresses_receive_nothing_for_a_merchant() -> None:
    usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    for address in (usdc, address_of(make_deposit())):
        with pytest.raises(InvalidRequestError):
            set_receiving_wallet(make_merchant(), chain="base", address=address, now=NOON)


def test_where_amounts_tell_payments_apart_two_merchants_share_no_wallet() -> None:
    set_receiving_wallet(make_merchant(), chain="ethereum", address=WALLET, now=NOON)
    with pytest.raises(ConflictError) as caught:
        set_receiving_wallet(make_merchant(), chain="ethereum", address=WALLET, now=NOON)
    assert caught.value.code == "proof_required"


def test_on_chains_with_deposit_addresses_they_may() -> None:
    for merchant in (make_merchant(), make_merchant()):
        set_receiving_wallet(merchant, chain="base", address=WALLET, now=timezone.now())
    assert ReceivingWallet.objects.count() == 2
