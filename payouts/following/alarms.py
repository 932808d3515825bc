"""Mails to owners about outflows that are not as they should be: reversed, sent twice, elsewhere, after the end, or another amount."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import pgettext, pgettext_lazy

from accounts.states import Mode
from accounts.team.service import mail_owners
from gateway.core.money import format_units
from gateway.core.texts import Lazy
from payouts.models import Payout
from payouts.states import PayoutKind
from wallets.models import WatchedMovement
from wallets.networks import chain_spec
from wallets.states import Direction


@dataclass(frozen=True, slots=True)
class Alarm:
    """What happened, as the mail's key says it, and the mail's subject and text. `note` says it without an address, for notices."""

    name: str
    what: str
    subject: Lazy
    note: Lazy
    text: Lazy


def _kind_word(kind: str) -> str:
    if not kind:
        return pgettext("team", "refund or payout")
    return str(PayoutKind(kind).label).lower()


_kind = lazy(_kind_word, str)


REVERSED: Final = Alarm(
    "reversed",
    "reversed",
    pgettext_lazy("team", "A {kind} was reversed: {amount}"),
    pgettext_lazy("team", "The network took it back after it was final. Look at your wallet before you send it again."),
    pgettext_lazy(
        "team",
        """\
{amount} to {address} on {chain} were final, and the network reversed them since. The {kind} {payout} counts as paid, but the money
is in your wallet again, unless the transaction returns:

  {tx_hash}

Florin never sends it again. Look at the wallet before you do.
{url}
""",
    ),
)
PAID_TWICE: Final = Alarm(
    "twice",
    "paid twice",
    pgettext_lazy("team", "A {kind} was paid twice: {amount}"),
    pgettext_lazy("team", "This amount left your wallet once more than you owed. Only the recipient can return it."),
    pgettext_lazy(
        "team",
        """\
{amount} to {address} on {chain} left your wallet once more than you owed. The {kind} {payout} was paid before. This is the second
transaction:

  {tx_hash}

Only the recipient can return it.
{url}
""",
    ),
)
OTHER_AMOUNT: Final = Alarm(
    "amount",
    "sent with another amount",
    pgettext_lazy("team", "A {kind} was sent with another amount: {amount}"),
    pgettext_lazy("team", "If it was meant to pay what you owe, accept it there. Else that still waits to be paid."),
    pgettext_lazy(
        "team",
        """\
{amount} to {address} on {chain} left your wallet. It was asked to pay the {kind} {payout} to this address, which is another amount.
This is the transaction:

  {tx_hash}

If it was meant to pay the {kind}, accept it on its page. Else the {kind} still waits to be paid.
{url}
""",
    ),
)
SENT_CANCELLED: Final = Alarm(
    "cancelled",
    "sent after you cancelled it",
    pgettext_lazy("team", "A {kind} was sent after you cancelled it: {amount}"),
    pgettext_lazy("team", "If you did not owe it, only the recipient can return it."),
    pgettext_lazy(
        "team",
        """\
{amount} to {address} on {chain} left your wallet for the {kind} {payout}, which was cancelled. Somebody paid a list or file that it
was in. This is the transaction:

  {tx_hash}

The {kind} stays cancelled. If you owed this money, do not pay it again. If you did not, only the recipient can return it.
{url}
""",
    ),
)
SENT_ELSEWHERE: Final = Alarm(
    "elsewhere",
    "sent to an address from before",
    pgettext_lazy("team", "A {kind} was sent to an address that it no longer has: {amount}"),
    pgettext_lazy("team", "If that recipient was right, do not pay it again. Else only the recipient can return it."),
    pgettext_lazy(
        "team",
        """\
{amount} to {address} on {chain} left your wallet for the {kind} {payout}, which goes to another address since. Somebody paid a list or
file from before. This is the transaction:

  {tx_hash}

It does not count for the {kind}. If this recipient was right and the {kind} is not paid yet, cancel it. Else only the recipient can return
the money.
{url}
""",
    ),
)

ALARMS: Final = {alarm.what: alarm for alarm in (REVERSED, PAID_TWICE, OTHER_AMOUNT, SENT_CANCELLED, SENT_ELSEWHERE)}
"""The alarms by what happened, which stands in the keys of their mails."""
ALARM_MAIL: Final = "payout:"
"""The prefix of the mails' keys: the outflow, what happened, its block, and the owner follow, between colons."""


def subject_of(alarm: Alarm, movement: WatchedMovement, kind: str) -> Lazy:
    """Return what happened to a payout of a kind, and how much left the wallet; `kind` is "" where the payout is not known."""
    amount = f"{format_units(int(movement.units), movement.decimals)} {movement.token}"
    return format_lazy(alarm.subject, kind=_kind(kind), amount=amount)


def mail_alarm(payout: Payout, movement: WatchedMovement, alarm: Alarm, *, now: datetime) -> None:
    """Mail the owners about real money, once for each block that has it."""
    if payout.mode != Mode.LIVE:
        return
    amount = f"{format_units(int(movement.units), movement.decimals)} {movement.token}"
    mail_owners(
        payout.merchant_id,
        # A transaction may return, and be reversed again.
        key=f"{ALARM_MAIL}{movement.public_id}:{alarm.what}:{movement.block_hash[-16:]}",
        subject=subject_of(alarm, movement, payout.kind),
        text=format_lazy(
            alarm.text,
            kind=_kind(payout.kind),
            amount=amount,
            address=movement.counterparty if movement.direction == Direction.OUT else payout.address,
            chain=chain_spec(movement.chain).title,
            tx_hash=movement.tx_hash,
            payout=payout.public_id,
            url=f"{settings.BASE_URL}/dashboard/",
        ),
        now=now,
    )
