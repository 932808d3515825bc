"""Payments by EIP-3009: the token's own transfer, signed by the payer and sent by our gas account to the address that is due.

The ticket names the transfer's nonce: what is signed cannot be changed, and is sent once.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

import structlog

from accounts.states import Mode
from checkouts.gas_free.rules import is_worth, may_be_free
from checkouts.gas_free.tickets import (
    MOST_TRIES,
    insufficient,
    not_free,
    pending,
    read_ticket,
    reference_of,
    refuse_second,
    taken,
    unsigned,
    write_ticket,
)
from checkouts.models import Checkout
from gateway.core.api.errors import ConflictError, UnavailableError
from gateway.core.times import Clock, clock_from
from settlements.errors import NoGasError
from settlements.gas.balances import expect_gas
from settlements.gas.claims import TakenSubjectError
from settlements.gas.ledger import find
from settlements.gas.node import GasNode
from settlements.gas.relay import Relay, most_cost, relay
from settlements.gas.shares import has_open, refuse_failing
from settlements.models import GasTransaction
from settlements.states import ON_THEIR_WAY, Purpose
from wallets.chains.base import ChainError
from wallets.chains.evm.authorizations import contracts, eip3009
from wallets.chains.evm.authorizations.contracts import BALANCE_OF, USUAL_GAS, RevertedError, TooMuchGasError
from wallets.chains.evm.authorizations.domains import domain_of
from wallets.chains.evm.authorizations.terms import Refusal, TransferAuthorization
from wallets.chains.family import ChainSpec, PaymentRequest, TokenDomain
from wallets.chains.registry import KeptPerThread, open_pool
from wallets.chains.rpc.pool import RpcPool
from wallets.forwarders.addresses import keccak
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

VALID_FOR: Final = timedelta(minutes=10)

# Time to read what a wallet shows; and a transaction waits for its block, sometimes for the next one.
_LEAST_TO_SIGN: Final = timedelta(minutes=1)
_LEAST_TO_SEND: Final = 6
_BLOCKS: Final = 2
# The signature of a payer whom the token or its wallet does not know.
_UNSIGNED: Final = frozenset({Refusal.SIGNATURE, Refusal.UNREADABLE})

_pools: Final = KeptPerThread(open_pool, close=lambda pool: pool.close())


def offer(checkout: Checkout, due: PaymentRequest, payer: str, *, now: datetime) -> dict[str, Any]:
    """Return `{typed_data, ticket}`: what the wallet signs, and what it gives back with the signature.

    `due` is the payment shown now. Raises ConflictError: gas_free_unavailable if the payer's own transaction is needed,
    payment_pending while one of this checkout is on its way, funds_insufficient. Raises ChainError.
    """
    spec = due.spec
    if not may_be_free(due, is_allowed=checkout.merchant.is_gas_free):
        raise not_free("settings")
    number, ends_at = _next_try(checkout), min(checkout.expires_at, now + VALID_FOR)
    refuse_second(checkout, now=now)
    if ends_at - now < _LEAST_TO_SIGN:
        raise not_free("time")
    domain = _domain(checkout, due)
    if checkout.mode == Mode.LIVE:
        _refuse_unpayable(_pools.of(spec), due, payer, now)
    content = {
        "chain": spec.name,
        "token": due.token,
        "payer": payer,
        "to": due.address,
        "units": due.units,
        "before": int(ends_at.timestamp()),
        "try": number,
    }
    ticket = write_ticket(checkout, content)
    log.info("a payment is offered without fee", chain=spec.name, checkout=checkout.public_id)
    return {"typed_data": _authorization(ticket, content, domain).typed(), "ticket": ticket}


def sent_already(checkout: Checkout, ticket: str) -> str:
    """Return the hash of the transaction that carries a ticket's transfer; "" if there is none. Raises InvalidRequestError."""
    made = find(Purpose.RELAY, reference_of(checkout, read_ticket(checkout, ticket)["try"]))
    if made is None or keccak(ticket.encode()) not in bytes(made.data):
        return ""
    return _newest(made)


def accept(checkout: Checkout, ticket: str, signature: bytes, due: PaymentRequest, *, now: datetime) -> str:
    """Send what the payer signed; return the transaction's hash, "" for a test's, of which none is sent. Safe to repeat.

    `due` is the payment shown now. Raises InvalidRequestError (signature_invalid), ConflictError as `offer`, and
    UnavailableError if no node answers: nothing was sent then.
    """
    content, spec, clock = read_ticket(checkout, ticket), due.spec, clock_from(now)
    reference = reference_of(checkout, content["try"])
    try:
        signed = _authorization(ticket, content, _domain(checkout, due)).signed_by(signature)
        if made := find(Purpose.RELAY, reference):
            return _hash_of(made, signed)
        if (content["to"], content["units"], content["token"]) != (due.address, due.units, due.token):
            raise ConflictError("The amount due has changed.")
        _refuse_late(spec, signed, clock())
        if not may_be_free(due, is_allowed=checkout.merchant.is_gas_free):
            raise not_free("settings")
        if checkout.mode == Mode.TEST:
            return _simulated(signed)
        return _hash_of(_send(checkout, reference, signed, clock), signed)
    except ChainError as error:
        # It is followed by the ledger, whatever a node said.
        if made := find(Purpose.RELAY, reference):
            return _newest(made)
        raise UnavailableError(f"{spec.title} does not answer; try again in a moment.") from error


def _send(checkout: Checkout, reference: str, signed: TransferAuthorization, clock: Clock) -> GasTransaction:
    pool, chain = _pools.of(signed.spec), signed.spec.name
    if refused := eip3009.refusal(pool, signed, now=clock()):
        _refuse(refused, is_contract=False)
    cause = Relay(checkout.merchant_id, reference, is_alone=True, subject=checkout.public_id)
    try:
        made = relay(signed, cause, pool=pool, clock=clock)
    except TooMuchGasError:
        raise not_free("wallet") from None
    except RevertedError as error:
        is_contract = bool(contracts.code_of(pool, signed.payer))
        _refuse(eip3009.reason_of(error), is_contract=is_contract)
    except TakenSubjectError as error:
        raise taken(error) from None
    except NoGasError as error:
        log.warning("a payment is not sent without fee", chain=chain, error=str(error))
        raise not_free("gas") from None
    log.info("a payment is sent without fee", chain=chain, checkout=checkout.public_id)
    return made


def _refuse(refused: Refusal, *, is_contract: bool) -> NoReturn:
    """Raise the error of what the token or we say about a signature."""
    if refused is Refusal.USED:
        # A third party sent it: the page sees the transfer as any other.
        raise pending()
    if refused is Refusal.FUNDS:
        raise insufficient()
    if refused in _UNSIGNED and not is_contract:
        raise unsigned()
    # A wallet that is no key and does not vouch for it, or is not deployed: its own transaction works.
    raise not_free(refused.name.lower())


def _next_try(checkout: Checkout) -> int:
    """Return the number of the next try. Raises ConflictError while one is on its way or succeeded, or after too many."""
    for number in range(1, MOST_TRIES + 1):
        made = find(Purpose.RELAY, reference_of(checkout, number))
        if made is None:
            return number
        if made.state in ON_THEIR_WAY or made.succeeded:
            raise pending()
    raise not_free("tries")


def _refuse_unpayable(pool: RpcPool, due: PaymentRequest, payer: str, now: datetime) -> None:
    """Raise ConflictError if we would not send this now, or the payer holds less. Raises ChainError."""
    spec, node = due.spec, GasNode(pool)
    token = spec.tokens[due.token].address
    try:
        refuse_failing(spec.name, payer, now=now)
        expect_gas(spec.name, USUAL_GAS, node=node, now=now)
        is_worth_it = is_worth(spec.name, due.units, most_cost(spec.name, USUAL_GAS, node=node))
        held = int(contracts.read(pool, token, BALANCE_OF, payer))
    except NoGasError as error:
        log.warning("a payment is not offered without fee", chain=spec.name, error=str(error))
        raise not_free("gas") from None
    except RevertedError:
        raise not_free("token") from None
    if not is_worth_it or has_open(spec.name, payer):
        raise not_free("limits")
    if held < due.units:
        raise insufficient()


def _refuse_late(spec: ChainSpec, signed: TransferAuthorization, now: datetime) -> None:
    wait = max(_LEAST_TO_SEND, _BLOCKS * spec.block_seconds)
    if signed.valid_before < now.timestamp() + wait:
        raise not_free("time")


def _simulated(signed: TransferAuthorization) -> str:
    """Check the signature of a test's payment, of which nothing is sent: its scenario says what comes of it."""
    if not signed.is_of_key():
        _refuse(Refusal.SIGNATURE, is_contract=False)
    return ""


def _domain(checkout: Checkout, due: PaymentRequest) -> TokenDomain:
    """Return how the token signs: what is published, and of live payments what its contract confirms. Raises ChainError."""
    is_live = checkout.mode == Mode.LIVE
    published = due.spec.tokens[due.token].domain
    domain = domain_of(_pools.of(due.spec), due.spec, due.token) if is_live else published
    if domain is None:
        raise not_free("token")
    return domain


def _authorization(ticket: str, content: Mapping[str, Any], domain: TokenDomain) -> TransferAuthorization:
    spec = chain_spec(content["chain"])
    return TransferAuthorization(
        spec=spec,
        token=spec.tokens[content["token"]].address,
        domain=domain,
        payer=content["payer"],
        recipient=content["to"],
        units=content["units"],
        valid_after=0,
        valid_before=content["before"],
        nonce=keccak(ticket.encode()),
    )


def _hash_of(made: GasTransaction, signed: TransferAuthorization) -> str:
    """Return a transaction's hash, if it carries this very authorisation. Raises ConflictError if it carries another."""
    if signed.nonce not in bytes(made.data):
        raise pending()
    return _newest(made)


def _newest(made: GasTransaction) -> str:
    return made.attempts.order_by("-number")[0].tx_hash
