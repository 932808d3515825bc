"""EIP-3009: a token's own authorisations, as USDC has them. Source: EIP-3009, FiatTokenV2_2, PyPI x402 2.25."""

from datetime import datetime
from threading import Lock
from types import MappingProxyType
from typing import Any, Final

from cachetools import TTLCache

from wallets.chains.evm.proofs import Types, typed_digest
from wallets.chains.rpc.pool import RpcPool
from x402.exact import reasons
from x402.exact.errors import RevertedError, TooMuchGasError
from x402.exact.evm import contracts
from x402.exact.evm.contracts import BALANCE_OF, Call, Function
from x402.exact.inputs import StandardRequest

TYPES: Final[Types] = {
    "TransferWithAuthorization": {
        "from": "address",
        "to": "address",
        "value": "uint256",
        "validAfter": "uint256",
        "validBefore": "uint256",
        "nonce": "bytes32",
    }
}
_TERMS: Final = tuple(TYPES["TransferWithAuthorization"].values())
BY_KEY: Final = Function("transferWithAuthorization", (*_TERMS, "uint8", "bytes32", "bytes32"))
_BY_WALLET: Final = Function("transferWithAuthorization", (*_TERMS, "bytes"))
USED: Final = Function("authorizationState", ("address", "bytes32"), "bool")
NAME: Final = Function("name", answer="string")
VERSION: Final = Function("version", answer="string")
_ASK_ALL: Final = Function("tryAggregate", ("bool", "(address,bytes)[]"), "(bool,bytes)[]")

# Contract wallets, as a verification just found them.
_wallets: Final[TTLCache[tuple[str, str], bool]] = TTLCache(10_000, 60.0)
_lock: Final = Lock()

# Tokens' refusals, in lower case: USDC's texts, other tokens' error names.
_SAID: Final = MappingProxyType(
    {
        "authorization is expired": reasons.VALID_BEFORE,
        "authorizationexpired": reasons.VALID_BEFORE,
        "authorization is not yet valid": reasons.VALID_AFTER,
        "authorizationnotyetvalid": reasons.VALID_AFTER,
        "authorization is used": reasons.ALREADY_USED,
        "authorizationalreadyused": reasons.ALREADY_USED,
        "authorizationusedorcanceled": reasons.ALREADY_USED,
        "transfer amount exceeds balance": reasons.INSUFFICIENT_BALANCE,
        "erc20insufficientbalance": reasons.INSUFFICIENT_BALANCE,
        "invalid signature": reasons.SIGNATURE,
        "signermismatch": reasons.SIGNATURE,
        "invalidsignaturev": reasons.SIGNATURE,
        "invalidsignatures": reasons.SIGNATURE,
    }
)


def refusal(pool: RpcPool, request: StandardRequest, *, now: datetime) -> str:
    """Return the standard's reason why a token would refuse an authorisation; "" if it would not.

    Recipient, amount and time were checked before. Raises ChainError.
    """
    signed = request.signed
    if not {"name", "version"} <= request.extra.keys():
        return reasons.NO_DOMAIN
    if signed.valid_after > now.timestamp():
        return reasons.VALID_AFTER
    try:
        reason = _signature_refusal(pool, request)
    except ValueError:
        return reasons.UNREADABLE_SIGNATURE
    if not reason and not contracts.has_code(pool, request.spec, request.asset):
        return reasons.NOT_DEPLOYED
    return reason


def rehearsal(pool: RpcPool, request: StandardRequest) -> str:
    """Return the standard's reason why the transfer fails if tried now; "" if it succeeds. Raises ChainError."""
    call = call_of(request)
    try:
        if _payer_of(request) in _wallets:
            # A wallet's own check of its signature runs with our gas.
            contracts.gas_for(pool, call)
        else:
            contracts.attempt(pool, call.to, call.data)
    except TooMuchGasError:
        return reasons.UNEXPECTED_VERIFY
    except RevertedError as error:
        # Version 1 has no codes for tokens' messages.
        known = reason_of(error) if request.version == 2 else ""
        if known and known != reasons.TRANSACTION_FAILED:
            return known
        return _diagnosis(pool, request)
    return ""


def call_of(request: StandardRequest) -> Call:
    """Return the call that carries out an authorisation."""
    signed = request.signed
    terms = (
        signed.payer,
        signed.recipient,
        signed.units,
        signed.valid_after,
        signed.valid_before,
        bytes.fromhex(signed.nonce[2:]),
    )
    inner = _signature_of(request).inner
    if len(inner) != contracts.KEY_BYTES:
        return Call(request.asset, _BY_WALLET.call(*terms, inner))
    r, s, v = inner[:32], inner[32:64], inner[64]
    # Some wallets number the two points from 0.
    v = v + 27 if v in (0, 1) else v
    return Call(request.asset, BY_KEY.call(*terms, v, r, s))


def reason_of(error: RevertedError) -> str:
    """Return the standard's reason for a token's message."""
    said = str(error).lower()
    found = (reason for words, reason in _SAID.items() if words in said)
    return next(found, reasons.TRANSACTION_FAILED)


def is_proven(pool: RpcPool, request: StandardRequest) -> bool:
    """Whether the payer certainly signed, even if the token was not asked. Raises ChainError.

    A contract wallet is asked itself then: its authorisation's nonce may be public.
    """
    payer = request.signed.payer
    if not contracts.code_of(pool, payer):
        return True
    try:
        digest, signature = _digest_of(request), _signature_of(request)
    except ValueError:
        return False
    return contracts.is_vouched_for(pool, payer, digest, signature.inner)


def is_used(pool: RpcPool, request: StandardRequest, *, block: str = "latest") -> bool:
    """Whether an authorisation was used, or cancelled by the payer, up to a block. Raises ChainError."""
    nonce, payer = bytes.fromhex(request.signed.nonce[2:]), request.signed.payer
    try:
        return bool(contracts.read(pool, request.asset, USED, payer, nonce, block=block))
    except RevertedError:
        # A token without authorisations, such as USDT, uses none.
        return False


def _payer_of(request: StandardRequest) -> tuple[str, str]:
    return request.spec.name, request.signed.payer


def _signature_of(request: StandardRequest) -> contracts.Signature:
    told = request.signed.payload["signature"]
    return contracts.unwrapped(bytes.fromhex(told[2:]))


def _signature_refusal(pool: RpcPool, request: StandardRequest) -> str:
    """Return what is wrong with a key's signature. For a contract wallet, the token itself checks it.

    Raises ValueError for a malformed signature, ChainError.
    """
    signature = _signature_of(request)
    if contracts.code_of(pool, request.signed.payer):
        with _lock:
            _wallets[_payer_of(request)] = True
        return ""
    if signature.deploys:
        # Strangers' factories are not called.
        return reasons.FACTORY
    if len(signature.inner) != contracts.KEY_BYTES:
        return reasons.NO_WALLET
    payer = request.signed.payer
    is_good = contracts.is_of_key(payer, _digest_of(request), signature.inner)
    return "" if is_good else reasons.SIGNATURE


def _digest_of(request: StandardRequest) -> bytes:
    domain = {
        "name": request.extra["name"],
        "version": request.extra["version"],
        "chainId": request.spec.chain_id,
        "verifyingContract": request.asset,
    }
    told = request.signed.payload["authorization"]
    numbers = {name: int(told[name]) for name in ("value", "validAfter", "validBefore")}
    return typed_digest(TYPES, domain, {**told, **numbers})


def _diagnosis(pool: RpcPool, request: StandardRequest) -> str:
    """Ask the token why a transfer fails. Unknown if the chain has no Multicall3. Raises ChainError."""
    signed, nonce = request.signed, bytes.fromhex(request.signed.nonce[2:])
    questions = (
        (USED, USED.call(signed.payer, nonce)),
        (NAME, NAME.call()),
        (VERSION, VERSION.call()),
        (BALANCE_OF, BALANCE_OF.call(signed.payer)),
    )
    asked = [(request.asset, data) for _, data in questions]
    try:
        told = contracts.read(pool, contracts.MULTICALL, _ASK_ALL, False, asked)
    except RevertedError:
        return reasons.SIMULATION_FAILED
    if len(told) != len(questions):
        return reasons.SIMULATION_FAILED
    used, name, version, balance = (
        _answer(function, answer) for (function, _), answer in zip(questions, told, strict=True)
    )
    if used is None:
        return reasons.NO_EIP3009
    if used:
        return reasons.ALREADY_USED
    if name not in (None, request.extra["name"]):
        return reasons.NAME_MISMATCH
    if version not in (None, request.extra["version"]):
        return reasons.VERSION_MISMATCH
    if balance is not None and balance < request.units:
        return reasons.INSUFFICIENT_BALANCE
    return reasons.SIMULATION_FAILED


def _answer(function: Function, told: tuple[bool, bytes]) -> Any:
    """Return one of several results; None if there is none."""
    succeeded, data = told
    if not succeeded:
        return None
    try:
        return function.read(data)
    except RevertedError:
        return None
