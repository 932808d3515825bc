"""Ends authorisations that were sent and whose requests gave up or died.

Left open, their money would be there without a payment in the books.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final

import structlog

from wallets.chains.base import ChainError
from wallets.networks import chain_spec
from x402.exact import answers, reasons
from x402.exact.authorizations import left_open, mined_after_all, step_back, take_over
from x402.exact.errors import TakenElsewhereError
from x402.exact.inputs import Signed, StandardRequest
from x402.exact.networks import network_of
from x402.exact.rails import rail_of
from x402.exact.records import fail_row
from x402.models import Authorization
from x402.rules import IN_HAND

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 100


def finish_open(*, clock: Callable[[], datetime]) -> int:
    """End the authorisations whose transactions are in a block; return how many were checked."""
    rows = list(left_open(now=clock())[:_AT_ONCE])
    for row in rows:
        if take_over(row, now=clock()):
            _finish(row, clock)
            step_back(row, now=clock())
    for row in mined_after_all(now=clock())[:_AT_ONCE]:
        _finish(row, clock)
    return len(rows)


def _finish(row: Authorization, clock: Callable[[], datetime]) -> None:
    request = request_of(row)
    try:
        if _is_given_up(row, now=clock()):
            failed = reasons.TRANSACTION_FAILED
            fail_row(row, answers.failed(request, failed, tx_hash=row.tx_hash))
            return
        rail_of(request.spec.family).finish(row, request, clock=clock)
    except TakenElsewhereError:
        return
    except ChainError as error:
        log.warning("not finished", chain=row.chain, error=str(error))


def _is_given_up(row: Authorization, *, now: datetime) -> bool:
    """Whether a payment that a reorg removed is no longer waited for.

    The ledger decides about our own transactions, or on Solana the nodes.
    """
    reversed_at = row.payment.reversed_at if row.payment is not None else None
    is_old = reversed_at is not None and now - reversed_at > IN_HAND
    return is_old and row.transaction_id is None and row.signed is None


def request_of(row: Authorization) -> StandardRequest:
    """Return the request as far as its end needs it."""
    spec = chain_spec(row.chain)
    version = int((row.pending or {}).get("version", 2))
    return StandardRequest(
        version=version,
        network=network_of(spec, version) or "",
        spec=spec,
        token=row.token,
        asset=spec.tokens[row.token].address,
        pay_to=row.pay_to,
        units=int(row.units),
        resource=row.resource,
        extra={},
        signed=Signed(
            payer=row.payer,
            recipient=row.pay_to,
            units=int(row.units),
            valid_after=0,
            valid_before=0,
            nonce=row.nonce,
            payload={},
        ),
        reasons=rail_of(spec.family).reasons,
    )
