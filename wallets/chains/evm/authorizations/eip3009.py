"""EIP-3009: whether a token would carry an authorisation out, as USDC does. Source: EIP-3009, FiatTokenV2_2, PyPI x402 2.25."""

from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from wallets.chains.evm.authorizations import contracts
from wallets.chains.evm.authorizations.contracts import BALANCE_OF, Function, RevertedError, TooMuchGasError
from wallets.chains.evm.authorizations.terms import Refusal, TransferAuthorization
from wallets.chains.rpc.pool import RpcPool

USED: Final = Function("authorizationState", ("address", "bytes32"), "bool")
NAME: Final = Function("name", answer="string")
VERSION: Final = Function("version", answer="string")
_ASK_ALL: Final = Function("tryAggregate", ("bool", "(address,bytes)[]"), "(bool,bytes)[]")

# Tokens' refusals, in lower case: USDC's texts, other tokens' error names.
_SAID: Final = MappingProxyType(
    {
        "authorization is expired": Refusal.LATE,
        "authorizationexpired": Refusal.LATE,
        "authorization is not yet valid": Refusal.EARLY,
        "authorizationnotyetvalid": Refusal.EARLY,
        "authorization is used": Refusal.USED,
        "authorizationalreadyused": Refusal.USED,
        "authorizationusedorcanceled": Refusal.USED,
        "transfer amount exceeds balance": Refusal.FUNDS,
        "erc20insufficientbalance": Refusal.FUNDS,
        "invalid signature": Refusal.SIGNATURE,
        "signermismatch": Refusal.SIGNATURE,
        "invalidsignaturev": Refusal.SIGNATURE,
        "invalidsignatures": Refusal.SIGNATURE,
    }
)


def refusal(pool: RpcPool, signed: TransferAuthorization, *, now: datetime) -> Refusal | None:
    """Return why a token would refuse an authorisation, as far as is known without asking it; None if it would not.

    Recipient, amount and end are checked by callers. Raises ChainError.
    """
    if signed.domain is None:
        return Refusal.NO_DOMAIN
    if signed.valid_after > now.timestamp():
        return Refusal.EARLY
    try:
        reason = _signature_refusal(pool, signed)
    except ValueError:
        return Refusal.UNREADABLE
    if reason is None and not contracts.has_code(pool, signed.spec, signed.token):
        return Refusal.NOT_DEPLOYED
    return reason


def rehearsal(
    pool: RpcPool, signed: TransferAuthorization, *, sender: str, hears_token: bool = True
) -> tuple[Refusal | None, int]:
    """Return why the transfer fails if `sender` tried it now, None if it succeeds, and its gas limit, 0 if it fails. Raises ChainError.

    Without `hears_token` the reason is what the token answers to questions, whatever it said when it failed.
    """
    try:
        # A wallet's own check runs with our gas, and some chains count Ethereum's data as gas of any transfer.
        return None, contracts.gas_for(pool, signed.call(), sender=sender)
    except TooMuchGasError:
        return Refusal.GAS, 0
    except RevertedError as error:
        known = reason_of(error) if hears_token else Refusal.REVERTED
        return (_diagnosis(pool, signed) if known is Refusal.REVERTED else known), 0


def reason_of(error: RevertedError) -> Refusal:
    """Return what a token's message means; `REVERTED` if it has no known words."""
    said = str(error).lower()
    found = (reason for words, reason in _SAID.items() if words in said)
    return next(found, Refusal.REVERTED)


def is_proven(pool: RpcPool, signed: TransferAuthorization) -> bool:
    """Whether the payer certainly signed, even if the token was not asked. Raises ChainError.

    A contract wallet is asked itself then: its authorisation's nonce may be public. A key's signature was checked by
    `refusal`.
    """
    if not contracts.code_of(pool, signed.payer):
        return True
    try:
        digest, inner = signed.digest(), contracts.unwrapped(signed.signature).inner
    except ValueError:
        return False
    return contracts.is_vouched_for(pool, signed.payer, digest, inner)


def is_used(pool: RpcPool, signed: TransferAuthorization, *, block: str = "latest") -> bool:
    """Whether an authorisation was used, or cancelled by the payer, up to a block. Raises ChainError."""
    try:
        return bool(contracts.read(pool, signed.token, USED, signed.payer, signed.nonce, block=block))
    except RevertedError:
        # A token without authorisations, such as USDT, uses none.
        return False


def _signature_refusal(pool: RpcPool, signed: TransferAuthorization) -> Refusal | None:
    """Return what is wrong with a key's signature. For a contract wallet, the token itself checks it.

    Raises ValueError for a malformed signature, ChainError.
    """
    signature = contracts.unwrapped(signed.signature)
    if contracts.code_of(pool, signed.payer):
        return None
    if signature.deploys:
        # Strangers' factories are not called.
        return Refusal.FACTORY
    if len(signature.inner) != contracts.KEY_BYTES:
        return Refusal.NO_WALLET
    is_good = contracts.is_of_key(signed.payer, signed.digest(), signature.inner)
    return None if is_good else Refusal.SIGNATURE


def _diagnosis(pool: RpcPool, signed: TransferAuthorization) -> Refusal:
    """Ask the token why a transfer fails. Unknown if the chain has no Multicall3. Raises ChainError."""
    questions = (
        (USED, USED.call(signed.payer, signed.nonce)),
        (NAME, NAME.call()),
        (VERSION, VERSION.call()),
        (BALANCE_OF, BALANCE_OF.call(signed.payer)),
    )
    asked = [(signed.token, data) for _, data in questions]
    try:
        told = contracts.read(pool, contracts.MULTICALL, _ASK_ALL, False, asked)
    except RevertedError:
        return Refusal.UNKNOWN
    if len(told) != len(questions):
        return Refusal.UNKNOWN
    used, name, version, balance = (
        _answer(function, answer) for (function, _), answer in zip(questions, told, strict=True)
    )
    if used is None:
        return Refusal.UNSUPPORTED
    if used:
        return Refusal.USED
    if signed.domain is not None and name not in (None, signed.domain.name):
        return Refusal.NAME
    if signed.domain is not None and version not in (None, signed.domain.version):
        return Refusal.VERSION
    if balance is not None and balance < signed.units:
        return Refusal.FUNDS
    return Refusal.UNKNOWN


def _answer(function: Function, told: tuple[bool, bytes]) -> Any:
    """Return one of several results; None if there is none."""
    succeeded, data = told
    if not succeeded:
        return None
    try:
        return function.read(data)
    except RevertedError:
        return None
