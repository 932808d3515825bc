"""Payouts by EIP-3009 from paying wallets that are contracts (ERC-1271): their network says whether they signed."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError, UnavailableError
from localnet.abi import encode_arguments
from localnet.anvil import Anvil, FundedAccount
from localnet.smart_wallet import deploy_wallet
from localnet.tokens import execute, mint
from payouts.batches.authorizations import take_signature, vouched_digest
from payouts.batches.relays import send_signed
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.states import Trouble
from settlements.models import GasTransaction
from tests.payouts.factories import OTHER_BUYER
from tests.payouts.signing import CHANGES, UNITS, Desk, forgotten, open_desk

pytestmark = pytest.mark.django_db

ERC6492 = "6492" * 16


@pytest.fixture
def desk(base_node: Anvil, usdc: str, merchant: Merchant, settings: Any) -> Desk:
    """The merchant's."""
    return open_desk(base_node, usdc, merchant, settings)


@pytest.fixture
def contracts_desk(desk: Desk) -> Desk:
    """The merchant's, whose paying wallet is a contract that holds USDC; the key is its owner's, and it wants a byte behind its signature."""
    owner = desk.wallet
    desk.wallet = FundedAccount(deploy_wallet(desk.node, owner), owner.key)
    mint(desk.node, desk.usdc, desk.wallet.address, 10 * UNITS)
    return desk


def give(batch: PayoutBatch, payout: Payout, signature: str) -> PayoutRequest:
    """Give the server a signature, as the page does."""
    vouched = vouched_digest(batch, payout.public_id, signature)
    return take_signature(batch, payout.public_id, signature, vouched=vouched, now=timezone.now())


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_wallet_that_is_a_contract_pays_what_it_vouches_for_once(contracts_desk: Desk, is_wrapped: bool) -> None:
    desk, payout = contracts_desk, contracts_desk.payout(reference="rma-17")
    batch = desk.hand_out(payout)
    signature = desk.signature(payout) + "00"
    if is_wrapped:
        # It says how the wallet would be deployed, and it is deployed.
        parts = (desk.wallet.address, b"make", bytes.fromhex(signature[2:]))
        signature = "0x" + encode_arguments(["address", "bytes", "bytes"], *parts).hex() + ERC6492
    give(batch, payout, signature)
    assert send_signed(now=timezone.now()) == 1
    assert desk.received() == UNITS
    # Its nonce is the payout's, as a key's is.
    second = forgotten(desk, payout)
    give(desk.hand_out(second), second, desk.signature(second) + "00")
    assert send_signed(now=timezone.now()) == 0
    assert PayoutRequest.objects.get(payout=second).trouble == Trouble.USED
    assert desk.received(OTHER_BUYER) == 0


def test_what_the_contract_wallet_does_not_vouch_for_is_not_taken(contracts_desk: Desk) -> None:
    desk, payout = contracts_desk, contracts_desk.payout()
    other = desk.payout(address=OTHER_BUYER)
    batch = desk.hand_out(payout, other)
    good = desk.signature(payout)
    strange = desk.signature(payout, key=desk.node.accounts[4].key)
    for signature in (
        good,
        strange + "00",
        desk.signature(other) + "00",
        "",
        "0x",
        "0x" + "00" * 66,
        "0x" + ERC6492,
        good + "00" * 4096,
    ):
        assert vouched_digest(batch, payout.public_id, signature) == b""
        with pytest.raises(InvalidRequestError):
            give(batch, payout, signature)
    assert vouched_digest(batch, "po_live_none", good + "00") == b""
    # Not without its word, nor with that for another payout.
    theirs = vouched_digest(batch, other.public_id, desk.signature(other) + "00")
    assert theirs
    for vouched in (b"", theirs):
        with pytest.raises(InvalidRequestError):
            take_signature(batch, payout.public_id, good + "00", vouched=vouched, now=timezone.now())
    assert not PayoutRequest.objects.exclude(signature=None).exists()
    give(batch, payout, good + "00")
    # What is signed is not asked about again.
    assert vouched_digest(batch, payout.public_id, good + "00") == b""


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_contract_wallet_vouches_for_is_compared_with_the_payout_as_it_is(
    contracts_desk: Desk, change: dict[str, Any]
) -> None:
    payout = contracts_desk.payout()
    batch = contracts_desk.hand_out(payout)
    signature = contracts_desk.signature(payout) + "00"
    vouched = vouched_digest(batch, payout.public_id, signature)
    assert vouched
    Payout.objects.filter(pk=payout.pk).update(**change)
    with pytest.raises(InvalidRequestError):
        take_signature(batch, payout.public_id, signature, vouched=vouched, now=timezone.now())


def test_a_contract_wallet_that_no_longer_vouches_costs_no_gas(contracts_desk: Desk) -> None:
    desk, payout = contracts_desk, contracts_desk.payout()
    give(desk.hand_out(payout), payout, desk.signature(payout) + "00")
    execute(desk.node, desk.node.accounts[0], desk.wallet.address, "turn_at(uint256)", 0)
    assert send_signed(now=timezone.now()) == 0
    assert PayoutRequest.objects.get().trouble == Trouble.REFUSED
    assert not GasTransaction.objects.exists()


def test_only_where_the_key_did_not_sign_a_node_is_asked_and_must_answer(desk: Desk, settings: Any) -> None:
    payout = desk.payout()
    batch = desk.hand_out(payout)
    good = desk.signature(payout)
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "http://127.0.0.1:9"}
    assert vouched_digest(batch, payout.public_id, good) == b""
    with pytest.raises(UnavailableError):
        vouched_digest(batch, payout.public_id, good + "00")
    give(batch, payout, good)
