"""The rows of x402 payments for templates and the CSV file."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from accounts.states import Mode
from gateway.core.money import readable_units
from wallets.dashboard.rows import marked
from wallets.dashboard.watched.rows import shortened
from wallets.networks import chain_spec
from webhooks.dashboard.words import Badge
from x402.dashboard.words import PROTOCOLS, STATUSES
from x402.models import X402Payment
from x402.states import PaymentStatus, Protocol


@dataclass(frozen=True, slots=True)
class PaymentRow:
    """A payment. `explorer` is empty for simulated ones and on local networks."""

    id: str
    resource: str
    amount: str
    token: str
    chain: str
    chain_title: str
    payer: str
    payer_short: str
    badge: Badge
    protocol: str
    is_signed: bool
    tx_hash: str
    tx_short: str
    explorer: str
    verified_at: datetime


def payment_rows(payments: Iterable[X402Payment]) -> list[PaymentRow]:
    """Return the rows of payments, in their order."""
    return [_row(payment) for payment in payments]


def _row(payment: X402Payment) -> PaymentRow:
    spec, is_live = chain_spec(payment.chain), payment.mode == Mode.LIVE
    explorer = spec.transaction_url(payment.tx_hash) if is_live else None
    return PaymentRow(
        id=payment.public_id,
        resource=payment.resource,
        amount=readable_units(int(payment.units)),
        token=payment.token,
        chain=payment.chain,
        chain_title=spec.title,
        payer=payment.payer,
        payer_short=shortened(marked(payment.payer)),
        badge=STATUSES[PaymentStatus(payment.status)],
        protocol=PROTOCOLS[Protocol(payment.protocol)],
        is_signed=payment.is_signed,
        tx_hash=payment.tx_hash,
        tx_short=shortened(marked(payment.tx_hash)),
        explorer=explorer or "",
        verified_at=payment.verified_at,
    )
