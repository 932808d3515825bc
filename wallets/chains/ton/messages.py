"""What a jetton wallet is sent when it receives (TEP-74), and the comment the payer's wallet put beside it."""

import codecs
from dataclasses import dataclass
from typing import Final

from wallets.chains.base import LABEL_LENGTH
from wallets.chains.ton.cells import Cell, CellError, Slice, read_cells

OP_INTERNAL_TRANSFER: Final = 0x178D4519
"""TEP-74: `internal_transfer`, from the sender's jetton wallet to the receiver's."""

_OP_TEXT: Final = 0
# No character needs more than four bytes.
_MOST_TEXT_BYTES: Final = 4 * LABEL_LENGTH


@dataclass(frozen=True, slots=True)
class InternalTransfer:
    """`units` of a jetton, from the owner whose key is `sender`; None where the jetton's master gave it."""

    units: int
    sender: bytes | None
    comment: str | None


def read_internal_transfer(body: bytes) -> InternalTransfer:
    """Read a message's body. Raises CellError where it is no internal transfer; a strange payload has no comment."""
    message = Slice(read_cells(body))
    if message.unsigned(32) != OP_INTERNAL_TRANSFER:
        raise CellError("not an internal transfer")
    message.unsigned(64)
    units, sender = message.coins(), message.address()
    # What follows is as the payer wrote it, and cannot make it less of a payment.
    return InternalTransfer(units, sender, _comment(message))


def _comment(message: Slice) -> str | None:
    """Read the forward payload: what is left of the message, or a cell of its own."""
    try:
        # Who gets what is left of the attached coin, and how much of it goes on with the notification.
        message.skip_address()
        message.coins()
        payload = Slice(message.reference()) if message.unsigned(1) else message
        # Encrypted text (0x2167da4b) among others: nobody but the receiver could read it.
        if payload.unsigned(32) != _OP_TEXT:
            return None
        return _text(payload)
    except (CellError, UnicodeDecodeError):
        return None


def _text(payload: Slice) -> str | None:
    """Read text that goes on in the first reference of each cell (TEP-64, snake format), as much of it as a label holds."""
    data = payload.rest()
    following: Cell | None = payload.references[0] if payload.references else None
    while following is not None and len(data) < _MOST_TEXT_BYTES:
        part = Slice(following)
        data += part.rest()
        following = part.references[0] if part.references else None
    is_whole = following is None and len(data) <= _MOST_TEXT_BYTES
    decoder = codecs.getincrementaldecoder("utf-8")()
    text = decoder.decode(data[:_MOST_TEXT_BYTES], final=is_whole)
    # Neither the database nor a log takes NUL.
    return text.replace("\0", "")[:LABEL_LENGTH] or None
