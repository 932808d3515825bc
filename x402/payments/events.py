"""Sends merchants events about machines' payments after their verification."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from accounts.states import Mode
from accounts.team.owners import mail_owners
from gateway.core import json
from gateway.core.money import format_units
from gateway.core.times import iso
from wallets.networks import chain_spec
from webhooks.outbox.events import NewEvent, publish
from x402.models import X402Payment
from x402.payloads import payment_payload

REVERSED: Final = "x402.payment.reversed"
RETURNED: Final = "x402.payment.returned"

_TEXT: Final = """The machine payment {id} had been verified:

  {amount} {token} on {chain}
  {tx_hash}
  for {resource}

The network has since removed it from the chain, or never confirmed it. The payment is now reversed, and its fee is
refunded. The network does not return what you delivered. The money may still return. We keep checking, and send you a
mail if it does.
"""


def tell(*, reversed_: Sequence[X402Payment], returned: Sequence[X402Payment], now: datetime) -> None:
    """Queue events, and mails for reversals, in the caller's transaction and as its last step."""
    for payment in reversed_:
        _mail(payment, now)
    events = [*_events(reversed_, REVERSED, now), *_events(returned, RETURNED, now)]
    publish(events, now=now)


def _events(payments: Iterable[X402Payment], what: str, now: datetime) -> Iterable[NewEvent]:
    for payment in payments:
        yield NewEvent(
            merchant_id=payment.merchant_id,
            mode=Mode(payment.mode),
            type=what,
            subject_id=payment.public_id,
            # It may disappear and return more than once.
            occurrence=f"{payment.public_id}:{what}:{iso(now)}",
            data=json.dumps(payment_payload(payment)),
        )


def _mail(payment: X402Payment, now: datetime) -> None:
    mail_owners(
        payment.merchant_id,
        key=f"x402-reversed:{payment.public_id}:{iso(now)}",
        subject=f"The network reversed a machine's payment: {payment.public_id}",
        text=_TEXT.format(
            id=payment.public_id,
            amount=format_units(payment.units),
            token=payment.token,
            chain=chain_spec(payment.chain).title,
            tx_hash=payment.tx_hash,
            resource=payment.resource or "a resource without a name",
        ),
        now=now,
    )
