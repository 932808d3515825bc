"""What a Solana transaction did to an owner, in the words in which watchers record it.

What leaves an owner has the recipient's position. Where one owner paid a recipient all it got, both sides tell of it in the
very same words. Where several did, the recipient is told the whole and each payer its part, and only whose side is told has
its key: nobody's row is made of what another's account says.
"""

from collections.abc import Iterator

from wallets.chains.base import TokenTransfer
from wallets.chains.solana.changes import Credit, Debit, ReadTransaction
from wallets.chains.solana.decode import from_base58
from wallets.chains.solana.questions import slot_name
from wallets.chains.specs import ChainSpec


class Teller:
    """Tells of the tokens of one chain's spec."""

    def __init__(self, spec: ChainSpec) -> None:
        self._chain = spec.name
        self._tokens = {token.address: token for token in spec.tokens.values()}

    def both_ways(
        self, signature: str, read: ReadTransaction, owner: str
    ) -> Iterator[TokenTransfer]:
        """Tell what a transaction brought an owner, and what it took."""
        for credit in read.credits:
            if credit.owner == owner:
                yield self.arrived(signature, read, credit)
        for debit in read.debits:
            if debit.owner == owner:
                yield self.left(signature, read, debit)

    def arrived(
        self, signature: str, read: ReadTransaction, credit: Credit
    ) -> TokenTransfer:
        """Tell what an owner received, whoever paid parts of it."""
        told = _as_paid(credit)
        sender_key = from_base58(told.owner) if told in read.debits else b""
        return self._told(
            signature, read, told, (sender_key, from_base58(told.recipient))
        )

    def left(
        self, signature: str, read: ReadTransaction, debit: Debit
    ) -> TokenTransfer:
        """Tell what an owner paid; what reached nobody has no recipient."""
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
    """The credit as if its sender had paid all of it."""
    return Debit(
        owner=credit.sender,
        mint=credit.mint,
        units=credit.units,
        account_index=credit.account_index,
        recipient=credit.owner,
    )
