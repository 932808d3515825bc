"""What people are told of, by which way, and when; and what they are told unless they chose otherwise."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from accounts.states import Mode, Role


class Kind(TextChoices):
    """A kind of notice."""

    PAYMENT = "payment", _("Payments")
    INBOX = "inbox", _("Inbox items")
    REPORT = "report", _("Buyers' reports")
    REFUND = "refund", _("Refunds to approve")
    PAYOUT = "payout", _("Refunds and payouts sent")
    ENDPOINT = "endpoint", _("Failing webhooks")
    CHAIN = "chain", _("Network trouble")
    # Of gas accounts, which are the operator's.
    GAS = "gas", _("Low gas")


EXPLAINED: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        Kind.PAYMENT: gettext_noop("A checkout is paid."),
        Kind.INBOX: gettext_noop("Money arrived that needs a decision, or a network took money back."),
        Kind.REPORT: gettext_noop("A buyer looked up a transaction, and its money is not on the checkout."),
        Kind.REFUND: gettext_noop("A refund or payout waits for your approval."),
        Kind.PAYOUT: gettext_noop(
            "A refund or payout is paid, or went wrong: sent twice, with another amount, or taken back by the network."
        ),
        Kind.ENDPOINT: gettext_noop("A webhook endpoint does not answer, or was switched off because it did not."),
        Kind.CHAIN: gettext_noop(
            "A network is late or stopped, or its sources disagree, and orders of yours depend on it."
        ),
        Kind.GAS: gettext_noop("A gas account holds little. Operators only."),
    }
)
"""When a notice of each kind is sent."""


class Way(TextChoices):
    """How a person is told."""

    MAIL = "mail"
    PUSH = "push"


class How(TextChoices):
    """When a person is told, if at all."""

    NEVER = "never", _("Never")
    AT_ONCE = "at_once", _("At once")
    # In the mail of the next morning.
    DAILY = "daily", _("Daily")


class Service(TextChoices):
    """A chat's service. Others take the forms of the first two, such as Mattermost and Rocket.Chat Slack's."""

    SLACK = "slack", "Slack"
    DISCORD = "discord", "Discord"
    TELEGRAM = "telegram", "Telegram"


_MAILED: Final[Mapping[Kind, How]] = MappingProxyType(
    {
        Kind.PAYMENT: How.DAILY,
        Kind.INBOX: How.AT_ONCE,
        Kind.REPORT: How.DAILY,
        Kind.REFUND: How.AT_ONCE,
        Kind.PAYOUT: How.DAILY,
        Kind.ENDPOINT: How.AT_ONCE,
        Kind.CHAIN: How.AT_ONCE,
        # Operators always get a mail of low gas; it is none of these.
        Kind.GAS: How.NEVER,
    }
)


def usual(role: Role, mode: Mode, kind: Kind, way: Way) -> How:
    """Return how a person is told who chose nothing: of test mode never, and viewers by no mail.

    A browser is told of everything: somebody pressed a button there to be told.
    """
    if mode == Mode.TEST:
        return How.NEVER
    if way == Way.PUSH:
        return How.AT_ONCE
    return How.NEVER if role == Role.VIEWER else _MAILED[kind]
