"""Payments of which our account is the fee payer (Solana): we write the transaction, the payer signs it, we sign last and send it.

The ticket holds the transaction, so that what a wallet gives back is a signature alone: one of anything else is worth nothing.
"""

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

import structlog

from accounts.states import Mode
from checkouts.gas_free.rules import may_be_free
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
from settlements.errors import NoGasError
from settlements.gas.claims import TakenSubjectError
from settlements.gas.relay import Relay
from settlements.gas.solana_relay import (
    Sponsored,
    fee_payer_of,
    find_sponsored,
    has_open_sponsored,
    refuse_spent,
    relay_sponsored,
    sponsored_payer,
)
from settlements.gas.strangers import Stranger
from settlements.states import Outcome
from wallets.chains.base import ChainError
from wallets.chains.family import (
    ChainSpec,
    NotEnoughError,
    PaymentOrder,
    PaymentRequest,
    SignedOtherwiseError,
    TransactionRefusedError,
)
from wallets.chains.registry import KeptPerThread, open_pool
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana.funding import funder_of
from wallets.chains.solana.unsigned_payment import SPONSORED_FEE, SolanaCashier

log = structlog.get_logger(__name__)


class _Desk:
    """A chain's nodes, reader and cashier, for one thread."""

    def __init__(self, spec: ChainSpec) -> None:
        self.pool: RpcPool = open_pool(spec)
        self.cashier = cast("SolanaCashier", spec.family.open_cashier(spec, self.pool))
        self._adapter = spec.family.open_adapter(spec, self.pool)

    def funder(self, owner: str, mint: str) -> str | None:
        """Return who last sent an account a token; "" if none did, None if too much came after it. Raises ChainError."""
        return funder_of(self.pool, self._adapter, self.cashier.token_account_of(owner, mint), owner)


_desks: Final = KeptPerThread(_Desk, close=lambda desk: desk.pool.close())


def offer(checkout: Checkout, due: PaymentRequest, payer: str, *, now: datetime) -> dict[str, Any]:
    """Return `{transaction, ticket}`: what the wallet signs without sending it. Raises as `authorized.offer`."""
    spec = due.spec
    if checkout.mode != Mode.LIVE or not may_be_free(due, is_allowed=checkout.merchant.is_gas_free):
        raise not_free("settings")
    number = _next_try(checkout)
    refuse_second(checkout, now=now)
    if has_open_sponsored(spec.name, payer):
        raise not_free("limits")
    order = PaymentOrder(
        payer=payer, recipient=due.address, token=spec.tokens[due.token], units=due.units, reference=due.reference
    )
    try:
        fee_payer = fee_payer_of(checkout.merchant_id)
        # Who funded the payer is asked once it has signed.
        refuse_spent(checkout.merchant_id, spec.name, payer, SPONSORED_FEE, now=now)
        raw, last_height = _desks.of(spec).cashier.prepare_sponsored(order, fee_payer=fee_payer)
    except NoGasError as error:
        log.warning("a payment is not offered without fee", chain=spec.name, error=str(error))
        raise not_free("gas") from None
    except NotEnoughError:
        raise insufficient() from None
    except TransactionRefusedError:
        raise not_free("account") from None
    content = {
        "chain": spec.name,
        "token": due.token,
        "payer": payer,
        "to": due.address,
        "units": due.units,
        "raw": base64.b64encode(raw).decode(),
        "last": last_height,
        "try": number,
    }
    return {"transaction": content["raw"], "ticket": write_ticket(checkout, content)}


def sent_already(checkout: Checkout, ticket: str) -> str:
    """Return the hash of the transaction of a ticket; "" if there is none. Raises InvalidRequestError."""
    content = read_ticket(checkout, ticket)
    made = find_sponsored(reference_of(checkout, content["try"]))
    is_same = made is not None and _message_of(content) in bytes(made.signed)
    return made.tx_hash if made is not None and is_same else ""


def accept(checkout: Checkout, ticket: str, signature: bytes, due: PaymentRequest, *, now: datetime) -> str:
    """Send what the payer signed; return the transaction's hash. Safe to repeat. Raises as `authorized.accept`."""
    content, spec = read_ticket(checkout, ticket), due.spec
    if (content["to"], content["units"], content["token"]) != (due.address, due.units, due.token):
        raise ConflictError("The amount due has changed.")
    if not may_be_free(due, is_allowed=checkout.merchant.is_gas_free):
        raise not_free("settings")
    what = Sponsored(spec, base64.b64decode(content["raw"]), content["payer"], SPONSORED_FEE, content["last"])
    reference, subject = reference_of(checkout, content["try"]), checkout.public_id
    cause = Relay(checkout.merchant_id, reference, is_alone=True, subject=subject)
    try:
        stranger = _stranger(checkout, due, what.payer)
        made = relay_sponsored(what, signature, cause, stranger=stranger, pool=_desks.of(spec).pool, now=now)
    except TakenSubjectError as error:
        raise taken(error) from None
    except NoGasError as error:
        log.warning("a payment is not sent without fee", chain=spec.name, error=str(error))
        raise not_free("gas") from None
    except SignedOtherwiseError:
        # Some wallets change what they sign, each time.
        log.info("a payer signed something else", chain=spec.name)
        raise unsigned() from None
    except TransactionRefusedError as error:
        log.info("a payment is not sent without fee", chain=spec.name, error=str(error))
        raise not_free("wallet") from None
    except ChainError as error:
        raise UnavailableError(f"{spec.title} does not answer; try again in a moment.") from error
    if _message_of(content) not in bytes(made.signed):
        raise pending()
    log.info("a payment is sent without fee", chain=spec.name, checkout=checkout.public_id)
    return made.tx_hash


def _stranger(checkout: Checkout, due: PaymentRequest, payer: str) -> Stranger:
    desk, mint = _desks.of(due.spec), due.spec.tokens[due.token].address
    return sponsored_payer(
        checkout.merchant_id, due.spec.name, mint, payer, funded_by=lambda owner: desk.funder(owner, mint)
    )


def _next_try(checkout: Checkout) -> int:
    """Return the number of the next try. Raises ConflictError while one is on its way or succeeded, or after too many."""
    for number in range(1, MOST_TRIES + 1):
        made = find_sponsored(reference_of(checkout, number))
        if made is None:
            return number
        if made.outcome != Outcome.FAILED:
            raise pending()
    raise not_free("tries")


def _message_of(content: Mapping[str, Any]) -> bytes:
    """Return what both sign: it follows the room for two signatures, and names a recent block."""
    return base64.b64decode(content["raw"])[1 + 2 * 64 :]
