"""Free payments of unusual wallets, of a chain that reorganises, into escrow, and after a backup came back: money moves once, or never."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from localnet.abi import encode_arguments
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.smart_wallet import deploy_wallet, future_wallet
from localnet.tokens import DEPLOYER, balance_of, mint
from settlements.gas.node import gas_node
from settlements.gas.upkeep import tend
from settlements.models import GasAccount, GasTransaction, Hold, RelayClaim
from settlements.states import Outcome
from tests.checkouts.gas_free.payers import PRICE, Payer, new_payer
from tests.checkouts.page.buyers import error_of
from tests.checkouts.shop import Shop
from tests.contract.client import client_of
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db

UNAVAILABLE = ("gas_free_unavailable", None)
PENDING = ("payment_pending", None)
# ERC-6492's mark at the end of a signature of a wallet that is not deployed.
UNDEPLOYED = "6492" * 16


@pytest.fixture
def buyer(base_node: Anvil, usdc: str) -> Payer:
    """Somebody with the price of a checkout and not one wei."""
    return new_payer(base_node, usdc)


def due_of(checkout: Checkout) -> str:
    return str(checkout.offers["base"]["address"])


def tend_all(*, after: timedelta = timedelta()) -> None:
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now() + after)


def finish(node: Anvil, shop: Shop, checkout: Checkout) -> CheckoutStatus:
    """Let what was sent become final; return the checkout's status."""
    node.mine(chain_spec("base").confirmations)
    tend_all()
    shop.watch()
    checkout.refresh_from_db()
    return CheckoutStatus(checkout.status)


def word(value: int) -> str:
    return f"0x{value:064x}"


def delegate(node: Anvil, account: str, *, owner: str) -> None:
    """Give an account the code of a wallet by EIP-7702, with the storage of one that vouches for an owner's signatures."""
    # Vyper keeps its owner in the second word, and until when it is honest in the fourth.
    code = deploy_wallet(node, payer(node))
    node.rpc("anvil_setCode", account, "0xef0100" + code[2:])
    node.rpc("anvil_setStorageAt", account, "0x1", word(int(owner, 16)))
    node.rpc("anvil_setStorageAt", account, "0x3", word(2**256 - 1))


def test_an_account_with_code_that_accepts_its_keys_signature_pays_without_a_fee(
    client: Client, free_shop: Shop, buyer: Payer, base_node: Anvil, usdc: str
) -> None:
    """An account of EIP-7702: the token asks its code and not its key."""
    delegate(base_node, buyer.address, owner=buyer.address)
    checkout = free_shop.checkout()
    offer = buyer.offered(client, checkout).json()
    # Its code wants a byte more than a key writes.
    assert error_of(buyer.signed(client, checkout, offer), 409) == UNAVAILABLE
    assert buyer.signed(client, checkout, offer, more="00").status_code == 200
    assert finish(base_node, free_shop, checkout) == CheckoutStatus.COMPLETED
    assert balance_of(base_node, usdc, due_of(checkout)) == PRICE


def test_a_signature_by_a_wallet_that_is_not_deployed_is_left_to_its_own_transaction(
    client: Client, free_shop: Shop, base_node: Anvil, usdc: str
) -> None:
    """ERC-6492: strangers' factories are not called."""
    owner = payer(base_node)
    address, _ = future_wallet(owner)
    mint(base_node, usdc, address, PRICE)
    wallet, checkout = Payer(address, owner.key), free_shop.checkout()
    offer = wallet.offered(client, checkout).json()
    inner = bytes.fromhex(wallet.signature(offer["typed_data"])[2:] + "00")
    wrapped = encode_arguments(["address", "bytes", "bytes"], DEPLOYER, b"deploy", inner).hex()
    before = base_node.block_number()
    for signature in (inner.hex(), wrapped + UNDEPLOYED):
        answer = signed(client, checkout, offer, signature)
        assert error_of(answer, 409) == UNAVAILABLE
    assert not GasTransaction.objects.exists()
    assert (base_node.code(address), base_node.block_number()) == (b"", before)


def signed(client: Client, checkout: Checkout, offer: dict[str, Any], signature: str) -> Any:
    body = {"ticket": offer["ticket"], "signature": f"0x{signature}"}
    return client.post(f"/c/{checkout.code}/signed", body, content_type="application/json")


def test_what_a_reorganisation_takes_back_the_ledger_sends_again_and_the_money_moves_once(
    client: Client, free_shop: Shop, buyer: Payer, base_node: Anvil, usdc: str
) -> None:
    checkout = free_shop.checkout()
    assert buyer.pay(client, checkout).status_code == 200
    free_shop.watch()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.PROCESSING
    base_node.reorg(1)
    base_node.mine()
    free_shop.watch()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.PENDING
    assert balance_of(base_node, usdc, due_of(checkout)) == 0
    # The buyer, who sees the page ask again, is offered no second one.
    assert error_of(buyer.offered(client, checkout), 409) == PENDING
    tend_all(after=timedelta(minutes=2))
    assert finish(base_node, free_shop, checkout) == CheckoutStatus.COMPLETED
    assert balance_of(base_node, usdc, due_of(checkout)) == PRICE
    made = GasTransaction.objects.get()
    assert (made.outcome, made.succeeded) == (Outcome.DONE, True)


def test_a_free_payment_into_escrow_is_held(
    client: Client, free_shop: Shop, buyer: Payer, base_node: Anvil, usdc: str
) -> None:
    made = client_of(free_shop.merchant, Mode.LIVE).created(escrow=True)
    checkout = Checkout.objects.select_related("merchant").get(public_id=made["id"])
    offer = buyer.offered(client, checkout).json()
    # What is signed pays the forwarder, which is held, and not the merchant's wallet.
    assert offer["typed_data"]["message"]["to"] == due_of(checkout) != free_shop.address
    assert buyer.signed(client, checkout, offer).status_code == 200
    assert finish(base_node, free_shop, checkout) == CheckoutStatus.COMPLETED
    held = Hold.objects.get(subject_id=checkout.public_id)
    assert held.released_at is None
    assert balance_of(base_node, usdc, due_of(checkout)) == PRICE
    assert "until" in client.get(f"/c/{checkout.code}").content.decode()


@pytest.mark.parametrize("is_mined", [True, False], ids=["mined", "on its way"])
def test_after_a_backup_that_does_not_know_it_what_was_sent_is_not_paid_twice(
    client: Client, free_shop: Shop, buyer: Payer, base_node: Anvil, usdc: str, is_mined: bool
) -> None:
    mint(base_node, usdc, buyer.address, PRICE)
    checkout = free_shop.checkout()
    offer = buyer.offered(client, checkout).json()
    base_node.set_automine(is_mined)
    assert buyer.signed(client, checkout, offer).status_code == 200
    RelayClaim.objects.all().delete()
    GasTransaction.objects.all().delete()
    # As `manage.py after_restore` does: nodes say which number is the next.
    GasAccount.objects.update(next_nonce=None)
    again = buyer.signed(client, checkout, offer)
    if is_mined:
        assert error_of(again, 409) == PENDING
        assert not GasTransaction.objects.exists()
    base_node.set_automine(True)
    base_node.mine()
    assert finish(base_node, free_shop, checkout) == CheckoutStatus.COMPLETED
    assert balance_of(base_node, usdc, due_of(checkout)) == balance_of(base_node, usdc, buyer.address) == PRICE
