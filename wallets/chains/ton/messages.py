"""The message that a jetton wallet receives with a transfer (TEP-74), and the payer's comment in it."""

import re
from dataclasses import dataclass
from typing import Final

from wallets.chains.base import LABEL_LENGTH
from wallets.chains.ton.cells import Cell, CellError, Slice, read_cells

OP_INTERNAL_TRANSFER: Final = 0x178D4519
"""TEP-74: `internal_transfer`, from the sender's jetton wallet to the receiver's."""

_OP_TEXT: Final = bytes(4)
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
# No character needs more than four bytes.
_MOST_TEXT_BYTES: Final = 4 * LABEL_LENGTH


@dataclass(frozen=True, slots=True)
class InternalTransfer:
    """`units` of a jetton, from the owner with the key `sender`; None if the jetton's master minted it."""

    units: int
    sender: bytes | None
    comment: str | None


def read_internal_transfer(body: bytes) -> InternalTransfer:
    """Parse a message's body. Raises CellError if it is not an internal transfer; an unknown payload has no comment."""
    message = Slice(read_cells(body))
    if message.unsigned(32) != OP_INTERNAL_TRANSFER:
        raise CellError("not an internal transfer")
    message.unsigned(64)
    units, sender = message.coins(), message.address()
    # The rest is the payer's own text, and cannot invalidate the payment.
    return InternalTransfer(units, sender, _comment(message))


def _comment(message: Slice) -> str | None:
    """Return the comment in the forward payload: the rest of the message, or a separate cell."""
    try:
        # The recipient of the rest of the attached coin, and how much goes on with the notification.
        message.skip_address()
        message.coins()
        payload = Slice(message.reference()) if message.unsigned(1) else message
        return _text(payload)
    except CellError:
        return None


def _text(payload: Slice) -> str | None:
    """Read text that continues in each cell's first reference (TEP-64, snake format), up to a label's length.

    Some wallets leave out the opcode of text. Then it must be readable: other payloads are for programs, or encrypted.
    """
    data = payload.rest()
    following: Cell | None = payload.references[0] if payload.references else None
    while following is not None and len(data) < _MOST_TEXT_BYTES:
        part = Slice(following)
        data += part.rest()
        following = part.references[0] if part.references else None
    has_opcode = data.startswith(_OP_TEXT)
    data = data.removeprefix(_OP_TEXT)[:_MOST_TEXT_BYTES]
    text = data.decode(errors="ignore")
    lost = len(data) - len(text.encode())
    # At most the last character is cut.
    is_text = lost <= (3 if len(data) == _MOST_TEXT_BYTES else 0)
    is_text = is_text and not _CONTROLS.search(text)
    if not has_opcode and not is_text:
        return None
    # Neither the database nor logs can hold NUL.
    return text.replace("\0", "")[:LABEL_LENGTH] or None
