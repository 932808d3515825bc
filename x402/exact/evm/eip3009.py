"""EIP-3009's authorisations in requests of the standard: what a token says of them, in the standard's codes.

A wallet that is not deployed yet (ERC-6492) is deployed in the same transaction, by Multicall3, if the operator trusts its factory.
"""

from datetime import datetime
from types import MappingProxyType
from typing import Final

from django.conf import settings

from settlements.gas.relay import estimating_account
from wallets.chains.evm.authorizations import contracts, eip3009
from wallets.chains.evm.authorizations.contracts import Call, Function, RevertedError, Signature
from wallets.chains.evm.authorizations.terms import Refusal, TransferAuthorization
from wallets.chains.family import TokenDomain
from wallets.chains.rpc.pool import RpcPool
from x402.exact import reasons
from x402.exact.evm import permit2
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


_AGGREGATE: Final = Function("aggregate3", ("(address,bool,bytes)[]",))
"""Multicall3: calls in turn; one that may not fail and does fails all. Source: mds1/multicall3."""


def refusal(pool: RpcPool, request: StandardRequest, *, now: datetime) -> str:
    """Return the standard's reason why a token would refuse an authorisation; "" if it would not.

    Recipient, amount and time were checked before. Raises ChainError.
    """
    signed = authorization_of(request)
    refused = eip3009.refusal(pool, signed, now=now)
    if refused is Refusal.FACTORY and _trusted(signed) is not None:
        # The token asks the wallet about the signature once that is deployed: when the call is tried.
        refused = None if contracts.has_code(pool, signed.spec, signed.token) else Refusal.NOT_DEPLOYED
    return _code(refused)


def rehearsal(pool: RpcPool, request: StandardRequest, call: Call) -> tuple[str, int]:
    """Return the standard's reason why its call fails if tried now, "" if it succeeds, and its gas. Raises ChainError."""
    if deploys(call):
        # Multicall3 does not pass on what the token said.
        return permit2.try_call(pool, request.spec, call)
    # Version 1 has no codes for tokens' messages.
    hears_token = request.version == 2
    signed, sender = authorization_of(request), estimating_account(request.asset)
    refused, gas = eip3009.rehearsal(pool, signed, sender=sender, hears_token=hears_token)
    return _code(refused), gas


def call_of(pool: RpcPool, request: StandardRequest) -> Call:
    """Return the call that carries out an authorisation, and deploys the payer's wallet first if it is not there and may be.

    Raises ChainError.
    """
    signed = authorization_of(request)
    signature = _trusted(signed)
    if signature is None or contracts.code_of(pool, signed.payer) or _is_of_key(signed, signature.inner):
        return signed.call()
    # If another one deploys it before us, the factory may fail, and the transfer does not.
    deploy, transfer = (signature.factory, True, signature.calldata), signed.call()
    return Call(contracts.MULTICALL, _AGGREGATE.call([deploy, (transfer.to, False, transfer.data)]))


def deploys(call: Call) -> bool:
    """Whether a call deploys the payer's wallet first: then neither key nor contract was asked about the signature."""
    return call.to == contracts.MULTICALL


def reason_of(error: RevertedError) -> str:
    """Return the standard's reason for a token's message."""
    return _code(eip3009.reason_of(error))


def is_proven(pool: RpcPool, request: StandardRequest, call: Call | None) -> bool:
    """Whether the payer certainly signed, even if the token was not asked. Raises ChainError.

    Not if the wallet is deployed first, or before there is a call: the account may be one with a key, whose authorisation is public.
    """
    return call is not None and not deploys(call) and eip3009.is_proven(pool, authorization_of(request))


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


def _trusted(signed: TransferAuthorization) -> Signature | None:
    """Return a signature that asks to deploy the wallet by one of X402_WALLET_FACTORIES; None for any other."""
    try:
        signature = contracts.unwrapped(signed.signature)
    except ValueError:
        return None
    trusted = {factory.strip().lower() for factory in settings.X402_WALLET_FACTORIES}
    return signature if signature.deploys and signature.factory in trusted else None


def _is_of_key(signed: TransferAuthorization, inner: bytes) -> bool:
    """Whether the payer's own key signed. Such a payer needs no wallet, whatever the wrapping says."""
    try:
        return contracts.is_of_key(signed.payer, signed.digest(), inner)
    except ValueError:
        return False


def _code(refused: Refusal | None) -> str:
    return _CODES[refused] if refused else ""
