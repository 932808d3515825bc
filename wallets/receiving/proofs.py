"""Proofs that a merchant holds a receiving wallet's key, or a payer that of the address that paid: our message, signed once."""

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_noop

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from gateway.core.api.errors import ConflictError, InvalidRequestError, RateLimitError, UnavailableError
from gateway.core.api.rate_limits import Limit, hit
from gateway.core.ids import new_code
from wallets.chains.base import ChainError
from wallets.chains.registry import open_pool
from wallets.models import ReceivingWallet, WalletChange, WalletProof
from wallets.networks import chain_spec
from wallets.receiving.changes import request_wallet
from wallets.receiving.service import usable_address
from wallets.states import ClaimKind, ProofPurpose

LASTS: Final = timedelta(minutes=10)
"""How long a message can be signed."""

_ASKED: Final = Limit("wallet.proof", 10)
"""The limit of contract calls per merchant and minute."""

_SPENT: Final = gettext_noop("This message was used or has expired. Get a new one and sign that.")
_WRONG: Final = gettext_noop(
    "This is not a signature of this message by this address. Sign the whole message, unchanged, "
    "with the wallet at this address."
)
_HARMLESS: Final = "This signature moves no money and allows nobody to move any."
_UNASKED: Final = gettext_noop("{network} could not be asked about this signature. Try again in a minute.")


# What a wallet is for, as its owner reads it before signing.
_PAYMENTS: Final = MappingProxyType(
    {ProofPurpose.CHECKOUT: "payments of buyers", ProofPurpose.X402: "payments of machines (x402)"}
)


def message_of(proof: WalletProof) -> str:
    """Return what the wallet's key signs: lines without secrets, and none at the end."""
    is_refund = proof.purpose == ProofPurpose.REFUND
    return "\n".join(
        (
            *(_refund() if is_refund else _receiving(ProofPurpose(proof.purpose))),
            "",
            f"Merchant: {proof.merchant.public_id}",
            f"Network: {proof.chain}",
            f"Address: {proof.address}",
            f"Nonce: {proof.nonce}",
            f"Expires: {proof.expires_at:%Y-%m-%dT%H:%M:%SZ}",
        )
    )


def _receiving(purpose: ProofPurpose) -> Sequence[str]:
    return (
        "Receiving wallet proof",
        "",
        f"I hold the key of this wallet, and this merchant may receive {_PAYMENTS[purpose]} at it.",
        _HARMLESS,
        f"Sign this only if you are setting up a wallet at {settings.BASE_URL}.",
    )


def _refund() -> Sequence[str]:
    return (
        "Refund address proof",
        "",
        "I hold the key of this address, I paid from it, and this merchant may send my refund to it.",
        _HARMLESS,
        f"Sign this only on a refund page of {settings.CHECKOUT_HOST}.",
    )


@transaction.atomic
def start_proof(
    merchant: Merchant,
    *,
    chain: str,
    address: str,
    actor: Actor,
    now: datetime,
    purpose: ClaimKind = ClaimKind.CHECKOUT,
) -> WalletProof:
    """Create a message to sign for an address; the merchant's earlier ones for the chain become invalid.

    `purpose` says what the wallet is for: buyers or machines. Asking is audited. Raises InvalidRequestError
    (chain_unsupported, address_invalid).
    """
    canonical = usable_address(chain, address)
    _lock(merchant.pk)
    earlier = WalletProof.objects.filter(merchant=merchant, chain=chain, used_at=None)
    earlier.exclude(purpose=ProofPurpose.REFUND).delete()
    proof = WalletProof.objects.create(
        merchant=merchant,
        chain=chain,
        purpose=purpose,
        address=canonical,
        nonce=new_code(),
        requested_by=actor.person,
        requested_at=now,
        expires_at=(now + LASTS).replace(microsecond=0),
    )
    _audit(proof, "proof_asked", actor, now)
    return proof


def prove_wallet(
    proof: WalletProof, *, signature: str, public_key: str = "", actor: Actor, now: datetime
) -> ReceivingWallet | WalletChange:
    """Consume a signature and receive at the address, as `request_wallet` does; it is taken over from others.

    `public_key` is for TON alone. On EVM chains the contract at the address is asked where no key signed (ERC-1271). Raises
    ConflictError (state_conflict) if the message was used, has expired or a change is already pending, InvalidRequestError
    (parameter_invalid) for any other signature, and UnavailableError if the chain must be asked but cannot be. A refusal
    leaves the proof usable.
    """
    proof = check_signature(proof, signature=signature, public_key=public_key, now=now)
    return _use(proof, signature, public_key, actor, now)


def start_refund_proof(merchant: Merchant, *, chain: str, address: str, subject: str, now: datetime) -> WalletProof:
    """Create a message that a payer signs, in the caller's transaction; earlier ones about the `subject` become invalid.

    `address` is in canonical form, and the caller knows that money came from it. `subject` is a refund's public id.
    """
    mine = WalletProof.objects.filter(merchant=merchant, purpose=ProofPurpose.REFUND, subject=subject)
    mine.filter(used_at=None).delete()
    return WalletProof.objects.create(
        merchant=merchant,
        chain=chain,
        purpose=ProofPurpose.REFUND,
        subject=subject,
        address=address,
        nonce=new_code(),
        requested_at=now,
        expires_at=(now + LASTS).replace(microsecond=0),
    )


def check_signature(proof: WalletProof, *, signature: str, public_key: str = "", now: datetime) -> WalletProof:
    """Return a proof as it is now if its address signed its message. It is not consumed by that.

    Locks no row, because a node may be asked: a proof's content never changes. Raises as `prove_wallet`, and RateLimitError.
    """
    opened = _opened(proof, now)
    if not _is_signed(opened, signature, public_key, now):
        raise InvalidRequestError(_WRONG, param="signature")
    return opened


def use_refund_proof(proof: WalletProof, *, signature: str, public_key: str = "", now: datetime) -> WalletProof:
    """Consume a proof whose signature was checked, under the caller's lock of its refund; the signature stays as evidence.

    Raises ConflictError (state_conflict) if it was used, or has expired.
    """
    opened = _opened(proof, now)
    opened.used_at, opened.signature, opened.public_key = now, signature, public_key
    opened.save(update_fields=["used_at", "signature", "public_key"])
    return opened


@transaction.atomic
def _use(
    proof: WalletProof, signature: str, public_key: str, actor: Actor, now: datetime
) -> ReceivingWallet | WalletChange:
    """Consume a verified proof."""
    # Another request with this signature waits here, and finds the proof used.
    _lock(proof.merchant_id)
    proof = _opened(proof, now)
    proof.used_at, proof.signature, proof.public_key = now, signature, public_key
    proof.save(update_fields=["used_at", "signature", "public_key"])
    _audit(proof, "proven", actor, now)
    return request_wallet(
        proof.merchant,
        chain=proof.chain,
        address=proof.address,
        actor=actor,
        now=now,
        purpose=ClaimKind(proof.purpose),
        proof=proof,
    )


def _opened(proof: WalletProof, now: datetime) -> WalletProof:
    """Read a proof again. Raises ConflictError if it is no longer open."""
    proofs = WalletProof.objects.select_related("merchant")
    found = proofs.filter(pk=proof.pk).first()
    if found is None or not found.is_open(now=now):
        raise ConflictError(_SPENT)
    return found


def _lock(merchant_id: int) -> None:
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant_id)


def _is_signed(proof: WalletProof, signature: str, public_key: str, now: datetime) -> bool:
    spec, message = chain_spec(proof.chain), message_of(proof).encode()
    is_keys = spec.family.is_signed_by(proof.address, message, signature, public_key=public_key)
    if is_keys or not spec.family.has_contract_wallets or not spec.rpc_urls:
        return is_keys
    # Strangers who have a refund's link do not use up what the merchant may ask.
    who = f"{proof.merchant_id}:{proof.subject}" if proof.subject else str(proof.merchant_id)
    asked = hit(_ASKED, who, now=now.timestamp())
    if asked.exceeded:
        raise RateLimitError(max(1, asked.reset - int(now.timestamp())))
    with closing(open_pool(spec)) as pool:
        try:
            return spec.family.is_vouched_for(pool, proof.address, message, signature)
        except ChainError as error:
            raise UnavailableError(_UNASKED, values={"network": spec.title}) from error


def _audit(proof: WalletProof, what: str, actor: Actor, now: datetime) -> None:
    record(
        proof.merchant,
        action=f"receiving_wallet.{what}",
        actor=actor,
        object_id=proof.chain,
        after={"address": proof.address},
        now=now,
    )
