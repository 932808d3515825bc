"""Parses payers' payloads on Solana: a transaction in base64, and the requirements' extra."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from gateway.core.api.fields import storable
from wallets.chains.solana.questions import token_account
from x402.exact import reasons as common
from x402.exact.errors import RefusedPaymentError
from x402.exact.inputs import Body, Signed
from x402.exact.solana import reasons
from x402.exact.solana.transfers import Transfer, read_transfer

NEVER: Final = 2**53
"""A Unix time that never comes: a transaction expires with its block's hash, which has no time."""

_MOST_TEXT: Final = 1_644  # 1,232 bytes in base64
_MOST_MEMO: Final = 256


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


def read_signed(payload: Body, *, asset: str, pay_to: str, extra: Mapping[str, Any]) -> Signed:
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
    return Signed(
        payer=transfer.payer,
        recipient=pay_to,
        units=transfer.units,
        valid_after=0,
        valid_before=NEVER,
        nonce=transfer.digest,
        payload={"transaction": text},
    )


def transfer_of(signed: Signed) -> Transfer:
    """Return the transfer of a payment that was read already."""
    return read_transfer(_bytes(signed.payload["transaction"]))


def _refuse_another(transfer: Transfer, asset: str, pay_to: str, extra: Mapping[str, Any]) -> None:
    if transfer.fee_payer != extra["feePayer"]:
        raise RefusedPaymentError(reasons.FEE_PAYER_UNKNOWN, "The transaction has another fee payer.")
    if transfer.mint != asset:
        raise RefusedPaymentError(reasons.MINT)
    to = token_account(pay_to, mint=asset, program=transfer.program)
    if transfer.destination != to or transfer.source == to or transfer.payer == pay_to:
        raise RefusedPaymentError(reasons.RECIPIENT, "The transfer is not to payTo's own token account.")
    _refuse_other_memo(transfer, extra)


def _refuse_other_memo(transfer: Transfer, extra: Mapping[str, Any]) -> None:
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
