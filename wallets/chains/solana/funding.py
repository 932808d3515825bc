"""Asks Solana's nodes for the account that funded another one, by the newest transactions of its token account."""

from typing import Final

from wallets.chains.base import ChainAdapter
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode

# How many transactions of a token account are listed, and how many of those that did not fail are read.
_LISTED: Final = 50
_READ: Final = 10


def funder_of(pool: RpcPool, adapter: ChainAdapter, account: str, owner: str) -> str | None:
    """Return who last sent tokens to an owner's token account; "" if none did, None if more came after it than is read.

    All are base58. Raises ChainError.
    """
    options = {"limit": _LISTED, "commitment": "confirmed"}
    asked = [account, options]
    listed = pool.run(lambda node: node.call("getSignaturesForAddress", asked))
    newest = decode.items(listed)[:_LISTED]
    succeeded = [one for one in newest if decode.field(one, "err") is None]
    for one in succeeded[:_READ]:
        found = adapter.find(str(decode.field(one, "signature")))
        for moved in found.movements if found is not None else ():
            if moved.recipient == owner and moved.sender not in ("", owner):
                return moved.sender
    is_whole = len(newest) < _LISTED and len(succeeded) <= _READ
    return "" if is_whole else None
