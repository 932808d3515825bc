"""Authorisations (EIP-3009) that pay payouts: what the paying wallet signs, and whether it signed that. Nothing here sends.

The token accepts a nonce of a wallet once. A payout's nonce is the same in every batch, whatever its address and the time: signed,
sent or restored again, it pays once. Another wallet or another token knows nothing of it: there only the end of what was signed
excludes a second payment (`payouts.batches.service.close_batches`).
"""

import json
import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import transaction

from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError, UnavailableError
from payouts.batches.instructions import PayoutLine
from payouts.lifecycle.sources import sourceless
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.states import BatchStatus, Method, PayoutStatus
from settlements.gas.keys import gas_keys
from wallets.chains.base import ChainError
from wallets.chains.evm.authorizations import contracts, domains
from wallets.chains.evm.authorizations.terms import TransferAuthorization
from wallets.chains.family import ChainSpec, TokenDomain
from wallets.chains.registry import open_pool
from wallets.forwarders.addresses import keccak
from wallets.networks import chain_spec

VALID_FOR: Final = timedelta(hours=24)
"""How long the token accepts what was signed."""

# r, s and v of a key; a contract wallet's may hold several of these, and how it was deployed.
_SIGNATURE: Final = re.compile(r"0x((?:[0-9a-fA-F]{2}){1,4096})", re.ASCII)


def nonce_of(payout: Payout) -> bytes:
    """Return the 32 bytes that a token accepts once of a wallet for a payout; its merchant is loaded.

    They follow from the shop's `reference`, so that a refund that is asked for again after a restore has the same.
    """
    named = payout.reference or payout.public_id
    return keccak(f"florin payout {payout.merchant.public_id}{payout.mode}{named}".encode())


def domain_of(spec: ChainSpec, token: str) -> TokenDomain | None:
    """Return how a token names itself; None if it takes no authorisations, or no gas account of ours would send one.

    They call no tokens but those that are taken (`settlements.gas.relay.refuse_strange`). Raises ChainError.
    """
    if not gas_keys() or not spec.rpc_urls or not spec.family.has_forwarders or not spec.tokens[token].peg:
        return None
    with closing(open_pool(spec)) as pool:
        return domains.domain_of(pool, spec, token)


def end_of(now: datetime) -> datetime:
    """Return when what is handed out now ends, as the token counts: in whole seconds."""
    return (now + VALID_FOR).replace(microsecond=0)


def frozen(payout: Payout, line: PayoutLine, domain: TokenDomain, *, valid_until: datetime) -> bytes:
    """Return what is stored of a payout that is handed out: its line, and what the wallet signs beside it."""
    more = {
        "name": domain.name,
        "version": domain.version,
        "valid_before": int(valid_until.timestamp()),
        "nonce": nonce_of(payout).hex(),
    }
    return json.dumps(json.loads(line.raw()) | more).encode()


def authorization_of(request: PayoutRequest) -> TransferAuthorization:
    """Return what was handed out to be signed, with its signature if there is one; the request's batch and wallet are loaded."""
    stored, spec = json.loads(bytes(request.raw)), chain_spec(request.batch.chain)
    return TransferAuthorization(
        spec=spec,
        token=spec.tokens[request.batch.token].address,
        domain=TokenDomain(stored["name"], stored["version"]),
        payer=request.batch.wallet.address,
        recipient=stored["address"],
        units=int(stored["units"]),
        valid_after=0,
        valid_before=stored["valid_before"],
        nonce=bytes.fromhex(stored["nonce"]),
        signature=bytes(request.signature or b""),
    )


def vouched_digest(batch: PayoutBatch, payout_id: str, signature: str) -> bytes:
    """Ask a batch's wallet, if it is a contract, whether it signed one of its payouts (ERC-1271); return the digest that it vouches for.

    Empty if it vouches for none, and where it is not asked: its key signed, or the batch does not wait for this signature. Hold no
    transaction. Raises UnavailableError if no node answers.
    """
    asked, signed = _unsigned(batch, payout_id), _signature_bytes(signature)
    if asked is None or not signed or not asked.spec.rpc_urls or asked.signed_by(signed).is_of_key():
        return b""
    try:
        digest, inner = asked.digest(), contracts.unwrapped(signed).inner
    except ValueError:
        return b""
    with closing(open_pool(asked.spec)) as pool:
        try:
            is_contract = bool(contracts.code_of(pool, asked.payer))
            is_vouched = is_contract and contracts.is_vouched_for(pool, asked.payer, digest, inner)
        except ChainError as error:
            raise UnavailableError(f"{asked.spec.title} does not answer; try again in a moment.") from error
    return digest if is_vouched else b""


def _unsigned(batch: PayoutBatch, payout_id: str) -> TransferAuthorization | None:
    """Return what a batch's wallet was given to sign for a payout; None if nothing is to be signed there, or it is signed."""
    if batch.method != Method.AUTHORIZATION or batch.mode != Mode.LIVE:
        return None
    requests = batch.requests.select_related("batch__wallet").filter(payout__public_id=payout_id, signature=None)
    request = requests.first()
    return authorization_of(request) if request is not None else None


@transaction.atomic
def take_signature(
    batch: PayoutBatch, payout_id: str, signature: str, *, vouched: bytes = b"", now: datetime
) -> PayoutRequest:
    """Store the paying wallet's signature of one payout of a batch; the first that comes stays.

    `vouched` is the digest for which a contract wallet vouches with this signature (`vouched_digest`); empty for a key's.
    Raises InvalidRequestError if the wallet did not sign exactly this payout, and ConflictError if the batch has no such payout to
    be signed, is not open, the time is over, an outflow was found meanwhile, or the payment that it returns is gone or in doubt.
    """
    payout = Payout.objects.locked().select_related("merchant").filter(public_id=payout_id, batch=batch.pk).first()
    held = PayoutBatch.objects.select_for_update(of=("self",), no_key=True).select_related("wallet").get(pk=batch.pk)
    request = PayoutRequest.objects.filter(payout=payout, batch=held.pk).first() if payout is not None else None
    if payout is None or request is None or held.method != Method.AUTHORIZATION or held.mode != Mode.LIVE:
        raise ConflictError("This batch does not wait for a signature of such a payout.")
    waits = held.status == BatchStatus.OPEN and payout.status == PayoutStatus.SENDING and payout.movement_id is None
    if not waits or any(sourceless([payout.pk])):
        raise ConflictError("This payout does not wait for a signature any more.")
    if request.valid_until is None or request.valid_until <= now:
        raise ConflictError("The time to sign it is over.")
    request.batch = held
    if request.signature is None:
        request.signature = _checked(request, payout, signature, vouched)
        request.save(update_fields=["signature"])
    return request


def _checked(request: PayoutRequest, payout: Payout, signature: str, vouched: bytes) -> bytes:
    """Return the signature's bytes if the batch's wallet signed the payout as it is now. Raises InvalidRequestError."""
    asked, signed = authorization_of(request), _signature_bytes(signature)
    is_the_payouts = (
        (asked.recipient, asked.units) == (payout.address, int(payout.units))
        and (request.batch.chain, request.batch.token) == (payout.chain, payout.token)
        and asked.nonce == nonce_of(payout)
        and datetime.fromtimestamp(asked.valid_before, UTC) == request.valid_until
    )
    if not is_the_payouts or not signed or not _is_signed(asked, signed, vouched):
        raise InvalidRequestError("This is no signature of the paying wallet for this payout.", param="signature")
    return signed


def _is_signed(asked: TransferAuthorization, signed: bytes, vouched: bytes) -> bool:
    """Whether the wallet's key signed what was asked, or the wallet vouched for exactly that."""
    return asked.signed_by(signed).is_of_key() or (bool(vouched) and vouched == asked.digest())


def _signature_bytes(signature: str) -> bytes:
    """Return a signature's bytes; empty for what is none."""
    found = _SIGNATURE.fullmatch(signature)
    return bytes.fromhex(found[1]) if found else b""
