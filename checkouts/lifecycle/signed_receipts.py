"""Signed receipts: what paid a completed checkout, as a statement that anybody can check without us, for ever.

A receipt is signed when it is first asked for, and its bytes are kept. Another one that `replaces` it is signed only where it does
not say what is so any more: after a refund, after a reorg that moved a payment, after a release from escrow, or once its key was withdrawn.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from django.conf import settings

from accounts.states import Mode
from checkouts.lifecycle.escrow import releases_of
from checkouts.lifecycle.receipts import reason_against_receipt
from checkouts.models import Checkout, Receipt
from checkouts.payloads import escrow_status, price_text
from checkouts.pricing import value_of
from checkouts.rows import TransferRow, credited_transfers
from checkouts.states import CheckoutException
from gateway.core.api.errors import ConflictError, NotFoundError
from gateway.core.currencies import format_rate
from gateway.core.ids import new_id
from gateway.core.money import format_units, format_usd
from gateway.core.signing import KeyPurpose, NoSigningKeyError, claims_of, is_withdrawn, sign
from gateway.core.times import iso, iso_or_none
from wallets.chains.family import ChainSpec
from wallets.models import Transfer
from wallets.networks import chain_spec
from wallets.states import TransferState

MEDIA_TYPE: Final = "application/jose"
FILE_NAME: Final = "receipt.jws"
_NO_KEY: Final = "This installation signs no receipts: it has no key for them."
# Claims that a refund, a reorg or a release from escrow changes.
_CHANGING: Final = ("received", "refunded", "escrow")


def signed_receipt(checkout: Checkout, *, now: datetime) -> bytes:
    """Return the receipt of a completed checkout, its merchant and branding loaded, as a compact JWS: always the same bytes.

    Raises ConflictError (state_conflict) for a checkout that is not completed, reversed or in doubt, and where nothing can be signed.
    """
    last = checkout.receipts.order_by("-number").first()
    transfers = credited_transfers([checkout.pk]).get(checkout.pk, [])
    if refusal := reason_against_receipt(checkout, transfers):
        raise ConflictError(refusal)
    claims = _claims(checkout, transfers)
    if last is not None and _still_says(last, claims):
        return bytes(last.jws)
    number = last.number + 1 if last else 1
    fresh = _signed(checkout, claims, last, now=now)
    # Of several at once the constraint lets one in, and all return what that one signed.
    kept, _ = Receipt.objects.get_or_create(checkout=checkout, number=number, defaults=fresh)
    return bytes(kept.jws)


def receipt_status(jti: str, *, now: datetime) -> dict[str, Any]:
    """Return what became of the payment that a receipt is of, and the digest of its bytes. Raises NotFoundError.

    A forged receipt may bear the id of a genuine one; its digest differs.
    """
    receipt = Receipt.objects.select_related("checkout").filter(jti=jti).first()
    if receipt is None:
        raise NotFoundError(f"There is no receipt {jti}.", param="jti")
    transfers = credited_transfers([receipt.checkout_id]).get(receipt.checkout_id, [])
    status = _status(receipt.checkout, transfers)
    return {"status": status, "as_of": iso(now), "sha256": sha256(bytes(receipt.jws)).hexdigest()}


def salted(text: str, code: str) -> str:
    """Return the digest of a merchant's text, salted by the code of the checkout's page, since short texts can be guessed."""
    return sha256(f"{code}\n{text}".encode()).hexdigest()


def _status(checkout: Checkout, transfers: Sequence[TransferRow]) -> str:
    if checkout.exception == CheckoutException.REVERSED:
        return "reversed"
    if any(row.is_doubted for row in transfers):
        return "in_doubt"
    standing = _final(transfers)
    returned = sum(row.returned for row in standing)
    if not returned:
        return "paid"
    return "refunded" if returned >= sum(row.units for row in standing) else "partly_refunded"


def _final(transfers: Sequence[TransferRow]) -> list[TransferRow]:
    return [row for row in transfers if row.state == TransferState.CONFIRMED]


def _still_says(receipt: Receipt, claims: dict[str, Any]) -> bool:
    said = claims_of(bytes(receipt.jws))
    return all(said[name] == claims[name] for name in _CHANGING) and not is_withdrawn(receipt.kid)


def _signed(checkout: Checkout, claims: dict[str, Any], last: Receipt | None, *, now: datetime) -> dict[str, Any]:
    """Return the columns of a new receipt. Raises ConflictError."""
    jti = new_id("rcp")
    own = {
        "jti": jti,
        "iat": int(now.timestamp()),
        **claims,
        **({"replaces": last.jti} if last else {}),
        "status_url": f"{settings.BASE_URL}/receipts/{jti}",
    }
    purpose = KeyPurpose.RECEIPT if checkout.mode == Mode.LIVE else KeyPurpose.TEST
    try:
        made = sign(own, purpose, now=now)
    except NoSigningKeyError:
        raise ConflictError(_NO_KEY) from None
    return {"jti": jti, "kid": made.kid, "jws": made.token, "signed_at": now}


def _claims(checkout: Checkout, transfers: Sequence[TransferRow]) -> dict[str, Any]:
    """Return the claims that do not depend on when they are signed. Only what the payer already knows is in them."""
    final = _final(transfers)
    facts = Transfer.objects.in_bulk([row.transfer_id for row in final])
    final.sort(key=lambda row: (facts[row.transfer_id].block_time, row.transfer_id))
    quote = checkout.quote
    return {
        "merchant": {"id": checkout.merchant.public_id, "name": checkout.merchant.shown_name},
        "checkout": checkout.public_id,
        "livemode": checkout.mode == Mode.LIVE,
        "order_ref_sha256": salted(checkout.order_ref, checkout.code) if checkout.order_ref else None,
        "metadata_sha256": salted(checkout.metadata, checkout.code),
        "amount": price_text(checkout),
        "currency": checkout.currency,
        "quote": quote and {"usd_amount": format_usd(quote.usd_amount), "rate": format_rate(quote.rate)},
        **_dues(checkout),
        "received": [_received(facts[row.transfer_id]) for row in final],
        "paid_at": iso_or_none(checkout.paid_at),
        "finality": {spec.network_id: _finality(spec, row) for row in final for spec in (chain_spec(row.chain),)},
        "refunded": format_units(value_of(checkout, (row.sent_back for row in final))),
        "escrow": escrow_status(checkout, releases_of([checkout]).get(checkout.pk)),
    }


def _dues(checkout: Checkout) -> dict[str, Any]:
    """Return `dues`: the whole price in each token that is not one USD, and its rate; nothing where all of its tokens are."""
    dues = checkout.dues or {}
    told = {token: {"amount": format_units(due["units"]), "rate": due["rate"]} for token, due in dues.items()}
    return {"dues": told} if told else {}


def _received(transfer: Transfer) -> dict[str, Any]:
    return {
        "asset": chain_spec(transfer.chain).asset_id(transfer.token_address),
        "amount": format_units(int(transfer.units)),
        "pay_to": transfer.recipient,
        "tx": transfer.tx_hash,
        "position": transfer.position,
        "block": transfer.block_height,
        "block_hash": transfer.block_hash,
        "block_time": iso(transfer.block_time),
        "from": transfer.sender,
    }


def _finality(spec: ChainSpec, transfer: TransferRow) -> dict[str, Any]:
    """Return the rule that a network's payments satisfied, and the height that was seen last; null where nothing was read."""
    rule = f"{spec.confirmations} confirmation{'s' if spec.confirmations > 1 else ''}"
    if spec.finality_tag is not None:
        rule += f", block {spec.finality_tag}"
    return {"rule": rule, "head": transfer.head}
