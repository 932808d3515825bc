"""A TON adapter over a local node, and accounts for it to read."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson

from localnet.ton.node import TonNode
from tests.wallets.contract.hostile import Answer, Fault
from wallets.chains.base import Account, AccountReading, Head
from wallets.chains.family import ChainSpec
from wallets.chains.registry import load_chains, open_pool
from wallets.chains.ton.adapter import TonAdapter
from wallets.chains.ton.family import TON_FAMILY


def ton_spec(*urls: str, usdt: str, **settings: str) -> ChainSpec:
    """TON on a local network."""
    given = {f"TON_{key}": value for key, value in settings.items()}
    given |= {"TON_RPC_URLS": ",".join(urls), "TON_TOKEN_USDT": usdt}
    return load_chains("local", given)["ton"]


def open_ton(node: TonNode, *urls: str, **options: Any) -> TonAdapter:
    """An adapter over a node, or over what stands before it."""
    spec = ton_spec(*(urls or (node.url,)), usdt=node.usdt)
    # Other jettons are read at intervals, which would make requests hard to count.
    spec = replace(spec, tokens={one.symbol: one for one in spec.accepted_tokens})
    return TonAdapter(spec, open_pool(spec), **options)


def key_of(address: str) -> bytes:
    """The key of an address."""
    return TON_FAMILY.address_key(address)


def account_at(address: str, head: Head) -> Account:
    """An account of which everything up to a block is known."""
    block = head.block
    return Account(key_of(address), address, block.height, block.time)


def read_on(adapter: TonAdapter, account: Account, *, head: Head | None = None) -> AccountReading:
    """Read one account to the newest block."""
    [reading] = adapter.read_accounts([account], head=head or adapter.head())
    return reading


def later(head: Head, *, seconds: int) -> Head:
    """A head whose block is younger."""
    moved = head.block.time + timedelta(seconds=seconds)
    return replace(head, block=replace(head.block, time=moved))


def changing(path: str, change: Callable[[Any], Any]) -> Fault:
    """A fault that replaces what is answered below a path by `change` of it."""

    def fault(target: str, answer: Answer) -> Answer:
        if f"/api/v3/{path}" not in target:
            return answer
        return replace(answer, body=orjson.dumps(change(orjson.loads(answer.body))))

    return fault


def changing_rows(path: str, name: str, change: Callable[[Any], Any]) -> Fault:
    """A fault that replaces each row of a listing."""
    return changing(path, lambda answer: answer | {name: [change(row) for row in answer[name]]})


def broken(**fields: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A row with some fields replaced."""
    return lambda row: row | fields


def in_message(**fields: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A transaction with some fields of its message replaced, where it has one."""
    return lambda row: row | {"in_msg": row["in_msg"] | fields}
