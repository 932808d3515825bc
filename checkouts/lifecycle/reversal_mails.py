"""Mails to owners about completed checkouts whose payment a network reversed, or gave back."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.states import Mode
from accounts.team.service import mail_owners
from checkouts.models import Checkout
from checkouts.rows import TransferRow
from gateway.core.money import readable, readable_units
from gateway.core.texts import Lazy
from wallets.networks import chain_spec

_COMPLETED: Final = pgettext_lazy("team", "Checkout {checkout} of {price} was completed.")
_ORDER_COMPLETED: Final = pgettext_lazy("team", "Checkout {checkout} (your order {order}) of {price} was completed.")
_REVERSED: Final = pgettext_lazy(
    "team",
    """\
The network has since reversed these confirmed transfers:

{lost}
Amount received without them: {received} USD.

Its status stays completed, its exception is reversed, and your inbox shows an alert.
Hold the goods back if you still can. The money may return. We keep checking.
""",
)
_RESTORED: Final = pgettext_lazy(
    "team",
    """\
The network had reversed its payment. The money is back, and final again.

Amount received: {received} USD.

The checkout is paid. You can deliver.
""",
)


def mail_reversed(checkout: Checkout, lost: Sequence[TransferRow], now: datetime) -> None:
    """Mail the owners that a network reversed transfers of a completed checkout."""
    lines = format_lazy("{}" * len(lost), *map(_line, lost))
    words = format_lazy(_REVERSED, lost=lines, received=readable(checkout.amount_received))
    _mail(checkout, "reversed", pgettext_lazy("team", "The network reversed a payment"), words, now)


def mail_restored(checkout: Checkout, now: datetime) -> None:
    """Mail the owners that a completed checkout has all its money back."""
    words = format_lazy(_RESTORED, received=readable(checkout.amount_received))
    _mail(checkout, "restored", pgettext_lazy("team", "Payment restored"), words, now)


def _mail(checkout: Checkout, kind: str, subject: Lazy, words: Lazy, now: datetime) -> None:
    prefix = pgettext_lazy("team", "[test mode] ") if checkout.mode == Mode.TEST else ""
    was_completed = _ORDER_COMPLETED if checkout.order_ref else _COMPLETED
    mail_owners(
        checkout.merchant_id,
        key=f"{kind}:{checkout.public_id}:{checkout.event_count}",
        subject=format_lazy("{}{}: {}", prefix, subject, checkout.public_id),
        text=format_lazy(
            "{}\n{}",
            format_lazy(was_completed, checkout=checkout.public_id, order=checkout.order_ref, price=checkout.asked),
            words,
        ),
        now=now,
    )


def _line(transfer: TransferRow) -> Lazy:
    amount = f"{readable_units(transfer.units)} {transfer.token}"
    where = format_lazy(
        pgettext_lazy("team", "{amount} on {chain}"), amount=amount, chain=chain_spec(transfer.chain).title
    )
    return format_lazy("  {}\n  {}\n", where, transfer.tx_hash)
