"""Approvals: who may approve a payout, how many people it takes, and what voids an approval."""

from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import Membership, Merchant, User
from accounts.states import Mode, Role
from gateway.core.api.errors import ConflictError, RoleError
from gateway.core.money import from_units
from gateway.core.texts import pgettext_noop
from payouts.errors import PayoutStateError
from payouts.events import News, tell
from payouts.lifecycle.recipients import ask_again
from payouts.lifecycle.service import locked_payout
from payouts.lifecycle.sources import is_usd
from payouts.models import Payout, PayoutApproval
from payouts.outflows.lost_outflows import lost_outflows
from payouts.states import PayoutStatus
from wallets.models import WatchedWallet
from wallets.networks import six_decimals
from wallets.watched.service import expect_payouts

CHANGED: Final = pgettext_noop("team", "The address has changed since you looked. Check it, and approve again.")
OWN: Final = pgettext_noop("team", "You asked for this payout. Above your limit, two other people approve it.")
_LOST: Final = pgettext_noop(
    "team",
    "Your wallet may have paid this already, in the time that a restore from backup lost. Look at that payment, and decide again.",
)
LEARNED: Final = pgettext_noop(
    "team", "Its network says something about this address that you have not seen. Read it, and approve again."
)
OBJECTED: Final = pgettext_noop("team", "{objection} Change it, or cancel this payout.")
_NOT_YOURS: Final = pgettext_noop("team", "Your role may not approve payouts.")


def approver_roles(merchant: Merchant) -> tuple[Role, ...]:
    """Return the roles that may approve a merchant's payouts."""
    return (Role.OWNER, Role.ADMIN) if merchant.admins_approve else (Role.OWNER,)


def is_approver(merchant: Merchant, person: User) -> bool:
    """Return whether a person may approve a merchant's payouts."""
    return Membership.objects.filter(merchant=merchant, user=person, role__in=approver_roles(merchant)).exists()


def needed_approvals(payout: Payout) -> int:
    """Return how many people must approve a payout: two where its merchant wants that and it is worth more than the limit.

    A token without a known price counts as worth more. The payout's merchant is loaded.
    """
    if payout.merchant.payout_approvals == 1:
        return 1
    worth = from_units(six_decimals(payout.chain, payout.token, int(payout.units)))
    is_small = is_usd(payout.chain, payout.token) and worth <= Decimal(payout.merchant.payout_second_above)
    return 1 if is_small else 2


def standing_approvals(payout: Payout) -> "QuerySet[PayoutApproval]":
    """Return the approvals of the present address by people who may still approve: a member who left does not count.

    Nor does the asker's where two other people approve, which it may have taken only since; nor an approval by somebody who did not see
    that the payout may have been paid in a time that a restore lost. The payout's merchant is loaded.
    """
    members = Membership.objects.filter(merchant=payout.merchant_id, role__in=approver_roles(payout.merchant))
    found = payout.approvals.filter(revision=payout.revision, user__in=members.values("user"))
    if payout.requested_by_id is not None and needed_approvals(payout) > 1:
        found = found.exclude(user=payout.requested_by_id)
    lost = [outflow.pk for outflow in lost_outflows(payout)]
    return found.filter(despite__contains=lost) if lost else found


def approve_payout(
    payout: Payout, *, revision: int, despite: Collection[str] = (), actor: Actor, now: datetime
) -> Payout:
    """Approve one address of a payout as a person; return the payout, `approved` once enough people did.

    Its chain is asked first what the address is, unless it said so before: hold no transaction. `revision` is that of the address that
    the person saw, `despite` the public ids of the lost outflows that the person saw. Who approved before approves once. Raises
    ConflictError (state_conflict) where another address took its place, its chain objects to it or warns of what the person did not
    see, nothing waits for approval, an outflow may have paid it that the person did not see, or the asker approves above the limit,
    and RoleError.
    """
    learned = ask_again([payout], now=now)
    return _approve(payout, revision, despite, actor, now, is_learned=payout.pk in learned)


@transaction.atomic
def _approve(
    payout: Payout, revision: int, despite: Collection[str], actor: Actor, now: datetime, *, is_learned: bool
) -> Payout:
    held = locked_payout(payout)
    require_approver(held.merchant, actor.person)
    if is_learned and not held.objection:
        raise ConflictError(LEARNED)
    if approve_locked(held, revision=revision, despite=despite, actor=actor, now=now):
        tell(held, News.APPROVED, now=now)
    return held


def require_approver(merchant: Merchant, person: User) -> None:
    """Raise RoleError for a person who may not approve a merchant's payouts."""
    if not is_approver(merchant, person):
        raise RoleError(_NOT_YOURS)


def is_own(payout: Payout, person: User) -> bool:
    """Return whether a person asked for a payout that two other people must approve. The payout's merchant is loaded."""
    return payout.requested_by_id == person.pk and needed_approvals(payout) > 1


def approve_locked(held: Payout, *, revision: int, despite: Collection[str] = (), actor: Actor, now: datetime) -> bool:
    """Write an approver's approval of a locked payout, its merchant loaded; return whether it is `approved` by that.

    The caller publishes what is approved, last in its transaction. Raises ConflictError as `approve_payout` does, with nothing written.
    """
    person = actor.person
    if held.status not in (PayoutStatus.REQUESTED, PayoutStatus.APPROVED):
        raise PayoutStateError(PayoutStateError.DECIDED, held.kind, held.status)
    if held.objection:
        raise ConflictError(OBJECTED, values={"objection": held.objection})
    if held.revision != revision:
        raise ConflictError(CHANGED)
    if is_own(held, person):
        raise ConflictError(OWN)
    lost = lost_outflows(held)
    if {outflow.public_id for outflow in lost} - {*despite}:
        raise ConflictError(_LOST)
    if not _write(held, person, [outflow.pk for outflow in lost], now):
        return False
    needed = needed_approvals(held)
    after: dict[str, Any] = {"address": held.address, "revision": revision, "needed": needed}
    if lost:
        after["despite"] = [outflow.tx_hash for outflow in lost]
    record(held.merchant, action="payout.approved", actor=actor, object_id=held.public_id, after=after, now=now)
    if held.status != PayoutStatus.REQUESTED or standing_approvals(held).count() < needed:
        return False
    held.status, held.approved_at = PayoutStatus.APPROVED, now
    held.save(update_fields=["status", "approved_at"])
    return True


def _write(payout: Payout, person: User, seen: list[int], now: datetime) -> bool:
    """Write an approval; return False if the person approved before, having seen as much.

    The database refuses one of an address that is no longer the payout's: ConflictError.
    """
    try:
        with transaction.atomic():
            PayoutApproval.objects.create(
                payout=payout, revision=payout.revision, user=person, approved_at=now, despite=seen
            )
    except IntegrityError as error:
        if "payout_approved_once" not in str(error):
            raise ConflictError(CHANGED) from error
        mine = PayoutApproval.objects.filter(payout=payout, revision=payout.revision, user=person)
        blind = mine.exclude(despite__contains=seen) if seen else mine.none()
        return bool(blind.update(despite=seen, approved_at=now))
    return True


@transaction.atomic
def recheck_approval(payout: Payout, *, now: datetime) -> Payout:
    """Return a payout to those who approve if too few of its approvals still count; return it as it is then.

    Whoever hands payouts out to be signed calls this first.
    """
    held = locked_payout(payout)
    if held.status == PayoutStatus.APPROVED and standing_approvals(held).count() < needed_approvals(held):
        held.status, held.approved_at = PayoutStatus.REQUESTED, None
        held.save(update_fields=["status", "approved_at"])
        after = {"address": held.address, "revision": held.revision}
        record(
            held.merchant, action="payout.approval_void", actor=SYSTEM, object_id=held.public_id, after=after, now=now
        )
    return held


@transaction.atomic
def void_approvals(*, now: datetime) -> int:
    """Void all approvals of unpaid payouts, whose later changes a restore from backup lost; return how many payouts there were.

    What was approved keeps its `approved_at`: an outflow that fits pays it all the same. What was handed out stays `sending`.
    """
    unpaid = Payout.objects.filter(status__in=(PayoutStatus.REQUESTED, PayoutStatus.APPROVED, PayoutStatus.SENDING))
    merchants = list(unpaid.order_by().values_list("merchant", flat=True).distinct())
    approved = unpaid.filter(status=PayoutStatus.APPROVED).values_list("pk", flat=True)
    back = [one.pk for one in Payout.objects.locked().filter(pk__in=list(approved))]
    count = unpaid.update(revision=F("revision") + 1)
    Payout.objects.filter(pk__in=back, status=PayoutStatus.APPROVED).update(status=PayoutStatus.REQUESTED)
    paying = WatchedWallet.objects.filter(merchant__in=merchants, mode=Mode.LIVE, removed_at=None)
    # A rescan brings what left them in the lost time.
    expect_payouts(paying.values_list("pk", flat=True), until=now)
    return count
