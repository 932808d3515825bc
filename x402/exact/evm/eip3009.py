"""EIP-3009's authorisations in requests of the standard: what a token says of them, in the standard's codes."""

from datetime import datetime
from types import MappingProxyType
from typing import Final

from settlements.gas.relay import estimating_account
from wallets.chains.evm.authorizations import eip3009
from wallets.chains.evm.authorizations.contracts import Call, RevertedError
from wallets.chains.evm.authorizations.terms import Refusal, TransferAuthorization
from wallets.chains.family import TokenDomain
from wallets.chains.rpc.pool import RpcPool
from x402.exact import reasons
from x402.exact.inputs import StandardRequest

_CODES: Final = MappingProxyType(
    {
        Refusal.NO_DOMAIN: reasons.NO_DOMAIN,
        Refusal.EARLY: reasons.VALID_AFTER,
        Refusal.LATE: reasons.VALID_BEFORE,
        Refusal.USED: reasons.ALREADY_USED,
        Refusal.FUNDS: reasons.INSUFFICIENT_BALANCE,
        Refusal.SIGNATURE: reasons.SIGNATURE,
        Refusal.UNREADABLE: reasons.UNREADABLE_SIGNATURE,
        Refusal.NO_WALLET: reasons.NO_WALLET,
        Refusal.FACTORY: reasons.FACTORY,
        Refusal.NOT_DEPLOYED: reasons.NOT_DEPLOYED,
        Refusal.UNSUPPORTED: reasons.NO_EIP3009,
        Refusal.NAME: reasons.NAME_MISMATCH,
        Refusal.VERSION: reasons.VERSION_MISMATCH,
        Refusal.GAS: reasons.UNEXPECTED_VERIFY,
        Refusal.UNKNOWN: reasons.SIMULATION_FAILED,
        Refusal.REVERTED: reasons.TRANSACTION_FAILED,
    }
)


def refusal(pool: RpcPool, request: StandardRequest, *, now: datetime) -> str:
    """Return the standard's reason why a token would refuse an authorisation; "" if it would not.

    Recipient, amount and time were checked before. Raises ChainError.
    """
    return _code(eip3009.refusal(pool, authorization_of(request), now=now))


def rehearsal(pool: RpcPool, request: StandardRequest) -> tuple[str, int]:
    """Return the standard's reason why the transfer fails if tried now, "" if it succeeds, and its gas. Raises ChainError."""
    # Version 1 has no codes for tokens' messages.
    hears_token = request.version == 2
    signed, sender = authorization_of(request), estimating_account(request.asset)
    refused, gas = eip3009.rehearsal(pool, signed, sender=sender, hears_token=hears_token)
    return _code(refused), gas


def call_of(request: StandardRequest) -> Call:
    """Return the call that carries out an authorisation."""
    return authorization_of(request).call()


def reason_of(error: RevertedError) -> str:
    """Return the standard's reason for a token's message."""
    return _code(eip3009.reason_of(error))


def is_proven(pool: RpcPool, request: StandardRequest) -> bool:
    """Whether the payer certainly signed, even if the token was not asked. Raises ChainError."""
    return eip3009.is_proven(pool, authorization_of(request))


def is_used(pool: RpcPool, request: StandardRequest, *, block: str = "latest") -> bool:
    """Whether an authorisation was used, or cancelled by the payer, up to a block. Raises ChainError."""
    return eip3009.is_used(pool, authorization_of(request), block=block)


def authorization_of(request: StandardRequest) -> TransferAuthorization:
    """Return what the payer signed; its domain is the one that the resource server named.

    A request that was written from a row has no signature, and no domain.
    """
    signed, extra = request.signed, request.extra
    is_named = {"name", "version"} <= extra.keys()
    return TransferAuthorization(
        spec=request.spec,
        token=request.asset,
        domain=TokenDomain(extra["name"], extra["version"]) if is_named else None,
        payer=signed.payer,
        recipient=signed.recipient,
        units=signed.units,
        valid_after=signed.valid_after,
        valid_before=signed.valid_before,
        nonce=bytes.fromhex(signed.nonce[2:]),
        signature=bytes.fromhex(signed.payload.get("signature", "0x")[2:]),
    )


def _code(refused: Refusal | None) -> str:
    return _CODES[refused] if refused else ""
