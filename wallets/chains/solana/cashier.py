"""Prepares payments on Solana, with the node requests that this needs.

A wrong answer of a node can only make the wallet's own simulation, or the network, refuse the payment.
"""

import base64
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from cachetools import TTLCache, cachedmethod

from wallets.chains.base import MalformedAnswerError
from wallets.chains.payments import NotEnoughError, PaymentOrder, PreparedPayment, TransactionRefusedError
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode
from wallets.chains.solana.questions import ask_programs, token_account
from wallets.chains.solana.transactions import TokenPayment, unsigned_payment

BLOCKHASH_SECONDS: Final = 5.0
"""How long a blockhash is reused: a transaction must land within about a minute of it."""

# Short, because a buyer waits for the answer.
_SECONDS: Final = 4.0
# A token account begins with its mint, its owner and its balance, in eight bytes.
_SLICE: Final = {"offset": 0, "length": 72}
_BALANCE: Final = slice(64, 72)


class SolanaCashier:
    """Prepares payments. Not thread-safe. Each costs two requests, or one while the blockhash is reused."""

    def __init__(self, pool: RpcPool, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._programs: dict[str, str] = {}
        self._blockhashes: TTLCache[object, str] = TTLCache(1, BLOCKHASH_SECONDS, clock)

    def prepare(self, order: PaymentOrder) -> bytes:
        """Return the transaction for the payer to sign. Raises ChainError, and NotEnoughError."""
        mint = order.token.address
        program = self._program(mint)
        accounts = [token_account(owner, mint=mint, program=program) for owner in (order.payer, order.recipient)]
        held, received = self._pool.run(lambda node: _balances(node, accounts))
        if held is None or held < order.units:
            raise NotEnoughError
        payment = TokenPayment(
            payer=order.payer,
            recipient=order.recipient,
            mint=mint,
            program=program,
            decimals=order.token.decimals,
            units=order.units,
            reference=order.reference,
        )
        return unsigned_payment(payment, blockhash=self._recent(), makes_account=received is None)

    def prepare_payment(self, order: PaymentOrder, *, now: datetime, until: datetime) -> PreparedPayment:
        """Return the transaction in base64; the network forgets it within about a minute."""
        return PreparedPayment(base64.b64encode(self.prepare(order)).decode())

    def send(self, raw: bytes, signature: bytes) -> None:
        """Raise TransactionRefusedError: wallets on Solana send their own transactions."""
        raise TransactionRefusedError("the wallet sends it")

    def _program(self, mint: str) -> str:
        if mint not in self._programs:
            found = self._pool.run(lambda node: ask_programs(node, [mint]))
            self._programs |= found
        return self._programs[mint]

    @cachedmethod(lambda self: self._blockhashes)
    def _recent(self) -> str:
        return self._pool.run(_blockhash)


def _balances(node: Node, accounts: Sequence[str]) -> list[int | None]:
    """Return token accounts' balances; None for one that does not exist."""
    options = {"commitment": "confirmed", "encoding": "base64", "dataSlice": _SLICE}
    asked = [list(accounts), options]
    answer = node.call("getMultipleAccounts", asked, seconds=_SECONDS)
    found = decode.items(decode.in_context(answer)[1])
    if len(found) != len(accounts):
        raise MalformedAnswerError("as many accounts came as were not asked for")
    return [_balance(account) for account in found]


def _balance(account: Any) -> int | None:
    # Anyone may have sent coins to the address before it becomes a token account.
    if account is None or _owner(account) not in decode.TOKEN_PROGRAMS:
        return None
    data = decode.account_data(account)
    if len(data) != _SLICE["length"]:
        raise MalformedAnswerError("a token account is not a token account")
    return int.from_bytes(data[_BALANCE], "little")


def _owner(account: Any) -> str:
    return decode.key(decode.field(account, "owner"))


def _blockhash(node: Node) -> str:
    answer = node.call("getLatestBlockhash", [{"commitment": "confirmed"}], seconds=_SECONDS)
    return decode.key(decode.field(decode.in_context(answer)[1], "blockhash"))
