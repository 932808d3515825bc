"""What a buyer's wallet is given to sign: the amount due, to the recorded wallet."""

import base64
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from solders.keypair import Keypair
from solders.transaction import Transaction

from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from demo.localnet.solana.node import USDC, SolanaNode
from demo.localnet.solana.programs import token_account
from tests.checkouts.factories import make_test_checkout, move
from tests.checkouts.page.buyers import ACCOUNT, BUYER, ask, chosen, error_of
from tests.checkouts.shop import Shop

pytestmark = pytest.mark.django_db


def test_the_transaction_pays_the_recorded_wallet_the_exact_amount(client: Client, solana_shop: Shop) -> None:
    checkout = chosen(solana_shop)
    held = AmountReservation.objects.get()
    answer = ask(client, checkout, to=ACCOUNT, amount="1", recipient=ACCOUNT)
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    body = answer.json()
    assert set(body) == {"transaction"}
    message = Transaction.from_bytes(base64.b64decode(body["transaction"])).message
    transfer = message.instructions[-1]
    accounts = [message.account_keys[index] for index in transfer.accounts]
    mint = accounts[1]
    owner = Keypair.from_seed(b"a buyer with a wallet of his own").pubkey()
    assert str(mint) == USDC
    assert accounts[0] == token_account(owner, mint)
    assert accounts[2] == token_account(type(owner).from_string(solana_shop.address), mint)
    assert accounts[4] == type(owner)(bytes(held.reference))
    assert bytes(transfer.data)[1:9] == (25_000_000 + held.suffix).to_bytes(8, "little")
    assert message.account_keys[0] == owner


def test_a_merchant_without_a_token_account_gets_one_and_then_none(
    client: Client, solana_shop: Shop, solana_node: SolanaNode
) -> None:
    checkout = chosen(solana_shop)
    first = base64.b64decode(ask(client, checkout).json()["transaction"])
    assert len(Transaction.from_bytes(first).message.instructions) == 3
    solana_node.fund(solana_shop.address, 1)
    second = base64.b64decode(ask(client, checkout).json()["transaction"])
    assert len(Transaction.from_bytes(second).message.instructions) == 2


def test_without_an_exact_amount_there_is_nothing_to_sign(client: Client, solana_shop: Shop) -> None:
    answer = ask(client, solana_shop.checkout())
    assert error_of(answer, 409) == ("amount_not_reserved", None)
    assert AmountReservation.objects.count() == 0


@pytest.mark.parametrize("status", [CheckoutStatus.COMPLETED, CheckoutStatus.PROCESSING, CheckoutStatus.EXPIRED])
def test_a_checkout_that_takes_no_money_conflicts(status: CheckoutStatus, client: Client, solana_shop: Shop) -> None:
    checkout = move(chosen(solana_shop), status)
    assert error_of(ask(client, checkout), 409) == ("state_conflict", None)


def test_after_its_time_a_checkout_conflicts(client: Client, solana_shop: Shop) -> None:
    checkout = chosen(solana_shop)
    Checkout.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert error_of(ask(client, checkout), 409) == ("state_conflict", None)


def test_in_test_mode_there_is_nothing_to_sign(client: Client, solana_shop: Shop) -> None:
    checkout = make_test_checkout()
    assert error_of(ask(client, checkout), 409) == ("state_conflict", None)


@pytest.mark.parametrize("chain", ["base", "ton", "tron", "nowhere", "", 7, None])
def test_other_chains_are_refused(chain: Any, client: Client, solana_shop: Shop) -> None:
    answer = ask(client, chosen(solana_shop), chain=chain)
    assert error_of(answer, 400)[1] == "chain"


@pytest.mark.parametrize(
    "account",
    [
        "",
        "nonsense",
        ACCOUNT[:-1] + "0",
        ACCOUNT + ACCOUNT,
        str(token_account(BUYER.pubkey(), BUYER.pubkey())),
        "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        None,
        {"address": ACCOUNT},
    ],
)
def test_what_is_no_wallet_is_refused(account: Any, client: Client, solana_shop: Shop) -> None:
    answer = ask(client, chosen(solana_shop), account=account)
    assert error_of(answer, 400)[1] == "account"


def test_an_account_that_holds_less_is_told_so(client: Client, solana_shop: Shop) -> None:
    checkout = chosen(solana_shop)
    stranger = str(Keypair().pubkey())
    answer = ask(client, checkout, account=stranger)
    assert error_of(answer, 409) == ("funds_insufficient", None)
    Checkout.objects.filter(pk=checkout.pk).update(amount=Decimal("100.01"))
    AmountReservation.objects.update(price=Decimal("100.01"))
    assert error_of(ask(client, checkout), 409) == ("funds_insufficient", None)
