"""Requests to Solana nodes about a payer's transaction. Answers are checked here; a node's failure is a ChainError."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from wallets.chains.base import ChainAdapter, FoundTransaction, MalformedAnswerError
from wallets.chains.family import ChainSpec
from wallets.chains.registry import KeptPerThread, open_pool
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode, endings, sending
from wallets.chains.solana.balances import held
from wallets.chains.solana.funding import funder_of
from wallets.chains.solana.questions import ask_finalized
from wallets.chains.solana.sending import Simulated
from x402.exact.quotas import PayerBalance
from x402.exact.solana.transfers import SignedTransfer


class SolanaNodes:
    """A chain's nodes, for one thread. All raise ChainError."""

    def __init__(self, spec: ChainSpec) -> None:
        self.pool: RpcPool = open_pool(spec)
        self._adapter: ChainAdapter = spec.family.open_adapter(spec, self.pool)

    def simulate(self, transaction: bytes) -> Simulated:
        """Simulate a transaction; our account's signature may be missing."""
        return sending.simulate(self.pool, transaction)

    def send(self, transaction: bytes) -> None:
        """Send a signed transaction to a node, which forwards it. Its answer is ignored: the chain shows the result."""
        sending.send(self.pool, transaction)

    def find(self, signature: str) -> FoundTransaction | None:
        """Return a transaction as its watcher reads it; None if no node knows it.

        A failed one counts as not mined until its failure is final: on another fork it may succeed.
        """
        found = self._adapter.find(signature)
        if found is None or found.succeeded or found.block_height is None:
            return found
        is_for_good = found.block_height <= self.pool.run(ask_finalized)
        return found if is_for_good else replace(found, block_height=None)

    def balance(self, transfer: SignedTransfer) -> PayerBalance:
        """Return the balance of the account that a transfer takes from, and its slot."""
        options = {"encoding": "base64", "commitment": "confirmed"}
        asked = [[transfer.source], options]
        answer = self.pool.run(lambda node: node.call("getMultipleAccounts", asked))
        slot, accounts = decode.in_context(answer)
        if len(decode.items(accounts)) != 1:
            raise MalformedAnswerError("as many accounts came as were not asked for")
        owner, program = decode.from_base58(transfer.payer), transfer.program
        units = held(accounts[0], owner=owner, mint=transfer.mint, program=program)
        return PayerBalance(units, slot)

    def funder(self, account: str, payer: str) -> str | None:
        """Return who last sent tokens to a payer's token account; "" if none did, None if too much came after it."""
        return funder_of(self.pool, self._adapter, account, payer)

    def is_lost(self, signature: str, blockhash: str, *, since: datetime) -> bool:
        """Whether every node says, in final state newer than `since`, that a transaction is in no block and can no longer be.

        `since` is a time when the block of this hash was known.
        """
        return endings.is_lost(self.pool, signature, endings.without_hash(blockhash, since=since))


_kept: Final = KeptPerThread(SolanaNodes, close=lambda nodes: nodes.pool.close())


def nodes_of(spec: ChainSpec) -> SolanaNodes:
    """Return this thread's connections to a chain's nodes."""
    return _kept.of(spec)
