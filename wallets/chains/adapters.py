"""Opening a chain: the adapter of its family over its nodes."""

from collections.abc import Callable
from itertools import zip_longest
from typing import Final

from wallets.chains.account_times import AccountTimes, SolanaTimes, TonTimes
from wallets.chains.base import AccountAdapter, BlockAdapter
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.evm.balances import EvmHoldings
from wallets.chains.evm.dialect import ETHEREUM
from wallets.chains.holdings import HoldingsReader
from wallets.chains.registry import ChainSpec
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool, has_chain_id
from wallets.chains.solana.adapter import SolanaAdapter, has_genesis
from wallets.chains.solana.balances import SolanaHoldings
from wallets.chains.specs import Family
from wallets.chains.ton import pace as ton_pacing
from wallets.chains.ton.adapter import TonAdapter, has_network
from wallets.chains.ton.balances import TonHoldings
from wallets.chains.tron.dialect import KEY_HEADER, TRON

# What the chain's providers read an API key from. Others want it in the address.
_KEY_HEADERS: Final = {
    Family.SOLANA: "x-api-key",
    Family.TON: ton_pacing.KEY_HEADER,
    Family.TRON: KEY_HEADER,
}


def open_pool(spec: ChainSpec) -> RpcPool:
    """Return a pool of the chain's nodes. Nothing is asked yet."""
    pairs = zip_longest(spec.rpc_urls, spec.api_keys, fillvalue="")
    nodes = [_open_node(spec, url, _key_header(spec, key)) for url, key in pairs]
    return RpcPool(nodes, identify=_identify(spec))


def open_adapter(spec: ChainSpec, pool: RpcPool) -> BlockAdapter | AccountAdapter:
    """Return a reader of the chain."""
    match spec.family:
        case Family.SOLANA:
            return SolanaAdapter(spec, pool)
        case Family.TON:
            return TonAdapter(spec, pool)
        case Family.TRON:
            return EvmAdapter(spec, pool, dialect=TRON)
        case _:
            return EvmAdapter(spec, pool)


def open_holdings(spec: ChainSpec, pool: RpcPool) -> HoldingsReader:
    """Return what asks for the balances of accounts on the chain."""
    match spec.family:
        case Family.SOLANA:
            return SolanaHoldings(spec, pool)
        case Family.TON:
            return TonHoldings(spec, pool)
        case Family.TRON:
            return EvmHoldings(spec, pool, TRON)
        case _:
            return EvmHoldings(spec, pool, ETHEREUM)


def open_times(spec: ChainSpec, pool: RpcPool) -> AccountTimes:
    """Return what finds blocks by time, on a chain that is read account by account."""
    return TonTimes(pool) if spec.family is Family.TON else SolanaTimes(spec, pool)


def _identify(spec: ChainSpec) -> Callable[[Node], None] | None:
    match spec.family:
        case Family.SOLANA:
            return has_genesis(spec.network)
        case Family.TON:
            return has_network(spec.network)
        case _:
            return has_chain_id(spec.chain_id) if spec.chain_id is not None else None


def _open_node(spec: ChainSpec, url: str, headers: dict[str, str]) -> Node:
    if spec.family is Family.TON:
        return ton_pacing.open_node(url, headers=headers)
    return Node(url, headers=headers)


def _key_header(spec: ChainSpec, key: str) -> dict[str, str]:
    header = _KEY_HEADERS.get(spec.family)
    return {header: key} if header and key else {}
