"""Looks up a Solana transaction by its signature: everything it moved, for any recipient."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wallets.chains.base import FoundMovement, FoundTransaction, TokenTransfer
from wallets.chains.family import ChainSpec, TokenSpec
from wallets.chains.rpc.client import Node
from wallets.chains.solana import decode
from wallets.chains.solana.changes import (
    ReadTransaction,
    TokenCredit,
    read_strangers,
    read_to_oneself,
    read_transaction,
)
from wallets.chains.solana.decode import TOKEN_PROGRAMS
from wallets.chains.solana.questions import ask_transactions, ask_waiting, token_account


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks transactions up on Solana's nodes.

    `tokens` are the listed ones by mint. `write` converts a credit to a TokenTransfer. `final_through` returns the slot up
    to which transactions are final, with the rule for large ones if wanted, on a node that has confirmed the given slot.
    """

    spec: ChainSpec
    tokens: Mapping[str, TokenSpec]
    write: Callable[[str, ReadTransaction, TokenCredit], TokenTransfer]
    final_through: Callable[[Node, int, bool], int]

    def find(self, node: Node, tx_hash: str) -> FoundTransaction | None:
        """Return a transaction, None if the node does not know it. Raises ChainError."""
        [(_, answer)] = ask_transactions(node, [tx_hash], "confirmed")
        if answer is not None:
            return self._confirmed(node, tx_hash, answer)
        succeeded = ask_waiting(node, tx_hash)
        if succeeded is None:
            return None
        return FoundTransaction(
            chain=self.spec.name,
            tx_hash=tx_hash,
            succeeded=succeeded,
            is_final=False,
            block_height=None,
            block_time=None,
            movements=(),
        )

    def _confirmed(self, node: Node, tx_hash: str, answer: Any) -> FoundTransaction:
        decimals = {mint: token.decimals for mint, token in self.tokens.items()}
        unaccepted = {m for m, token in self.tokens.items() if not token.accepted}
        read = read_transaction(answer, asked=tx_hash, decimals=decimals, unaccepted=unaccepted)
        strange = read_strangers(answer, known=self.tokens)
        large = self.spec.large_units
        is_large = large is not None and any(one.units >= large for one in read.credits)
        return FoundTransaction(
            chain=self.spec.name,
            tx_hash=tx_hash,
            succeeded=read.succeeded,
            is_final=read.slot <= self.final_through(node, read.slot, is_large),
            block_height=read.slot,
            block_time=read.time,
            movements=self._movements((*read.credits, *strange)),
            transfers=tuple(self.write(tx_hash, read, credit) for credit in read.credits if _is_watched(read, credit)),
            to_oneself=self._movements(read_to_oneself(answer)),
        )

    def _movements(self, found: Iterable[TokenCredit]) -> tuple[FoundMovement, ...]:
        return tuple(
            FoundMovement(
                token=self.tokens[one.mint].symbol if one.mint in self.tokens else None,
                token_address=one.mint,
                units=one.units,
                sender=one.sender,
                recipient=one.owner,
                recipient_key=decode.from_base58(one.owner),
                position=one.position,
            )
            for one in found
        )


def _is_watched(read: ReadTransaction, credit: TokenCredit) -> bool:
    """Whether the transaction names the owner's associated token account, which watchers list.

    An owner may have others, but no one pays to them by accident.
    """
    return any(
        token_account(credit.owner, mint=credit.mint, program=program) in read.accounts for program in TOKEN_PROGRAMS
    )
