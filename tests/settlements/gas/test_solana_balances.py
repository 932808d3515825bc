"""Operators are told before an account of ours on Solana has too little to pay for machines' transactions."""

from datetime import timedelta
from typing import Any

import pytest
from base58 import b58encode
from django.utils import timezone
from solders.keypair import Keypair

from demo.localnet.solana.node import SolanaNode
from mails.models import OutgoingMail
from settlements.gas.solana_balances import refresh_solana_balances
from settlements.tasks import refresh_gas_balances
from tests.factories import make_user
from tests.nodes.proxy import RpcProxy, garbage
from wallets.chains.base import ChainError
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db


@pytest.fixture
def accounts(solana_node: SolanaNode, settings: Any) -> tuple[str, str]:
    """Addresses of ours, the first with a thousand SOL and the second with none; and an operator."""
    rich, poor = Keypair(), Keypair()
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    settings.GAS_KEYS = []
    settings.GAS_KEYS_SOLANA = [b58encode(bytes(key)).decode() for key in (rich, poor)]
    solana_node.airdrop(str(rich.pubkey()))
    operator = make_user("operator@florin.example")
    operator.is_staff = True
    operator.save()
    return str(rich.pubkey()), str(poor.pubkey())


def test_operators_are_told_of_the_poor_account_once_a_day(accounts: tuple[str, str], solana_node: SolanaNode) -> None:
    rich, poor = accounts
    noon = timezone.now().replace(hour=12)
    for hours in (0, 1, 11, 24):
        at = noon + timedelta(hours=hours)
        refresh_solana_balances(chain_spec("solana"), now=at)
    mails = OutgoingMail.objects.all()
    assert len(mails) == 2
    assert all(poor in mail.text and rich not in mail.text for mail in mails)
    solana_node.airdrop(poor)
    refresh_solana_balances(chain_spec("solana"), now=noon + timedelta(days=5))
    assert OutgoingMail.objects.count() == 2


def test_the_beat_asks_about_them_without_any_other_gas_key(accounts: tuple[str, str]) -> None:
    refresh_gas_balances()
    assert OutgoingMail.objects.get().subject == "Gas runs low on Solana"


@pytest.mark.parametrize("value", ["-1", "true", '"5"', "18446744073709551616", "null"])
def test_a_balance_that_is_none_is_told_to_nobody(
    accounts: tuple[str, str], solana_node: SolanaNode, settings: Any, value: str
) -> None:
    told = f'{{"jsonrpc":"2.0","id":1,"result":{{"context":{{"slot":1}},"value":{value}}}}}'
    with RpcProxy(solana_node.url) as proxy:
        settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": proxy.url}
        proxy.fault = garbage(told.encode())
        with pytest.raises(ChainError):
            refresh_solana_balances(chain_spec("solana"), now=timezone.now())
        refresh_gas_balances()
    assert not OutgoingMail.objects.exists()
