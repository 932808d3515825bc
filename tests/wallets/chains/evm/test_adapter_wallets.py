"""On Ethereum and Tron the recipients are merchants' own wallets: read like deposit addresses, spelled as people do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address, transfer
from localnet.tron import USDT, TronNode
from tests.factories import make_merchant, make_wallet
from tests.wallets.evmkin import spec_of
from tests.wallets.factories import FAR_FUTURE, address_of, make_deposit, make_watcher, read_all
from wallets.chains.base import Hint
from wallets.chains.evm.address import address_key as evm_key
from wallets.chains.registry import open_pool
from wallets.models import ReceivingWallet, Transfer
from wallets.selectors import watched_keys
from wallets.watcher_process import open_watcher
from wallets.watchers.passes import ChainWatcher

pytestmark = pytest.mark.django_db
USDC = token_address("USDC")
MINE = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
MINE_ON_TRON = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"


@contextmanager
def watching(url: str, chain: str, **settings: str) -> Iterator[ChainWatcher]:
    """A watcher of the chain as on its main network."""
    spec = spec_of(chain, url, START_BLOCK="0", **settings)
    watcher = open_watcher(spec, open_pool(spec), owner="one")
    yield watcher
    watcher.close()


def own_wallet(chain: str, address: str) -> ReceivingWallet:
    """A merchant's own wallet, somebody's payment to which is expected."""
    wallet = make_wallet(make_merchant(), chain, address)
    # Otherwise its chain would be looked at once a minute.
    wallet.expected_until = FAR_FUTURE
    wallet.save()
    return wallet


def only_transfer() -> dict[str, Any]:
    [row] = Transfer.objects.values()
    return {**row}


def test_a_payment_to_a_merchants_own_ethereum_wallet_is_theirs(ethereum_node: Anvil) -> None:
    wallet = own_wallet("ethereum", MINE)
    transfer(ethereum_node, payer(ethereum_node), USDC, MINE, 25_003_700)
    with watching(ethereum_node.url, "ethereum") as watcher:
        read_all(watcher)
        row = only_transfer()
        assert (row["wallet_id"], row["deposit_id"]) == (wallet.pk, None)
        assert row["merchant_id"] == wallet.merchant_id
        assert (row["recipient"], row["units"]) == (MINE, 25_003_700)
        assert row["state"] == "detected"
        ethereum_node.mine(5)
        read_all(watcher)
        assert only_transfer()["state"] == "confirmed"


def test_a_payment_to_a_merchants_own_tron_wallet_is_theirs(tron_node: TronNode) -> None:
    wallet = own_wallet("tron", MINE_ON_TRON)
    tx_id = tron_node.pay(MINE_ON_TRON, 25_003_700)
    with watching(tron_node.url, "tron") as watcher:
        read_all(watcher)
        row = only_transfer()
        assert (row["wallet_id"], row["merchant_id"]) == (wallet.pk, wallet.merchant_id)
        assert (row["recipient"], row["tx_hash"]) == (MINE_ON_TRON, tx_id)
        assert (row["token"], row["token_address"]) == ("USDT", USDT)
        tron_node.mine(18)
        read_all(watcher)
        assert only_transfer()["state"] == "detected"
        tron_node.mine(1)
        read_all(watcher)
        assert only_transfer()["state"] == "confirmed"


def test_a_tron_reorganisation_takes_the_payment_back(tron_node: TronNode) -> None:
    own_wallet("tron", MINE_ON_TRON)
    with watching(tron_node.url, "tron") as watcher:
        read_all(watcher)
        tron_node.pay(MINE_ON_TRON, 25)
        tron_node.mine(3)
        read_all(watcher)
        tron_node.anvil.reorg(4)
        tron_node.mine(1)
        read_all(watcher)
        assert only_transfer()["state"] == "orphaned"


def test_deposit_addresses_are_watched_on_ethereum_beside_wallets(ethereum_node: Anvil) -> None:
    own_wallet("ethereum", MINE)
    deposit = make_deposit()
    for to in (MINE, address_of(deposit)):
        transfer(ethereum_node, payer(ethereum_node), USDC, to, 25)
    watcher = make_watcher(ethereum_node.url, chain="ethereum")
    read_all(watcher)
    watcher.close()
    found = Transfer.objects.values_list("deposit_id", flat=True)
    assert sorted(found, key=bool) == [None, deposit.pk]


def test_what_a_deposit_address_passes_on_to_its_merchants_wallet_is_not_paid_twice(ethereum_node: Anvil) -> None:
    """Money sent on the wrong network was recorded where it arrived; its sweep must not pay for another checkout."""
    passing_on = ethereum_node.accounts[5]
    wallet = own_wallet("ethereum", MINE)
    deposit = make_deposit(key=evm_key(passing_on.address))
    transfer(ethereum_node, payer(ethereum_node), USDC, passing_on.address, 25_000_000)
    sweep = transfer(ethereum_node, passing_on, USDC, MINE, 25_000_000)
    transfer(ethereum_node, payer(ethereum_node), USDC, MINE, 5)
    with watching(ethereum_node.url, "ethereum") as watcher:
        read_all(watcher)
    found = Transfer.objects.order_by("pk")
    assert [(one.deposit_id, one.wallet_id) for one in found] == [(deposit.pk, None), (None, wallet.pk)]
    assert not found.filter(tx_hash=sweep).exists()


def test_the_same_address_is_no_wallet_on_a_chain_it_was_not_named_for(base_node: Anvil) -> None:
    own_wallet("ethereum", MINE)
    transfer(base_node, payer(base_node), USDC, MINE, 25)
    with watching(base_node.url, "base") as watcher:
        read_all(watcher)
    assert not Transfer.objects.exists()


def test_tron_is_asked_for_wallets_and_never_for_deposit_addresses() -> None:
    make_deposit()
    wallet = own_wallet("tron", MINE_ON_TRON)
    assert watched_keys("tron") == Hint(frozenset({bytes(wallet.key)}))
