"""Converts a Solana transaction's effects on an owner to the transfers that watchers record.

Both sides of an instruction report the very same transfer, unless only one of them has several of the transaction, or the
other's is a sum: then only the reported side has a key, and no row is made from another account's data.
"""

from collections.abc import Iterator

from wallets.chains.base import TokenTransfer
from wallets.chains.solana.changes import ReadTransaction
from wallets.chains.solana.decode import from_base58
from wallets.chains.solana.questions import slot_name
from wallets.chains.solana.sums import Credit, Debit
from wallets.chains.specs import ChainSpec


class Teller:
    """Converts effects for the tokens of one chain's spec."""

    def __init__(self, spec: ChainSpec) -> None:
        self._chain = spec.name
        self._tokens = {token.address: token for token in spec.tokens.values()}

    def both_ways(self, signature: str, read: ReadTransaction, owner: str) -> Iterator[TokenTransfer]:
        """Return a transaction's transfers to an owner and from it."""
        for credit in read.credits:
            if credit.owner == owner:
                yield self.arrived(signature, read, credit)
        for debit in read.debits:
            if debit.owner == owner:
                yield self.left(signature, read, debit)

    def arrived(self, signature: str, read: ReadTransaction, credit: Credit) -> TokenTransfer:
        """Return an owner's incoming transfer."""
        told = _as_paid(credit)
        sender_key = from_base58(told.owner) if told in read.debits else b""
        keys = sender_key, from_base58(told.recipient)
        return self._told(signature, read, told, keys, credit)

    def left(self, signature: str, read: ReadTransaction, debit: Debit) -> TokenTransfer:
        """Return an owner's outgoing transfer; without a recipient if it reached none."""
        alike = (credit for credit in read.credits if _as_paid(credit) == debit)
        credit = next(alike, None)
        recipient_key = from_base58(debit.recipient) if credit is not None else b""
        keys = from_base58(debit.owner), recipient_key
        return self._told(signature, read, debit, keys, credit)

    def _told(
        self, signature: str, read: ReadTransaction, moved: Debit, keys: tuple[bytes, bytes], credit: Credit | None
    ) -> TokenTransfer:
        token = self._tokens[moved.mint]
        sender_key, recipient_key = keys
        return TokenTransfer(
            chain=self._chain,
            tx_hash=signature,
            position=moved.position,
            token=token.symbol,
            token_address=token.address,
            units=moved.units,
            sender=moved.owner,
            recipient_key=recipient_key,
            recipient=moved.recipient,
            block_height=read.slot,
            block_hash=slot_name(read.slot),
            block_time=read.time,
            labels=credit.labels if credit is not None else (),
            sender_key=sender_key,
            is_sum=credit is not None and credit.is_sum,
        )


def _as_paid(credit: Credit) -> Debit:
    """Return the credit as if its sender had paid all of it."""
    return Debit(
        owner=credit.sender, mint=credit.mint, units=credit.units, position=credit.position, recipient=credit.owner
    )
