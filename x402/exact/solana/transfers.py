"""Parses payers' payloads and the transactions in them. Accepts only transactions that do nothing but the transfer. Pure."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from gateway.core.api.fields import storable
from wallets.chains.solana.decode import TOKEN_PROGRAMS
from wallets.chains.solana.questions import token_account
from x402.exact import reasons as common
from x402.exact.errors import RefusedPaymentError
from x402.exact.inputs import Body, SignedPayment
from x402.exact.solana import reasons

if TYPE_CHECKING:
    from solders.pubkey import Pubkey
    from solders.transaction import VersionedTransaction

MOST_PRIORITY_FEE: Final = 100_000
"""Lamports. The maximum priority fee of a transaction, which our account pays."""

_MOST_BYTES: Final = 1_232  # a packet of the network
_SIGNATURE_FEE: Final = 5_000  # lamports, for each of the two
_MOST_PRICE: Final = 5_000_000  # microlamports a unit: the standard's
_MOST_UNITS: Final = 1_400_000  # what the network lets a transaction use
_TRANSFER_CHECKED: Final = 12
_SET_LIMIT: Final = 2
_SET_PRICE: Final = 3
_COUNTS: Final = range(3, 7)
_MICRO: Final = 1_000_000

_COMPUTE_BUDGET: Final = "ComputeBudget111111111111111111111111111111"
_MEMO: Final = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
# Wallets add assertions about a transaction's effects.
_LIGHTHOUSE: Final = "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95"

NEVER: Final = 2**53
"""A Unix time that never comes: a transaction expires with its block's hash, which has no time."""

_MOST_TEXT: Final = 1_644  # 1,232 bytes in base64
_MOST_MEMO: Final = 256


@dataclass(frozen=True, slots=True)
class SignedTransfer:
    """A transfer that its payer has signed and our account has not.

    Keys are base58, `units` the token's base units, `network_fee` the most that our account pays, in lamports. Both sign
    `message`; `digest` is its SHA-256 in hex, because a payer can sign the same message in many ways.
    """

    transaction: bytes
    message: bytes
    digest: str
    blockhash: str
    fee_payer: str
    payer: str
    source: str
    mint: str
    destination: str
    program: str
    units: int
    decimals: int
    network_fee: int
    memos: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _Instruction:
    """An instruction with its accounts' keys in place of their indexes."""

    program: str
    accounts: tuple[str, ...]
    data: bytes


def read_transfer(raw: bytes) -> SignedTransfer:
    """Parse a transaction signed by its payer alone. Raises RefusedPaymentError."""
    transaction, message = _decoded(raw)
    keys = [str(key) for key in transaction.message.account_keys]
    steps = [_step(one, keys) for one in transaction.message.instructions]
    if len(steps) not in _COUNTS:
        raise _refused(reasons.INSTRUCTION_COUNT)
    price = _fee_of(steps[0], steps[1])
    units, decimals = _moved(steps[2])
    source, mint, destination, authority = steps[2].accounts
    fee_payer, payer = keys[0], keys[1]
    if authority == fee_payer:
        raise _refused(reasons.FEE_PAYER_TRANSFERRING)
    if authority != payer:
        raise _refused(reasons.NO_TRANSFER, "The transfer is not by its signer.")
    _refuse_others(steps, fee_payer)
    _refuse_unsigned(transaction, message)
    return SignedTransfer(
        transaction=raw,
        message=message,
        digest=sha256(message).hexdigest(),
        blockhash=str(transaction.message.recent_blockhash),
        fee_payer=fee_payer,
        payer=payer,
        source=source,
        mint=mint,
        destination=destination,
        program=steps[2].program,
        units=units,
        decimals=decimals,
        network_fee=2 * _SIGNATURE_FEE + price,
        memos=tuple(one.data for one in steps[3:] if one.program == _MEMO),
    )


def _decoded(raw: bytes) -> tuple["VersionedTransaction", bytes]:
    """Parse the bytes, which must be canonical and name no account of a lookup table."""
    from solders.message import Message, MessageV0, to_bytes_versioned
    from solders.transaction import VersionedTransaction

    if len(raw) > _MOST_BYTES:
        raise _refused(reasons.UNDECODABLE, "A transaction has at most 1,232 bytes.")
    try:
        transaction = VersionedTransaction.from_bytes(raw)
        transaction.sanitize()
    except Exception:  # noqa: BLE001 - the parser has errors of several kinds
        raise _refused(reasons.UNDECODABLE) from None
    message = transaction.message
    if not isinstance(message, Message | MessageV0):
        raise _refused(reasons.UNDECODABLE, "Versions after 0 are not read.")
    if bytes(transaction) != raw or getattr(message, "address_table_lookups", None):
        raise _refused(reasons.UNDECODABLE, "Lookup tables are not read.")
    if message.header.num_required_signatures != 2 or len(transaction.signatures) != 2:
        raise _refused(reasons.UNDECODABLE, "Only the payer and the fee payer may sign.")
    return transaction, to_bytes_versioned(message)


def _step(instruction: Any, keys: list[str]) -> _Instruction:
    try:
        return _Instruction(
            keys[instruction.program_id_index],
            tuple(keys[place] for place in bytes(instruction.accounts)),
            bytes(instruction.data),
        )
    except IndexError:
        raise _refused(reasons.UNDECODABLE) from None


def _fee_of(limit: _Instruction, price: _Instruction) -> int:
    """Return the highest priority fee, in lamports."""
    is_limit = limit.program == _COMPUTE_BUDGET and not limit.accounts
    if not is_limit or len(limit.data) != 5 or limit.data[0] != _SET_LIMIT:
        raise _refused(reasons.COMPUTE_LIMIT)
    is_price = price.program == _COMPUTE_BUDGET and not price.accounts
    if not is_price or len(price.data) != 9 or price.data[0] != _SET_PRICE:
        raise _refused(reasons.COMPUTE_PRICE)
    units = min(int.from_bytes(limit.data[1:], "little"), _MOST_UNITS)
    micro = int.from_bytes(price.data[1:], "little")
    fee = -(-units * micro // _MICRO)
    if micro > _MOST_PRICE or fee > MOST_PRIORITY_FEE:
        raise _refused(
            reasons.COMPUTE_PRICE_TOO_HIGH, f"The priority fee may be at most {MOST_PRIORITY_FEE} lamports at most."
        )
    return fee


def _moved(step: _Instruction) -> tuple[int, int]:
    """Return units and decimals of a transfer between two accounts, approved by one key."""
    is_transfer = step.program in TOKEN_PROGRAMS and len(step.accounts) == 4
    if not is_transfer or len(step.data) != 10 or step.data[0] != _TRANSFER_CHECKED:
        raise _refused(reasons.NO_TRANSFER)
    return int.from_bytes(step.data[1:9], "little"), step.data[9]


def _refuse_others(steps: list[_Instruction], fee_payer: str) -> None:
    for place, step in enumerate(steps[3:]):
        if step.program not in (_MEMO, _LIGHTHOUSE):
            raise _refused(reasons.UNKNOWN_INSTRUCTIONS[place])
    if any(fee_payer in (step.program, *step.accounts) for step in steps):
        raise _refused(reasons.FEE_PAYER_TRANSFERRING, "An instruction names our account.")


def _refuse_unsigned(transaction: "VersionedTransaction", message: bytes) -> None:
    payer: Pubkey = transaction.message.account_keys[1]
    if not transaction.signatures[1].verify(payer, message):
        raise _refused(reasons.SIGNATURE, "The payer's signature is not valid.")


def _refused(reason: str, message: str = "") -> RefusedPaymentError:
    return RefusedPaymentError(reason, message)


def read_extra(extra: Body) -> Mapping[str, Any]:
    """Return the fee payer, and the requested memo. Raises RefusedPaymentError."""
    fee_payer, memo = extra.get("feePayer"), extra.get("memo")
    if not isinstance(fee_payer, str) or not fee_payer:
        raise RefusedPaymentError(reasons.FEE_PAYER_MISSING)
    if memo is None or memo == "":
        return {"feePayer": fee_payer}
    is_text = isinstance(memo, str) and storable(memo)
    if not is_text or len(memo.encode()) > _MOST_MEMO:
        raise RefusedPaymentError(common.INVALID_REQUIREMENTS, "memo must be a text of 256 bytes at most.")
    return {"feePayer": fee_payer, "memo": memo}


def read_signed(payload: Body, *, asset: str, pay_to: str, extra: Mapping[str, Any]) -> SignedPayment:
    """Return a payer's signed transfer, which is to `pay_to` in `asset`. Raises RefusedPaymentError."""
    text = payload.get("transaction")
    if not isinstance(text, str) or len(text) > _MOST_TEXT:
        raise RefusedPaymentError(reasons.UNDECODABLE)
    transfer = read_transfer(_bytes(text))
    try:
        _refuse_another(transfer, asset, pay_to, extra)
    except RefusedPaymentError as error:
        error.payer = transfer.payer
        raise
    return SignedPayment(
        payer=transfer.payer,
        recipient=pay_to,
        units=transfer.units,
        valid_after=0,
        valid_before=NEVER,
        nonce=transfer.digest,
        payload={"transaction": text},
    )


def transfer_of(signed: SignedPayment) -> SignedTransfer:
    """Return the transfer of a payment that was read already."""
    return read_transfer(_bytes(signed.payload["transaction"]))


def _refuse_another(transfer: SignedTransfer, asset: str, pay_to: str, extra: Mapping[str, Any]) -> None:
    if transfer.fee_payer != extra["feePayer"]:
        raise RefusedPaymentError(reasons.FEE_PAYER_UNKNOWN, "The transaction has another fee payer.")
    if transfer.mint != asset:
        raise RefusedPaymentError(reasons.MINT)
    to = token_account(pay_to, mint=asset, program=transfer.program)
    if transfer.destination != to or transfer.source == to or transfer.payer == pay_to:
        raise RefusedPaymentError(reasons.RECIPIENT, "The transfer is not to payTo's own token account.")
    _refuse_other_memo(transfer, extra)


def _refuse_other_memo(transfer: SignedTransfer, extra: Mapping[str, Any]) -> None:
    if "memo" not in extra:
        return
    if len(transfer.memos) != 1:
        raise RefusedPaymentError(reasons.MEMO_COUNT)
    if transfer.memos[0] != extra["memo"].encode():
        raise RefusedPaymentError(reasons.MEMO_MISMATCH)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise RefusedPaymentError(reasons.UNDECODABLE) from None
