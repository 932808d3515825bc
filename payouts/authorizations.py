"""Authorisations (EIP-3009) that pay payouts: what the paying wallet signs, and whether it signed that. Nothing here sends.

The token accepts a nonce of a wallet once. A payout's nonce is the same in every batch, whatever its address and the time: signed,
sent or restored again, it pays once. Another wallet or another token knows nothing of it: there only the end of what was signed
excludes a second payment (`payouts.batches.close_batches`).
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Final

import structlog
from cachetools import TTLCache
from django.db import transaction

from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from payouts.instructions import Line
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.states import BatchStatus, Method, PayoutStatus
from settlements.gas.keys import gas_keys
from wallets.chains.evm.proofs import typed_digest
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.forwarders.addresses import keccak
from wallets.networks import chain_spec
from x402.exact.errors import RevertedError
from x402.exact.evm import contracts
from x402.exact.evm.contracts import Call, Function
from x402.exact.evm.eip3009 import BY_KEY, NAME, TYPES, USED, VERSION

log = structlog.get_logger(__name__)

VALID_FOR: Final = timedelta(hours=24)
"""How long the token accepts what was signed."""

_PRIMARY: Final = next(iter(TYPES))
_DOMAIN_SEPARATOR: Final = Function("DOMAIN_SEPARATOR", answer="bytes32")
# EIP-712.
_DOMAIN_FIELDS: Final = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
_WORD: Final = 32
# r, s and v.
_SIGNATURE: Final = re.compile(r"0x([0-9a-fA-F]{130})", re.ASCII)
# Tokens are upgraded, rarely.
_DOMAIN_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Domain:
    """How a token names itself in what is signed for it."""

    name: str
    version: str


# By the chain's nodes and the token; None where it takes no authorisations.
_domains: Final[TTLCache[tuple[tuple[str, ...], str], Domain | None]] = TTLCache(1_000, _DOMAIN_SECONDS)
_lock: Final = Lock()


def nonce_of(payout: Payout) -> bytes:
    """Return the 32 bytes that a token accepts once of a wallet for a payout; its merchant is loaded.

    They follow from the shop's `reference`, so that a refund that is asked for again after a restore has the same.
    """
    named = payout.reference or payout.public_id
    return keccak(f"florin payout {payout.merchant.public_id}{payout.mode}{named}".encode())


@dataclass(frozen=True, slots=True)
class Authorization:
    """One payment to be signed: `units` of the token (EIP-55) from `payer` to `recipient`, before a second of Unix time."""

    chain_id: int
    token: str
    domain: Domain
    payer: str
    recipient: str
    units: int
    valid_before: int
    nonce: bytes

    def typed(self) -> dict[str, Any]:
        """Return EIP-712's object as wallets take it; numbers are texts, which JavaScript does not round."""
        types = {"EIP712Domain": _DOMAIN_FIELDS, **TYPES}
        told = {name: str(value) if isinstance(value, int) else value for name, value in self._message().items()}
        return {
            "types": {
                name: [{"name": field, "type": kind} for field, kind in fields.items()]
                for name, fields in types.items()
            },
            "primaryType": _PRIMARY,
            "domain": self._named(),
            "message": told,
        }

    def is_signed(self, signature: bytes) -> bool:
        """Whether the payer's key made a signature of 65 bytes."""
        digest = typed_digest(TYPES, self._named(), self._message())
        try:
            return contracts.is_of_key(self.payer, digest, signature)
        except ValueError:
            return False

    def call(self, signature: bytes) -> Call:
        """Return the call of the token that carries it out, whoever sends it."""
        r, s, v = signature[:_WORD], signature[_WORD : 2 * _WORD], signature[2 * _WORD]
        # Some wallets number the two points from 0.
        v = v + 27 if v in (0, 1) else v
        terms = (self.payer, self.recipient, self.units, 0, self.valid_before, self.nonce)
        return Call(self.token, BY_KEY.call(*terms, v, r, s))

    def _named(self) -> dict[str, Any]:
        name, version = self.domain.name, self.domain.version
        return {"name": name, "version": version, "chainId": self.chain_id, "verifyingContract": self.token}

    def _message(self) -> dict[str, Any]:
        return {
            "from": self.payer,
            "to": self.recipient,
            "value": self.units,
            "validAfter": 0,
            "validBefore": self.valid_before,
            "nonce": f"0x{self.nonce.hex()}",
        }


def domain_of(spec: ChainSpec, token: str) -> Domain | None:
    """Return how a token names itself; None if it takes no authorisations, or no gas account of ours could send one.

    Raises ChainError.
    """
    if not gas_keys() or not spec.rpc_urls or not spec.family.has_forwarders:
        return None
    address = spec.tokens[token].address
    place = (tuple(spec.rpc_urls), address)
    with _lock:
        if place in _domains:
            return _domains[place]
    found = _ask_domain(spec, address)
    with _lock:
        _domains[place] = found
    return found


def _ask_domain(spec: ChainSpec, token: str) -> Domain | None:
    pool = open_pool(spec)
    try:
        contracts.read(pool, token, USED, spec.family.nobody, bytes(_WORD))
        domain = Domain(contracts.read(pool, token, NAME), contracts.read(pool, token, VERSION))
        separator = contracts.read(pool, token, _DOMAIN_SEPARATOR)
    except RevertedError:
        return None
    finally:
        pool.close()
    if separator != _separator(domain, spec.chain_id or 0, token):
        log.error("a token signs under another name than it says", chain=spec.name, token=token)
        return None
    return domain


def _separator(domain: Domain, chain_id: int, token: str) -> bytes:
    kind = ",".join(f"{of} {name}" for name, of in _DOMAIN_FIELDS.items())
    parts = (f"EIP712Domain({kind})".encode(), domain.name.encode(), domain.version.encode())
    words = (chain_id.to_bytes(_WORD, "big"), bytes.fromhex(token[2:]).rjust(_WORD, b"\0"))
    return keccak(b"".join((*map(keccak, parts), *words)))


def end_of(now: datetime) -> datetime:
    """Return when what is handed out now ends, as the token counts: in whole seconds."""
    return (now + VALID_FOR).replace(microsecond=0)


def frozen(payout: Payout, line: Line, domain: Domain, *, valid_until: datetime) -> bytes:
    """Return what is stored of a payout that is handed out: its line, and what the wallet signs beside it."""
    more = {
        "name": domain.name,
        "version": domain.version,
        "valid_before": int(valid_until.timestamp()),
        "nonce": nonce_of(payout).hex(),
    }
    return json.dumps(json.loads(line.raw()) | more).encode()


def authorization_of(request: PayoutRequest) -> Authorization:
    """Return what was handed out to be signed; the request's batch and its wallet are loaded."""
    stored, spec = json.loads(bytes(request.raw)), chain_spec(request.batch.chain)
    return Authorization(
        chain_id=spec.chain_id or 0,
        token=spec.tokens[request.batch.token].address,
        domain=Domain(stored["name"], stored["version"]),
        payer=request.batch.wallet.address,
        recipient=stored["address"],
        units=int(stored["units"]),
        valid_before=stored["valid_before"],
        nonce=bytes.fromhex(stored["nonce"]),
    )


@transaction.atomic
def take_signature(batch: PayoutBatch, payout_id: str, signature: str, *, now: datetime) -> PayoutRequest:
    """Store the paying wallet's signature of one payout of a batch; the first that comes stays.

    Raises InvalidRequestError if the wallet did not sign exactly this payout, and ConflictError if the batch has no such payout to
    be signed, is not open, the time is over, or an outflow was found meanwhile.
    """
    payout = Payout.objects.locked().select_related("merchant").filter(public_id=payout_id, batch=batch.pk).first()
    held = PayoutBatch.objects.select_for_update(of=("self",), no_key=True).select_related("wallet").get(pk=batch.pk)
    request = PayoutRequest.objects.filter(payout=payout, batch=held.pk).first() if payout is not None else None
    if payout is None or request is None or held.method != Method.AUTHORIZATION or held.mode != Mode.LIVE:
        raise ConflictError("This batch does not wait for a signature of such a payout.")
    if held.status != BatchStatus.OPEN or payout.status != PayoutStatus.SENDING or payout.movement_id is not None:
        raise ConflictError("This payout does not wait for a signature any more.")
    if request.valid_until is None or request.valid_until <= now:
        raise ConflictError("The time to sign it is over.")
    request.batch = held
    if request.signature is None:
        request.signature = _checked(request, payout, signature)
        request.save(update_fields=["signature"])
    return request


def _checked(request: PayoutRequest, payout: Payout, signature: str) -> bytes:
    """Return the signature's bytes if the batch's wallet signed the payout as it is now. Raises InvalidRequestError."""
    asked, found = authorization_of(request), _SIGNATURE.fullmatch(signature)
    is_the_payouts = (
        (asked.recipient, asked.units) == (payout.address, int(payout.units))
        and (request.batch.chain, request.batch.token) == (payout.chain, payout.token)
        and asked.nonce == nonce_of(payout)
        and datetime.fromtimestamp(asked.valid_before, UTC) == request.valid_until
    )
    signed = bytes.fromhex(found[1]) if found else b""
    if not is_the_payouts or not signed or not asked.is_signed(signed):
        raise InvalidRequestError("This is no signature of the paying wallet for this payout.", param="signature")
    return signed
