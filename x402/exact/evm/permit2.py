"""Permit2 (Uniswap) behind the standard's proxies: for tokens without their own authorisations, such as USDT, and for `upto`.

Source: Uniswap/permit2, PyPI x402 2.25.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from types import MappingProxyType
from typing import Any, Final

from cachetools import TTLCache

from settlements.gas import relay
from wallets.chains.base import ChainError, ChainUnavailableError
from wallets.chains.evm.authorizations import contracts
from wallets.chains.evm.authorizations.contracts import BALANCE_OF, Call, Function, RevertedError, TooMuchGasError
from wallets.chains.evm.proofs import Types, typed_digest
from wallets.chains.family import ChainSpec
from wallets.chains.rpc.pool import RpcPool
from x402.exact import reasons
from x402.exact.inputs import PERMIT2_PREFIX, StandardRequest
from x402.exact.waiting import asking

PERMIT2: Final = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
"""Moves tokens by its owner's signature. Source: Uniswap/permit2, PyPI x402 2.25."""

PROXY: Final = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001"
"""x402ExactPermit2Proxy: payers allow it to move their tokens to the recipient they signed. Source: PyPI x402 2.25."""

SETTLE: Final = Function("settle", ("((address,uint256),uint256,uint256)", "address", "(address,uint256)", "bytes"))
"""The proxy's function: permit with nonce and deadline, owner, recipient and start, and the signature."""

UPTO_PROXY: Final = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002"
"""x402UptoPermit2Proxy: moves a part of what was signed, if the account calls that the payer named. Source: PyPI x402 2.25."""

UPTO_SETTLE: Final = Function(
    "settle", ("((address,uint256),uint256,uint256)", "uint256", "address", "(address,address,uint256)", "bytes")
)
"""Its function: permit with nonce and deadline, amount, owner, recipient, sender and start, and the signature."""

# The token's own permit (EIP-2612) before the others, in the proxies' function `settleWithPermit`: amount, end, r, s and v.
_OWN_PERMIT: Final = "(uint256,uint256,bytes32,bytes32,uint8)"

_BITMAP: Final = Function("nonceBitmap", ("address", "uint256"), "uint256")
_ALLOWANCE: Final = Function("allowance", ("address", "address"), "uint256")
_TYPES: Final[Types] = {
    "PermitWitnessTransferFrom": {
        "permitted": "TokenPermissions",
        "spender": "address",
        "nonce": "uint256",
        "deadline": "uint256",
        "witness": "Witness",
    },
    "TokenPermissions": {"token": "address", "amount": "uint256"},
    "Witness": {"to": "address", "validAfter": "uint256"},
}
_UPTO_TYPES: Final[Types] = {**_TYPES, "Witness": {"to": "address", "facilitator": "address", "validAfter": "uint256"}}

_Place = tuple[str, ...]
# A chain without the contract, or without a node that answers, is not asked again for so many seconds.
_MISSING_SECONDS: Final = 60.0
# How long all nodes of a chain may take together: a seller's server waits for the answer about every chain when it starts.
_MOST_SECONDS: Final = 1.5
_missing: Final[TTLCache[_Place, bool]] = TTLCache(1_000, _MISSING_SECONDS)
_turns: Final[dict[_Place, Lock]] = {}
_lock: Final = Lock()

# The contracts' error names, with the standard's codes.
_SAID: Final = MappingProxyType(
    {
        "InvalidAmount": "invalid_permit2_amount",
        "InvalidDestination": "invalid_permit2_destination",
        "InvalidOwner": "invalid_permit2_owner",
        "PaymentTooEarly": "permit2_payment_too_early",
        "InvalidSignature": reasons.PERMIT2_SIGNATURE,
        "SignatureExpired": reasons.PERMIT2_SIGNATURE,
        "Permit2612AmountMismatch": reasons.OWN_PERMIT_AMOUNT,
        "AmountExceedsPermitted": "upto_amount_exceeds_permitted",
        "UnauthorizedFacilitator": "upto_unauthorized_facilitator",
        "InvalidNonce": reasons.PERMIT2_NONCE,
    }
)


@dataclass(frozen=True, slots=True)
class Proxy:
    """One of the standard's contracts: its address, its function, and the types of what payers sign for it."""

    address: str
    settle: Function
    types: Types

    @property
    def settle_with_permit(self) -> Function:
        """Its function that lets the token allow Permit2 first. It goes on where the token refuses."""
        return Function("settleWithPermit", (_OWN_PERMIT, *self.settle.takes))


_EXACT: Final = Proxy(PROXY, SETTLE, _TYPES)
_UPTO: Final = Proxy(UPTO_PROXY, UPTO_SETTLE, _UPTO_TYPES)


def proxy_of(request: StandardRequest) -> Proxy:
    """Return the contract that carries out an authorisation of a request's scheme."""
    return _UPTO if request.is_upto else _EXACT


def number_of(request: StandardRequest) -> int:
    """Return the nonce that an authorisation uses up."""
    return int(request.signed.nonce.removeprefix(PERMIT2_PREFIX))


def is_used(pool: RpcPool, request: StandardRequest, *, block: str = "latest") -> bool:
    """Whether an authorisation's nonce was used, or cancelled by the payer, up to a block. Raises ChainError."""
    place, bit = divmod(number_of(request), 256)
    payer = request.signed.payer
    try:
        word = contracts.read(pool, PERMIT2, _BITMAP, payer, place, block=block)
    except RevertedError:
        # Permit2 is not deployed here.
        return False
    return bool(word >> bit & 1)


def refusal(pool: RpcPool, request: StandardRequest, *, now: datetime) -> str:
    """Return the standard's reason why an authorisation would be refused; "" if it would not.

    Recipient, amount, token, time and contract were checked before. Raises ChainError.
    """
    signed = request.signed
    if request.version == 1:
        # Version 1 has none.
        return reasons.INVALID_PAYLOAD
    if signed.valid_after > now.timestamp():
        return reasons.PERMIT2_EARLY
    if not _is_signed(pool, request):
        return reasons.PERMIT2_SIGNATURE
    if not contracts.has_code(pool, request.spec, request.asset):
        return reasons.NOT_DEPLOYED
    reason = _funds_refusal(pool, request)
    # A third party's use of it consumed the payer's balance or allowance.
    return reasons.PERMIT2_NONCE if reason and is_used(pool, request) else reason


def is_proven(pool: RpcPool, request: StandardRequest, call: Call | None) -> bool:
    """Whether the payer certainly signed; here the signature is checked first of all."""
    del pool, request, call
    return True


def _funds_refusal(pool: RpcPool, request: StandardRequest) -> str:
    signed = request.signed
    # Whether the token takes its own permit is seen when the call is tried.
    if signed.own_permit is None and not _is_allowed(pool, request):
        return reasons.PERMIT2_ALLOWANCE
    balance = _ask_token(pool, request, BALANCE_OF, signed.payer)
    if balance is None:
        return reasons.NO_BALANCE
    return reasons.INSUFFICIENT_BALANCE if balance < request.units else ""


def rehearsal(pool: RpcPool, request: StandardRequest, call: Call) -> tuple[str, int]:
    """Return the standard's reason why its call fails if tried now, "" if it succeeds, and its gas. Raises ChainError."""
    reason, gas = try_call(pool, request.spec, call)
    if reason == reasons.SIMULATION_FAILED and is_used(pool, request):
        return reasons.PERMIT2_NONCE, gas
    return reason, gas


def try_call(pool: RpcPool, spec: ChainSpec, call: Call) -> tuple[str, int]:
    """Return the reason why a call fails, as far as its contract's words are not needed, and its gas. Raises ChainError."""
    try:
        expect_ours(pool, spec, call)
        return "", relay.gas_for(pool, call)
    except TooMuchGasError:
        return reasons.UNEXPECTED_VERIFY, 0
    except RevertedError:
        return reasons.SIMULATION_FAILED, 0


def expect_ours(pool: RpcPool, spec: ChainSpec, call: Call) -> None:
    """Refuse calls of anything but our tokens, the standard's proxies and Multicall3. Raises RevertedError, ChainError.

    A call to an address without code would succeed, move nothing, and cost gas.
    """
    proxies = {PROXY, UPTO_PROXY, contracts.MULTICALL}
    if call.to not in {*proxies, *(token.address for token in spec.machine_tokens)}:
        raise RevertedError("reverted: this contract is none of ours")
    if call.to in proxies and not contracts.code_of(pool, call.to):
        raise RevertedError("reverted: there is no such contract")


def call_of(pool: RpcPool, request: StandardRequest) -> Call:
    """Return the proxy's call that carries out an authorisation: with the token's own permit where Permit2 is not allowed yet.

    Raises ChainError.
    """
    signed, signature, proxy = request.signed, _signature_of(request), proxy_of(request)
    terms: tuple[Any, ...] = (((request.asset, signed.units), number_of(request), signed.valid_before),)
    if request.is_upto:
        terms += (request.units, signed.payer, (signed.recipient, signed.facilitator, signed.valid_after), signature)
    else:
        terms += (signed.payer, (signed.recipient, signed.valid_after), signature)
    own = signed.own_permit
    if own is None or _is_allowed(pool, request):
        return Call(proxy.address, proxy.settle.call(*terms), sender=signed.facilitator)
    data = proxy.settle_with_permit.call((signed.units, own.deadline, *contracts.parts_of(own.signature)), *terms)
    return Call(proxy.address, data, sender=signed.facilitator)


def allowed_by(pool: RpcPool, request: StandardRequest, call: Call, *, block: str) -> int | None:
    """Return how many base units of the payer's Permit2 may move as of a block; None for a payment by EIP-3009.

    With the token's own permit those are the payment's own, and none for others. Raises ChainUnavailableError if the token does
    not take the permit there: it takes one of each number, and where it took this one already, the payment would fail at our
    cost. Raises RevertedError, ChainError.
    """
    if not request.signed.is_permit2:
        return None
    if not call.data.startswith(proxy_of(request).settle_with_permit.selector):
        return int(contracts.read(pool, request.asset, _ALLOWANCE, request.signed.payer, PERMIT2, block=block))
    try:
        contracts.attempt(pool, call.to, call.data, sender=call.sender, block=block)
    except RevertedError:
        raise ChainUnavailableError("the token does not take this permit in the block that is known") from None
    return request.units


def reason_of(error: RevertedError) -> str:
    """Return the standard's reason for a contract's message."""
    found = (reason for name, reason in _SAID.items() if name in str(error))
    return next(found, reasons.TRANSACTION_FAILED)


def _signature_of(request: StandardRequest) -> bytes:
    return bytes.fromhex(request.signed.payload["signature"][2:])


def _is_signed(pool: RpcPool, request: StandardRequest) -> bool:
    payer, signature = request.signed.payer, _signature_of(request)
    try:
        signed = _digest_of(request)
        if contracts.code_of(pool, payer):
            return contracts.is_vouched_for(pool, payer, signed, signature)
        return contracts.is_of_key(payer, signed, signature)
    except ValueError:
        return False


def _digest_of(request: StandardRequest) -> bytes:
    # Permit2's domain has no version.
    domain = {"name": "Permit2", "chainId": request.spec.chain_id, "verifyingContract": PERMIT2}
    signed, proxy = request.signed, proxy_of(request)
    witness: dict[str, str | int] = {"to": signed.recipient, "validAfter": signed.valid_after}
    if request.is_upto:
        witness["facilitator"] = signed.facilitator
    message = {
        "permitted": {"token": request.asset, "amount": signed.units},
        "spender": proxy.address,
        "nonce": number_of(request),
        "deadline": signed.valid_before,
        "witness": witness,
    }
    return typed_digest(proxy.types, domain, message)


def _is_allowed(pool: RpcPool, request: StandardRequest) -> bool:
    """Whether Permit2 may move what the request costs."""
    allowed = _ask_token(pool, request, _ALLOWANCE, request.signed.payer, PERMIT2)
    return allowed is not None and allowed >= request.units


def _ask_token(pool: RpcPool, request: StandardRequest, function: Function, *arguments: str) -> int | None:
    try:
        return int(contracts.read(pool, request.asset, function, *arguments))
    except RevertedError:
        return None


def has_upto(pool: RpcPool, spec: ChainSpec) -> bool:
    """Return whether the contract is on a chain; False if no node answers soon. One request of a process asks at a time.

    No contract goes away, so True holds until the process ends. It is kept in memory only: a new process asks each chain once,
    and a stored answer would outlive a change of the nodes. A wrong one costs no gas, because `expect_ours` asks before each
    transaction. After False the nodes are asked again in a minute. A preferred node that hangs uses up the time of the others.
    """
    place = tuple(spec.rpc_urls)
    with _lock:
        if place in _missing:
            return False
        turn = _turns.setdefault(place, Lock())
    if not turn.acquire(timeout=_MOST_SECONDS):
        return False
    try:
        with _lock:
            if place in _missing:
                return False
        if _is_there(pool, spec):
            return True
        with _lock:
            _missing[place] = True
        return False
    finally:
        turn.release()


def _is_there(pool: RpcPool, spec: ChainSpec) -> bool:
    with asking(spec.name) as is_asked, pool.within(_MOST_SECONDS), suppress(ChainError):
        return is_asked and contracts.has_code(pool, spec, UPTO_PROXY)
    return False
