"""The onboarding steps before a merchant's first real payment."""

from dataclasses import dataclass
from typing import NamedTuple

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.urls import reverse

from accounts.models import ApiKey
from accounts.states import Mode
from accounts.team.access import Seat
from accounts.team.permissions import Act
from checkouts.models import CheckoutCount
from checkouts.states import CheckoutStatus
from wallets.models import ReceivingWallet
from webhooks.models import Endpoint


class _Task(NamedTuple):
    """A step: whether it is done, and the page to do it on."""

    label: str
    words: str
    is_done: bool
    url: str


@dataclass(frozen=True, slots=True)
class Onboarding:
    """The steps, in order."""

    tasks: tuple[_Task, ...]

    @property
    def done(self) -> int:
        """How many are done."""
        return sum(task.is_done for task in self.tasks)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.done == len(self.tasks)


def onboarding_of(seat: Seat) -> Onboarding | None:
    """Return the onboarding steps; None if all are done, or the person may do none of them."""
    if not seat.can(Act.RUN_PAYMENTS):
        return None
    found = Onboarding((*_account(seat), *_payments(seat), *_safety(seat)))
    return None if found.is_over else found


def _account(seat: Seat) -> list[_Task]:
    emails = EmailAddress.objects.filter(user=seat.user, verified=True)
    return [
        _Task(
            "Name your business",
            "Buyers see it when they pay.",
            bool(seat.merchant.name),
            seat.url("dashboard_overview"),
        ),
        _Task(
            "Verify your e-mail address",
            "We send important notices there.",
            emails.exists(),
            reverse("account_security"),
        ),
    ]


def _payments(seat: Seat) -> list[_Task]:
    wallets = ReceivingWallet.objects.of_checkouts().filter(merchant=seat.merchant, retired_at=None)
    keys = ApiKey.objects.filter(merchant=seat.merchant, revoked_at=None)
    paid = CheckoutCount.objects.filter(
        merchant=seat.merchant, mode=Mode.TEST, status=CheckoutStatus.COMPLETED, value__gt=0
    )
    in_test = {"mer_id": seat.merchant.public_id, "mode": Mode.TEST}
    return [
        _Task(
            "Set a receiving wallet",
            "Buyers' money goes there and nowhere else.",
            wallets.exists(),
            seat.url("dashboard_receiving_wallets"),
        ),
        _Task(
            "Create an API key",
            "Your shop's server creates checkouts with it.",
            keys.exists(),
            seat.url("dashboard_keys"),
        ),
        _Task(
            "Complete a test checkout",
            "It is paid automatically after five seconds.",
            paid.exists(),
            reverse("dashboard_new_checkout", kwargs=in_test),
        ),
    ]


def _safety(seat: Seat) -> list[_Task]:
    endpoints = Endpoint.objects.filter(merchant=seat.merchant, is_default=True)
    factors = Authenticator.objects.filter(user=seat.user).exclude(type=Authenticator.Type.RECOVERY_CODES)
    return [
        _Task(
            "Set a webhook URL",
            "Florin tells your shop there when a checkout is paid.",
            endpoints.exists(),
            seat.url("dashboard_webhooks"),
        ),
        _Task(
            "Switch on a second factor",
            "A passkey, or codes from an app, beside your password.",
            factors.exists(),
            reverse("account_security"),
        ),
    ]
