"""Recorded transfers, put back into the words in which nodes are asked about them."""

from wallets.addresses import address_key
from wallets.chains.base import TokenTransfer
from wallets.chains.specs import Family
from wallets.models import Transfer


def as_told(transfer: Transfer, family: Family) -> TokenTransfer:
    """Return a recorded transfer as its chain told it."""
    return TokenTransfer(
        chain=transfer.chain,
        tx_hash=transfer.tx_hash,
        position=transfer.position,
        token=transfer.token,
        token_address=transfer.token_address,
        units=int(transfer.units),
        sender=transfer.sender,
        recipient_key=address_key(transfer.recipient, family=family),
        recipient=transfer.recipient,
        block_height=transfer.block_height,
        block_hash=transfer.block_hash,
        block_time=transfer.block_time,
        labels=tuple(transfer.labels),
    )
