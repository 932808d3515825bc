"""Converts a Solana transaction's effects on an owner to the transfers that watchers record.

An outgoing transfer has the recipient's position. If one owner paid all that a recipient got, both sides report the very
same transfer. If several did, the recipient's transfer has the whole amount and each payer's its part, and only the
reported side has a key: no row is made from another account's data.
"""

from collections.abc import Iterator

from wallets.chains.base import TokenTransfer
from wallets.chains.solana.changes import Credit, Debit, ReadTransaction
from wallets.chains.solana.decode import from_base58
from wallets.chains.solana.questions import slot_name
from wallets.chains.specs import ChainSpec


class Teller:
    """Converts effects for the tokens of one chain's spec."""

    def __init__(self, spec: ChainSpec) -> None:
        self._chain = spec.name
        self._tokens = {token.address: token for token in spec.tokens.values()}

    def both_ways(
        self, signature: str, read: ReadTransaction, owner: str
    ) -> Iterator[TokenTransfer]:
        """Return a transaction's transfers to an owner and from it."""
        for credit in read.credits:
            if credit.owner == owner:
                yield self.arrived(signature, read, credit)
        for debit in read.debits:
            if debit.owner == owner:
                yield self.left(signature, read, debit)

    def arrived(
        self, signature: str, read: ReadTransaction, credit: Credit
    ) -> TokenTransfer:
        """Return an owner's incoming transfer, as one even if several senders paid it."""
        told = _as_paid(credit)
        sender_key = from_base58(told.owner) if told in read.debits else b""
        return self._told(
            signature, read, told, (sender_key, from_base58(told.recipient))
        )

    def left(
        self, signature: str, read: ReadTransaction, debit: Debit
    ) -> TokenTransfer:
        """Return an owner's outgoing transfer; without a recipient if it reached none."""
        is_whole = any(_as_paid(credit) == debit for credit in read.credits)
        recipient_key = from_base58(debit.recipient) if is_whole else b""
        return self._told(
            signature, read, debit, (from_base58(debit.owner), recipient_key)
        )

    def _told(
        self,
        signature: str,
        read: ReadTransaction,
        moved: Debit,
        keys: tuple[bytes, bytes],
    ) -> TokenTransfer:
        token = self._tokens[moved.mint]
        sender_key, recipient_key = keys
        return TokenTransfer(
            chain=self._chain,
            tx_hash=signature,
            position=moved.account_index,
            token=token.symbol,
            token_address=token.address,
            units=moved.units,
            sender=moved.owner,
            recipient_key=recipient_key,
            recipient=moved.recipient,
            block_height=read.slot,
            block_hash=slot_name(read.slot),
            block_time=read.time,
            labels=read.labels,
            sender_key=sender_key,
        )


def _as_paid(credit: Credit) -> Debit:
    """Return the credit as if its sender had paid all of it."""
    return Debit(
        owner=credit.sender,
        mint=credit.mint,
        units=credit.units,
        account_index=credit.account_index,
        recipient=credit.owner,
    )
