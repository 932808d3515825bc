"""Refunds that go only to an address that paid: who paid, the message that its key signs, and the address that this proves.

Message and signature are those of receiving wallets (`wallets.receiving.proofs`), with a purpose of their own.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.db import transaction

from gateway.core.api.errors import ConflictError, InvalidRequestError
from payouts.lifecycle.claims import takes_address
from payouts.lifecycle.recipients import ask_recipient, payable_address
from payouts.lifecycle.service import chosen_pair, locked_payout, set_address
from payouts.models import Payout
from payouts.states import AddressBy
from wallets.chains.base import AddressError
from wallets.models import Transfer, WalletProof
from wallets.networks import address_on, chain_spec
from wallets.receiving.proofs import check_signature, start_refund_proof, use_refund_proof
from wallets.states import ProofPurpose

MOST_SENDERS: Final = 3
"""How many of the addresses that money came from a page suggests."""


def payers_of(payout: Payout, chain: str = "") -> list[str]:
    """Return the addresses that a refund's money came from, in canonical form on a chain of the same family; newest first.

    Without `chain`, on the one that the refund has. What has no address there, such as minted money, has no payer.
    """
    sources = payout.sources.select_related("transfer").order_by("-transfer__block_time", "-transfer")
    return senders_of([source.transfer for source in sources], chain or payout.chain)


def senders_of(transfers: Iterable[Transfer], chain: str) -> list[str]:
    """Return the addresses that transfers came from, in canonical form on a chain of the same family, each once and in their order."""
    spec = chain_spec(chain)
    found: dict[str, None] = {}
    for transfer in transfers:
        if chain_spec(transfer.chain).family.name != spec.family.name:
            continue
        try:
            found[address_on(spec, transfer.sender)] = None
        except AddressError:
            continue
    return list(found)


@transaction.atomic
def start_payer_proof(payout: Payout, *, address: str, chain: str = "", token: str = "", now: datetime) -> WalletProof:
    """Create the message that the key of an address signs which paid; earlier messages for this refund become invalid.

    Raises ConflictError (state_conflict) where no address is taken any more, and InvalidRequestError (chain_unsupported,
    token_unsupported, address_invalid, address_forbidden).
    """
    held = locked_payout(payout)
    if not held.requires_proof or not takes_address(held, now=now):
        raise ConflictError(f"This {held.kind} takes no proof.")
    chain, _ = chosen_pair(held, chain, token)
    canonical = payable_address(held.merchant_id, chain, address)
    if canonical not in payers_of(held, chain):
        raise InvalidRequestError("This address did not pay.", param="address", code="address_forbidden")
    return start_refund_proof(held.merchant, chain=chain, address=canonical, subject=held.public_id, now=now)


def open_proof(payout: Payout, *, now: datetime) -> WalletProof | None:
    """Return the message that can be signed for a refund; None if there is none, or its time is over."""
    mine = WalletProof.objects.select_related("merchant").filter(
        merchant=payout.merchant_id, purpose=ProofPurpose.REFUND, subject=payout.public_id, used_at=None
    )
    newest = mine.order_by("-pk").first()
    return newest if newest is not None and newest.is_open(now=now) else None


def prove_payer(
    payout: Payout, *, nonce: str, signature: str, public_key: str = "", token: str = "", now: datetime
) -> Payout:
    """Consume the signature of an open message, and say that the refund goes to its address; return the refund as it is then.

    Nodes are asked: hold no transaction. Raises ConflictError (state_conflict) if the message was used, has expired, or no address is
    taken any more, InvalidRequestError for any other signature, and (address_forbidden) for an address that its chain objects to;
    RateLimitError and UnavailableError where a contract must be asked about its signature and is not.
    """
    proof = open_proof(payout, now=now)
    if proof is None or proof.nonce != nonce:
        raise ConflictError("This message was used or has expired. Get a new one and sign that.")
    checked = check_signature(proof, signature=signature, public_key=public_key, now=now)
    place = (checked.chain, checked.address)
    recipient = ask_recipient(place, mode=payout.mode, asker=payout.public_id, now=now)
    with transaction.atomic():
        # Another request with this signature waits here, and finds the proof used.
        held = locked_payout(payout)
        used = use_refund_proof(checked, signature=signature, public_key=public_key, now=now)
        return set_address(
            held,
            address=used.address,
            chain=used.chain,
            token=token,
            by=AddressBy.CLAIM,
            now=now,
            recipient=recipient,
            proof=used,
        )
