"""How many people must approve a merchant's payouts, and who. Stricter rules hold at once; looser ones wait, against thieves."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Self

from django.db import transaction
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import pgettext, pgettext_lazy

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.team.service import mail_owners
from gateway.core.api.errors import InvalidRequestError
from gateway.core.money import format_usd
from gateway.core.texts import pgettext_noop

MOST_ABOVE: Final = Decimal(10**12)
"""The largest limit in USD."""

_LOOSER: Final = pgettext_lazy(
    "team",
    """The rules for approving payouts of {merchant} become looser: {wanted}.
{actor} asked for that. It takes effect at {at:%Y-%m-%d %H:%M} UTC.

If you did not expect this, set the rules again in the dashboard under Approvals: the change is off then. Any owner can do so.
""",
)
_PENDING: Final = ("next_payout_rules", "next_payout_rules_at")


@dataclass(frozen=True, slots=True)
class PayoutRules:
    """Above `second_above` USD a payout takes so many `approvals` of different people, below it one."""

    approvals: int
    second_above: Decimal
    admins_approve: bool

    @classmethod
    def of(cls, merchant: Merchant) -> Self:
        """Return the rules that hold now."""
        return cls(merchant.payout_approvals, Decimal(merchant.payout_second_above), merchant.admins_approve)

    @classmethod
    def next_of(cls, merchant: Merchant) -> Self | None:
        """Return the looser rules that wait, or None."""
        if merchant.next_payout_rules is None:
            return None
        stored: dict[str, Any] = merchant.next_payout_rules
        return cls(stored["approvals"], Decimal(stored["second_above"]), stored["admins_approve"])

    def as_stored(self) -> dict[str, Any]:
        """Return the rules as JSON."""
        return asdict(self) | {"second_above": format_usd(self.second_above)}

    def is_looser_than(self, others: "PayoutRules") -> bool:
        """Return whether some payout that the other rules stop could pass these."""
        is_higher = self.second_above > others.second_above and others.approvals > 1
        return self.approvals < others.approvals or is_higher or (self.admins_approve and not others.admins_approve)

    def __str__(self) -> str:
        """Return the rules as a sentence's end."""
        who = (
            pgettext("team", "owners and admins approve") if self.admins_approve else pgettext("team", "owners approve")
        )
        limit = format_usd(self.second_above)
        if self.approvals == 1:
            return pgettext("team", "{who}, one for each payout").format(who=who)
        return pgettext("team", "{who}, two of them above {limit} USD").format(who=who, limit=limit)


_in_words = lazy(str, str)


@transaction.atomic
def set_payout_rules(merchant: Merchant, rules: PayoutRules, *, now: datetime, actor: Actor = SYSTEM) -> Merchant:
    """Set the rules: at once, or, if they are looser, after the wait of wallet changes and with a mail to owners.

    Setting the present rules cancels looser ones that wait. Raises InvalidRequestError.
    """
    if rules.approvals not in (1, 2):
        raise InvalidRequestError(pgettext_noop("team", "One or two people approve."), param="approvals")
    if not 0 <= rules.second_above <= MOST_ABOVE:
        raise InvalidRequestError(
            pgettext_noop("team", "The limit must be from 0 to {most}."),
            param="second_above",
            values={"most": MOST_ABOVE},
        )
    merchant = Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    before = _told(merchant)
    if merchant.wallet_change_hours and rules.is_looser_than(PayoutRules.of(merchant)):
        if rules != PayoutRules.next_of(merchant):
            _plan(merchant, rules, now)
            _tell(merchant, rules, now, actor)
    else:
        _set(merchant, rules)
    if _told(merchant) != before:
        _audit(merchant, "merchant.payout_rules_set", before, now, actor)
    return merchant


def apply_payout_rules(*, now: datetime) -> int:
    """Let the due looser rules take effect; return how many."""
    due = Merchant.objects.filter(next_payout_rules_at__lte=now)
    return sum(_apply(pk, now) for pk in list(due.values_list("pk", flat=True)))


@transaction.atomic
def _apply(merchant_id: int, now: datetime) -> bool:
    merchant = Merchant.objects.select_for_update(no_key=True).get(pk=merchant_id)
    rules, planned_at = PayoutRules.next_of(merchant), merchant.next_payout_rules_at
    if rules is None or planned_at is None or planned_at > now:
        return False
    before = _told(merchant)
    _set(merchant, rules)
    _audit(merchant, "merchant.payout_rules_applied", before, now, SYSTEM)
    return True


def _set(merchant: Merchant, rules: PayoutRules) -> None:
    merchant.payout_approvals = rules.approvals
    merchant.payout_second_above = rules.second_above
    merchant.admins_approve = rules.admins_approve
    merchant.next_payout_rules = merchant.next_payout_rules_at = None
    merchant.save(update_fields=["payout_approvals", "payout_second_above", "admins_approve", *_PENDING])


def _plan(merchant: Merchant, rules: PayoutRules, now: datetime) -> None:
    merchant.next_payout_rules = rules.as_stored()
    merchant.next_payout_rules_at = now + timedelta(hours=merchant.wallet_change_hours)
    merchant.save(update_fields=_PENDING)


def _told(merchant: Merchant) -> dict[str, Any]:
    """Return what the audit log keeps of the rules."""
    told = PayoutRules.of(merchant).as_stored()
    if at := merchant.next_payout_rules_at:
        told |= {"next": merchant.next_payout_rules, "from": at.isoformat(timespec="seconds")}
    return told


def _audit(merchant: Merchant, action: str, before: dict[str, Any], now: datetime, actor: Actor) -> None:
    after = _told(merchant)
    record(merchant, action=action, actor=actor, object_id=merchant.public_id, before=before, after=after, now=now)


def _tell(merchant: Merchant, rules: PayoutRules, now: datetime, actor: Actor) -> None:
    mail_owners(
        merchant.pk,
        key=f"payout-rules:{merchant.pk}:{now.timestamp():.6f}",
        subject=format_lazy(
            pgettext_lazy("team", "Payouts of {merchant} will be approved by looser rules"), merchant=merchant.name
        ),
        text=format_lazy(
            _LOOSER,
            merchant=merchant.name,
            wanted=_in_words(rules),
            actor=actor.name if actor.user else pgettext_lazy("team", "Somebody"),
            at=merchant.next_payout_rules_at or now,
        ),
        now=now,
    )
