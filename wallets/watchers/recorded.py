"""Converts recorded facts back to the form in which nodes are asked about them."""

from wallets.chains.base import TokenTransfer
from wallets.chains.family import ChainFamily
from wallets.models import Transfer, WatchedMovement
from wallets.states import Direction


def as_told(transfer: Transfer, family: ChainFamily) -> TokenTransfer:
    """Return a recorded transfer as its chain reported it."""
    return _told(transfer, family, sender=transfer.sender, recipient=transfer.recipient, labels=tuple(transfer.labels))


def movement_as_told(movement: WatchedMovement, family: ChainFamily) -> TokenTransfer:
    """Return a recorded movement as its chain reported it, without labels."""
    own, other = movement.wallet.address, movement.counterparty
    is_in = movement.direction == Direction.IN
    sender, recipient = (other, own) if is_in else (own, other)
    return _told(movement, family, sender=sender, recipient=recipient)


def _told(
    fact: Transfer | WatchedMovement, family: ChainFamily, *, sender: str, recipient: str, labels: tuple[str, ...] = ()
) -> TokenTransfer:
    return TokenTransfer(
        chain=fact.chain,
        tx_hash=fact.tx_hash,
        position=fact.position,
        token=fact.token,
        token_address=fact.token_address,
        units=int(fact.units),
        sender=sender,
        # Burned tokens have no recipient.
        recipient_key=family.address_key(recipient) if recipient else b"",
        recipient=recipient,
        block_height=fact.block_height,
        block_hash=fact.block_hash,
        block_time=fact.block_time,
        labels=labels,
    )
