"""Choosing where a merchant's money goes: addresses that lose it, and whose wallet an address is."""

from datetime import timedelta
from typing import Any

import base58
import pytest
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import AuditEntry
from gateway.core.api.errors import ConflictError, InvalidRequestError
from tests.factories import NOON, WALLET, make_merchant, make_user
from tests.wallets.factories import address_of, make_deposit
from wallets.chains.base import AddressError
from wallets.chains.registry import load_chains
from wallets.forwarders.addresses import FACTORY_ADDRESS, checksum
from wallets.models import ReceivingWallet
from wallets.receiving.service import refuse_traps, set_receiving_wallet
from wallets.selectors import receiving_wallets

pytestmark = pytest.mark.django_db


LATER = NOON + timedelta(seconds=5)


OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


def test_a_receiving_wallet_is_kept_in_canonical_form_and_audited() -> None:
    merchant, owner = make_merchant(), make_user()
    wallet = set_receiving_wallet(merchant, chain="base", address=WALLET.lower(), now=NOON, actor=Actor(owner))
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


def test_where_amounts_tell_payments_apart_two_merchants_share_no_wallet() -> None:
    set_receiving_wallet(make_merchant(), chain="ethereum", address=WALLET, now=NOON)
    with pytest.raises(ConflictError) as caught:
        set_receiving_wallet(make_merchant(), chain="ethereum", address=WALLET, now=NOON)
    assert caught.value.code == "proof_required"


def test_on_chains_with_deposit_addresses_they_may() -> None:
    for merchant in (make_merchant(), make_merchant()):
        set_receiving_wallet(merchant, chain="base", address=WALLET, now=timezone.now())
    assert ReceivingWallet.objects.count() == 2


USDC_MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
ATA_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
OWNER = "3UJQqKq8Xyx4aVRmHgEwpQZiW7toYRQCTy6Bgp1RdKnK"
TON_MASTER = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"


def set_wallet(chain: str, address: str) -> ReceivingWallet:
    return set_receiving_wallet(make_merchant(), chain=chain, address=address, now=NOON)


@pytest.mark.parametrize(
    ("chain", "address", "message"),
    [
        ("ethereum", "0xdAC17F958D2ee523a2206206994597C13D831ec7", "token contract"),
        ("base", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "token contract"),
        ("base", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "token contract"),
        ("polygon", "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174", "token contract"),
        ("tron", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "token contract"),
        ("tron", "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf", "token contract"),
        ("solana", USDC_MINT, "token contract"),
        ("solana", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU", "token contract"),
        ("ton", TON_MASTER, "token contract"),
        ("ton", "0:" + "00" * 32, "a burn address"),
        ("ton", "-1:" + "5" * 64, "workchain 0"),
        ("ton", "0:" + "ff" * 32, "a burn address"),
        ("tron", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", "a burn address"),
        ("tron", "T9yD14Nj9j7xAB4dbGeiX9h95VRLDVkkS1", "network keeps"),
        ("ethereum", "0x" + "e" * 40, "a burn address"),
        ("ethereum", "0x0000000000000000000000000000000000000001", "network keeps"),
        ("ethereum", "0x000000000000000000000000000000000000dEaD", "a burn address"),
        ("solana", "1" * 32, "program of Solana"),
        ("solana", TOKEN_PROGRAM, "program of Solana"),
        ("solana", ATA_PROGRAM, "program of Solana"),
        ("solana", "SysvarC1ock11111111111111111111111111111111", "program of Solana"),
        ("solana", "So11111111111111111111111111111111111111112", "program of Solana"),
    ],
)
def test_an_address_that_swallows_what_it_gets_is_refused_in_words(chain: str, address: str, message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message) as caught:
        set_wallet(chain, address)
    assert (caught.value.code, caught.value.param) == ("address_invalid", "address")
    assert caught.value.message.startswith("The address ")
    assert not ReceivingWallet.objects.exists()


def test_the_contracts_and_deposit_addresses_of_the_gateway_are_refused_on_tron_too() -> None:
    with pytest.raises(InvalidRequestError, match="of this gateway"):
        set_wallet("base", address_of(make_deposit()))
    for key in (FACTORY_ADDRESS, bytes(make_deposit().key)):
        address = base58.b58encode_check(b"\x41" + key).decode()
        with pytest.raises(InvalidRequestError, match="of this gateway"):
            set_wallet("tron", address)


@pytest.mark.parametrize("network", ["mainnet", "testnet", "local"])
def test_no_published_token_and_no_stand_in_of_test_mode_is_a_wallet_on_any_network(network: str) -> None:
    for spec in load_chains(network, {}).values():
        nobody = spec.family.nobody
        for text in (nobody, *(token.address for token in spec.tokens.values())):
            canonical = spec.family.canonical_address(text, is_testnet=network == "testnet")
            with pytest.raises(AddressError, match="money sent there is lost"):
                refuse_traps(spec, canonical)


@pytest.mark.parametrize("days", [0, 30.9])
def test_a_wallet_given_up_lately_is_still_its_merchants(days: float) -> None:
    first, second = make_merchant(), make_merchant()
    set_receiving_wallet(first, chain="ethereum", address=WALLET, now=NOON)
    set_receiving_wallet(first, chain="ethereum", address=OTHER, now=NOON)
    later = NOON + timedelta(days=days)
    with pytest.raises(ConflictError) as caught:
        set_receiving_wallet(second, chain="ethereum", address=WALLET, now=later)
    assert caught.value.code == "proof_required"
    assert not ReceivingWallet.objects.filter(merchant=second).exists()
    # It may have it back itself.
    again = set_receiving_wallet(first, chain="ethereum", address=WALLET, now=later)
    assert again.retired_at is None


def test_a_wallet_given_up_for_31_days_may_be_anothers() -> None:
    first, second = make_merchant(), make_merchant()
    for address in (WALLET, OTHER):
        set_receiving_wallet(first, chain="ethereum", address=address, now=NOON)
    later = NOON + timedelta(days=31)
    taken = set_receiving_wallet(second, chain="ethereum", address=WALLET, now=later)
    assert (taken.merchant, taken.address) == (second, WALLET)


def test_a_refused_wallet_leaves_the_one_before_in_place() -> None:
    first, second = make_merchant(), make_merchant()
    set_receiving_wallet(first, chain="ethereum", address=WALLET, now=NOON)
    set_receiving_wallet(second, chain="ethereum", address=OTHER, now=NOON)
    with pytest.raises(ConflictError):
        set_receiving_wallet(second, chain="ethereum", address=WALLET, now=NOON)
    kept = ReceivingWallet.objects.get(merchant=second)
    assert (kept.address, kept.retired_at) == (OTHER, None)
