"""The notices about refunds and payouts that wait for the person."""

from typing import Final, NamedTuple

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext, gettext_noop

from accounts.team.access import Seat
from accounts.team.permissions import Act
from checkouts.dashboard.attention import DashboardNotice
from payouts.models import Payout, PayoutApproval
from payouts.states import PayoutKind, PayoutStatus

_MOST_COUNTED: Final = 100


class _NoticeWords(NamedTuple):
    """What a notice says in English: of one refund, of one payout, of many, of more than are counted."""

    refund: str
    payout: str
    many: str
    more: str
    advice: str
    one_label: str
    label: str


_TO_APPROVE: Final = _NoticeWords(
    gettext_noop("1 refund waits for your approval."),
    gettext_noop("1 payout waits for your approval."),
    gettext_noop("%(count)s refunds and payouts wait for your approval."),
    gettext_noop("%(count)s or more refunds and payouts wait for your approval."),
    gettext_noop("Compare the address before you approve."),
    gettext_noop("Review it"),
    gettext_noop("Review them"),
)
_TO_PAY: Final = _NoticeWords(
    gettext_noop("1 refund waits to be paid."),
    gettext_noop("1 payout waits to be paid."),
    gettext_noop("%(count)s refunds and payouts wait to be paid."),
    gettext_noop("%(count)s or more refunds and payouts wait to be paid."),
    gettext_noop("You pay from your own wallet."),
    gettext_noop("Pay it"),
    gettext_noop("Pay them"),
)


def payout_notices(seat: Seat) -> list[DashboardNotice]:
    """Return what waits for the person: refunds and payouts that they may approve and did not yet, and those to pay."""
    mine = Payout.objects.of(seat.merchant.pk, seat.mode)
    found = []
    if seat.can(Act.APPROVE_PAYOUTS):
        unseen = mine.filter(status=PayoutStatus.REQUESTED).exclude(
            Exists(PayoutApproval.objects.filter(payout=OuterRef("pk"), revision=OuterRef("revision"), user=seat.user))
        )
        found.append(_notice(seat, unseen, _TO_APPROVE))
    if seat.can(Act.REQUEST_PAYOUTS):
        approved = mine.filter(status=PayoutStatus.APPROVED)
        found.append(_notice(seat, approved, _TO_PAY, tab="?status=pay"))
    return [notice for notice in found if notice is not None]


def _notice(seat: Seat, waiting: QuerySet[Payout], words: _NoticeWords, *, tab: str = "") -> DashboardNotice | None:
    """Return the notice about payouts that wait, which leads to the only one; None where none does."""
    rows = list(waiting.order_by()[: _MOST_COUNTED + 1])
    if not rows:
        return None
    if len(rows) == 1:
        heading = words.refund if rows[0].kind == PayoutKind.REFUND else words.payout
        address, label = seat.url("dashboard_payout", payout_id=rows[0].public_id), words.one_label
    else:
        heading = words.more if len(rows) > _MOST_COUNTED else words.many
        address, label = f"{seat.url('dashboard_payouts')}{tab}", words.label
    count = min(len(rows), _MOST_COUNTED)
    return DashboardNotice(gettext(heading) % {"count": count}, gettext(words.advice), address, gettext(label), "warn")
