"""What a TON wallet sends: jetton transfers (TEP-74) with comments in every encoding, signed by a v4r2 wallet."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tonsdk.boc import Cell
from tonsdk.contract import Contract
from tonsdk.contract.wallet import WalletV4ContractR2
from tonsdk.utils import Address

OP_TRANSFER = 0x0F8A7EA5
OP_TEXT = bytes(4)
MOST_MESSAGES = 4
CELL_BYTES = 127
NANOTONS = 10**9
# Contract fees stay well below; what is left comes back.
ATTACHED_NANOTONS = NANOTONS // 5
_PAY_FEES_SEPARATELY = 1
_IGNORE_ERRORS = 2
_NEVER_EXPIRES = 2**32 - 1


def written(address: Any) -> str:
    """Return an address, raw or of tonsdk's type, as people write a contract's: bounceable and URL-safe."""
    text: str = Address(address).to_string(is_user_friendly=True, is_url_safe=True, is_bounceable=True)
    return text


@dataclass(frozen=True)
class Payment:
    """One jetton transfer: `units` to the owner of a wallet, who is told with `forward_nanotons` attached.

    `comment` goes inline into the transfer, or with `by_ref` into a cell of its own; `payload` replaces it by any bytes.
    """

    owner: str
    units: int
    comment: str | None = None
    by_ref: bool = False
    forward_nanotons: int = 1
    payload: bytes | None = None
    attached_nanotons: int = ATTACHED_NANOTONS


@dataclass(frozen=True)
class Envelope:
    """An internal message: where to, with how many nanotons, its body, and whether it comes back where it fails."""

    to: str
    nanotons: int
    body: Any
    bounce: bool = True


@dataclass
class TonWallet:
    """A wallet with a key. The address is derived from it; the first message sent deploys the contract."""

    seed: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def __post_init__(self) -> None:
        """Derive the contract from the key."""
        key = Ed25519PrivateKey.from_private_bytes(self.seed)
        public = key.public_key().public_bytes_raw()
        self._contract = WalletV4ContractR2(public_key=public, private_key=self.seed + public, wc=0)
        self.address = written(self._contract.address)

    def sign(self, envelopes: Sequence[Envelope], *, seqno: int) -> bytes:
        """Return the external message (BOC) that sends up to four messages at once. Raises ValueError for more or none."""
        if not 0 < len(envelopes) <= MOST_MESSAGES:
            raise ValueError(f"A wallet sends 1 to {MOST_MESSAGES} messages at once.")
        order = Cell()
        order.bits.write_uint(self._contract.options["wallet_id"], 32)
        order.bits.write_uint(_NEVER_EXPIRES, 32)
        order.bits.write_uint(seqno, 32)
        order.bits.write_uint8(0)
        for envelope in envelopes:
            order.bits.write_uint8(_PAY_FEES_SEPARATELY | _IGNORE_ERRORS)
            order.refs.append(_internal_message(envelope))
        signed = self._contract.create_external_message(order, seqno)
        message = Contract.create_external_message_header(self._contract.address)
        # tonsdk would write both into the message's own cell, which has room for four references only.
        _write_maybe_by_ref(message, signed["state_init"])
        message.bits.write_bit(1)
        message.refs.append(signed["body"])
        return bytes(message.to_boc(False))


def _write_maybe_by_ref(message: Any, cell: Any) -> None:
    message.bits.write_bit(int(cell is not None))
    if cell is not None:
        message.bits.write_bit(1)
        message.refs.append(cell)


def _internal_message(envelope: Envelope) -> Any:
    header = Contract.create_internal_message_header(Address(envelope.to), envelope.nanotons, bounce=envelope.bounce)
    return Contract.create_common_msg_info(header, None, envelope.body)


def transfer_body(payment: Payment, *, response: str, query_id: int) -> Any:
    """Return the body of a transfer, as TEP-74 has it."""
    body = Cell()
    body.bits.write_uint(OP_TRANSFER, 32)
    body.bits.write_uint(query_id, 64)
    body.bits.write_grams(payment.units)
    body.bits.write_address(Address(payment.owner))
    body.bits.write_address(Address(response))
    body.bits.write_bit(0)
    body.bits.write_grams(payment.forward_nanotons)
    _write_payload(body, _payload(payment), by_ref=payment.by_ref)
    return body


def _payload(payment: Payment) -> bytes:
    if payment.payload is not None:
        return payment.payload
    if payment.comment is None:
        return b""
    return OP_TEXT + payment.comment.encode()


def _write_payload(body: Any, payload: bytes, *, by_ref: bool) -> None:
    body.bits.write_bit(int(by_ref))
    if by_ref:
        body.refs.append(snake(payload))
        return
    room = body.bits.get_free_bits() // 8
    body.bits.write_bytes(payload[:room])
    if len(payload) > room:
        body.refs.append(snake(payload[room:]))


def snake(data: bytes) -> Any:
    """Return bytes in a chain of cells, as long texts are written (TEP-64)."""
    cell = Cell()
    cell.bits.write_bytes(data[:CELL_BYTES])
    if len(data) > CELL_BYTES:
        cell.refs.append(snake(data[CELL_BYTES:]))
    return cell
