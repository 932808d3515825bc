"""Chains and deposit addresses for the tests of wallets."""

import secrets
from datetime import UTC, datetime
from typing import Any, cast

from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from localnet.tokens import token_address
from tests.factories import NOON, WALLET, make_merchant
from wallets.chains.base import BlockAdapter
from wallets.chains.family import ChainSpec
from wallets.chains.registry import load_chains, open_pool
from wallets.forwarders.addresses import checksum, deposit_key
from wallets.models import DepositAddress, SourceDifference
from wallets.states import DifferenceKind
from wallets.watchers.blocks import Watcher
from wallets.watchers.passes import ChainWatcher, PassOutcome

FAR_FUTURE = datetime(2100, 1, 1, tzinfo=UTC)


def make_deposit(merchant: Merchant | None = None, *, destination: str = WALLET, **overrides: Any) -> DepositAddress:
    """A live deposit address, watched for a long time."""
    recipient, nonce = bytes.fromhex(destination[2:]), secrets.token_bytes(32)
    values: dict[str, Any] = {"key": deposit_key(recipient, nonce), "mode": Mode.LIVE, "watched_until": FAR_FUTURE}
    return DepositAddress.objects.create(
        destination=recipient, nonce=nonce, merchant=merchant or make_merchant(), **(values | overrides)
    )


def address_of(deposit: DepositAddress) -> str:
    """Where the buyer pays."""
    return checksum(bytes(deposit.key))


def local_spec(*urls: str, chain: str = "base", **settings: str) -> ChainSpec:
    """A chain on local nodes, with the test tokens and six confirmations."""
    prefix = chain.upper()
    tokens = {f"{prefix}_TOKEN_{key}": token_address(symbol) for key, symbol in TOKENS[chain].items()}
    given = {f"{prefix}_{key}": value for key, value in settings.items()}
    base = {f"{prefix}_RPC_URLS": ",".join(urls), f"{prefix}_CONFIRMATIONS": "6"}
    return load_chains("local", base | tokens | given)[chain]


TOKENS = {
    "base": {"USDC": "USDC", "USDBC": "USDbC"},
    "polygon": {"USDC": "USDC", "USDT": "USDT", "USDC_E": "USDC.e"},
    "ethereum": {"USDC": "USDC", "USDT": "USDT"},
}


def make_watcher(*urls: str, chain: str = "base", owner: str = "one", **settings: str) -> Watcher:
    """A watcher of a local chain. Its pool is `watcher.pool`."""
    spec = local_spec(*urls, chain=chain, **settings)
    pool = open_pool(spec)
    adapter = cast("BlockAdapter", spec.family.open_adapter(spec, pool))
    return Watcher(spec, adapter, rpc=pool, owner=owner)


def read_all(watcher: ChainWatcher, *, now: datetime | None = None) -> None:
    """Let the watcher work until it has nothing to read."""
    for _ in range(200):
        if watcher.tick(now=now or timezone.now()) is not PassOutcome.AHEAD:
            return
    raise AssertionError("the watcher does not come to an end")


def make_difference(kind: DifferenceKind = DifferenceKind.MISSED, position: int = 0) -> SourceDifference:
    """A transfer on Base that two sources tell differently."""
    return SourceDifference.objects.create(
        chain="base",
        kind=kind,
        tx_hash="0x01",
        position=position,
        recipient="0x02",
        token="USDC",
        units=1,
        block_height=1,
        source="http://node.example",
        found_at=NOON,
    )
