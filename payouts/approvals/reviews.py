"""Many payouts that one person approves at once: what is listed, what is left out and why, and the approval of the list.

Each approval is a row of its own, of the address that was listed. What changed since is left out, and the others are approved.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Concat, Left, Lower, Right
from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant, User
from accounts.states import Mode
from accounts.team.service import mail_owners
from gateway.core.api.errors import ConflictError, InvalidRequestError, NotFoundError
from gateway.core.money import readable_units
from gateway.core.texts import pgettext_noop
from payouts.approvals.service import CHANGED, LEARNED, OBJECTED, OWN, approve_locked, is_own, require_approver
from payouts.events import News, tell_each
from payouts.lifecycle.recipients import LIST_SECONDS, ask_again
from payouts.models import Payout, PayoutApproval, PayoutSource
from payouts.outflows.lost_outflows import with_lost_outflows
from payouts.states import SHOWN_DIGITS, PayoutStatus
from wallets.networks import chain_title, decimals_of
from wallets.states import TransferState

MOST_AT_ONCE: Final = 100
"""How many payouts a list has at most: as many as a person reads, and as a request approves in a few seconds."""
LOOK_ALIKES_OF: Final = timedelta(days=90)
_ENDS: Final = 4
_PREFIX: Final = "0x"

_NO_ADDRESS: Final = pgettext_noop("team", "Its address is not known yet.")
_NOT_WAITING: Final = pgettext_noop("team", "It no longer waits for approval.")
_DONE: Final = pgettext_noop("team", "You approved it already. It waits for another person.")
_GONE: Final = pgettext_noop("team", "The network took back the payment that it returns.")
_LOST: Final = pgettext_noop(
    "team", "Your wallet may have paid it in a time that a restore from backup lost. Decide about it on its page."
)
_ALIKE: Final = pgettext_noop(
    "team",
    "Its address begins and ends like another one of yours. Compare every character on its page, and approve it there.",
)
_TOO_MANY: Final = pgettext_noop("team", "Choose from 1 to {most} payouts.")
_OTHER_LIST: Final = pgettext_noop("team", "This is not the list that you saw. Open it again, and compare it.")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A payout that a list leaves out, and a sentence that says why."""

    payout: Payout
    why: str


@dataclass(frozen=True, slots=True)
class Review:
    """What of some payouts a person may approve at once, and what is left out."""

    listed: list[Payout]
    left_out: list[LeftOut]

    @property
    def digest(self) -> str:
        """The digest of the list: people compare its first digits."""
        return digest_of(self.listed)


@dataclass(frozen=True, slots=True)
class Approved:
    """What became of a list: payouts that are approved now, those that wait for one more person, and what was left out."""

    approved: list[Payout]
    waiting: list[Payout]
    left_out: list[LeftOut]


def digest_of(payouts: Iterable[Payout]) -> str:
    """Return the SHA-256 over payouts' ids, revisions, networks, tokens, addresses and base units, in hexadecimal."""
    lines = sorted(
        f"{one.public_id},{one.revision},{one.chain},{one.token},{one.address},{int(one.units)}" for one in payouts
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def review(payouts: Sequence[Payout], person: User, *, now: datetime) -> Review:
    """Return what of payouts of one merchant and mode an approver may approve at once, in their order. Their merchant is loaded.

    A look-alike of another address, and what a lost time may have paid, are decided about alone, on their own pages.
    """
    reasons = _reasons(payouts, person, now)
    listed = [one for one in payouts if one.pk not in reasons]
    return Review(listed, [LeftOut(one, reasons[one.pk]) for one in payouts if one.pk in reasons])


def approve_list(
    merchant: Merchant, mode: Mode, shown: Mapping[str, int], *, digest: str, actor: Actor, now: datetime
) -> Approved:
    """Approve the payouts of a list that a person saw: `shown` has the revision of each by its public id, `digest` is the list's.

    Chains are asked first what addresses are of which they said nothing: hold no transaction. What changed since, or may not be approved
    at once any more, is left out with the reason. All is written in one transaction, with an audit entry of each and of the list, and
    owners get one mail. Raises RoleError, InvalidRequestError for an empty list or a long one, NotFoundError for what this merchant does
    not have in this mode, and ConflictError if the list is not the one with the digest.
    """
    if not 0 < len(shown) <= MOST_AT_ONCE:
        raise InvalidRequestError(_TOO_MANY, param="payouts", values={"most": MOST_AT_ONCE})
    require_approver(merchant, actor.person)
    listed = Payout.objects.of(merchant.pk, mode).filter(public_id__in=shown).order_by("pk")
    learned = ask_again(listed, seconds=LIST_SECONDS, now=now)
    return _approve_list(merchant, mode, shown, digest, learned, actor=actor, now=now)


@transaction.atomic
def _approve_list(
    merchant: Merchant,
    mode: Mode,
    shown: Mapping[str, int],
    digest: str,
    learned: Collection[int],
    *,
    actor: Actor,
    now: datetime,
) -> Approved:
    person = actor.person
    # All locks before the first event: counters of events are locked after payouts.
    mine = Payout.objects.of(merchant.pk, mode).filter(public_id__in=shown).select_related("merchant")
    held = list(mine.locked())
    if len(held) != len(shown):
        raise NotFoundError(pgettext_noop("team", "Some of these payouts do not exist."), param="payouts")
    changed = {one.pk for one in held if one.revision != shown[one.public_id]}
    if not changed and digest_of(held) != digest:
        raise ConflictError(_OTHER_LIST)
    reasons = _reasons(held, person, now) | _changes(held, changed, learned)
    again = _approved_before(held, person) - changed
    approved: list[Payout] = []
    waiting: list[Payout] = []
    fresh: list[Payout] = []
    for one in held:
        if one.pk not in again:
            if one.pk in reasons:
                continue
            try:
                approve_locked(one, revision=shown[one.public_id], actor=actor, now=now)
            except ConflictError as error:
                reasons[one.pk] = error.message
                continue
            fresh.append(one)
        (waiting if one.status == PayoutStatus.REQUESTED else approved).append(one)
    left_out = [LeftOut(one, reasons[one.pk]) for one in held if one.pk in reasons and one.pk not in again]
    done = Approved(approved, waiting, left_out)
    if fresh:
        _tell(merchant, mode, fresh, len(left_out), actor=actor, now=now)
    tell_each([one for one in fresh if one.status == PayoutStatus.APPROVED], News.APPROVED, now=now)
    return done


def _changes(held: Iterable[Payout], changed: Collection[int], learned: Collection[int]) -> dict[int, str]:
    """Return why payouts are left out that are not as they were shown, by their keys."""
    of = [one for one in held if one.pk in changed]
    return {one.pk: _objection_to(one) or (LEARNED if one.pk in learned else CHANGED) for one in of}


def _objection_to(payout: Payout) -> str:
    return OBJECTED.format(objection=payout.objection) if payout.objection else ""


def _approved_before(held: Sequence[Payout], person: User) -> set[int]:
    """Return the keys of payouts that stand and whose present address a person approved before: the form was sent twice."""
    standing = [one.pk for one in held if one.status not in (PayoutStatus.CANCELLED, PayoutStatus.EXPIRED)]
    mine = PayoutApproval.objects.filter(payout__in=standing, user=person, revision=F("payout__revision"))
    return set(mine.values_list("payout", flat=True))


def look_alikes(payouts: Iterable[Payout], *, now: datetime) -> dict[int, list[str]]:
    """Return other addresses of the last 90 days' payouts that begin and end as those of some payouts do, by the payouts' keys.

    That is a way to slip in a thief's address: people compare the ends. The payouts are of one merchant and mode.
    """
    asked = {one.pk: one for one in payouts}
    keys = {one.pk: key for one in asked.values() if (key := _ends_of(one.address))}
    if not keys:
        return {}
    first = next(iter(asked.values()))
    others = Payout.objects.of(first.merchant_id, first.mode).filter(created_at__gt=now - LOOK_ALIKES_OF)
    wanted = set(keys.values())
    ends = Right("address", _ENDS)
    alike = others.exclude(address="").annotate(
        bare=Lower(Concat(Left("address", _ENDS), ends)),
        prefixed=Lower(Concat(Left("address", len(_PREFIX) + _ENDS), ends)),
    )
    found: dict[str, set[str]] = defaultdict(set)
    rows = alike.filter(Q(bare__in=wanted) | Q(prefixed__in=wanted))
    for address in rows.order_by().values_list("address", flat=True).distinct():
        found[_ends_of(address)].add(address)
    told = {pk: sorted(found[key] - {asked[pk].address}) for pk, key in keys.items()}
    return {pk: addresses for pk, addresses in told.items() if addresses}


def _ends_of(address: str) -> str:
    """Return what people compare of an address, in lower case; empty for one without a middle."""
    bare = address.removeprefix(_PREFIX)
    if len(bare) < 2 * _ENDS:
        return ""
    return (address[: len(address) - len(bare) + _ENDS] + bare[-_ENDS:]).lower()


def _reasons(payouts: Sequence[Payout], person: User, now: datetime) -> dict[int, str]:
    """Return why payouts are left out, by their keys: the first reason of each that applies."""
    waiting = [one for one in payouts if one.status == PayoutStatus.REQUESTED]
    keys = [one.pk for one in waiting]
    gone = PayoutSource.objects.filter(payout__in=keys, transfer__state=TransferState.ORPHANED)
    reasons = {one.pk: _NOT_WAITING for one in payouts if one.status != PayoutStatus.REQUESTED}
    reasons |= {one.pk: _NO_ADDRESS for one in payouts if one.status == PayoutStatus.OPEN}
    reasons |= {one.pk: why for one in waiting if (why := _objection_to(one))}
    found: list[tuple[Iterable[int], str]] = [
        (gone.values_list("payout", flat=True), _GONE),
        ((one.pk for one in waiting if is_own(one, person)), OWN),
        (with_lost_outflows(waiting), _LOST),
        (_approved_before(waiting, person), _DONE),
        (look_alikes(waiting, now=now), _ALIKE),
    ]
    for some, why in found:
        for pk in some:
            reasons.setdefault(pk, why)
    return reasons


def sums_of(payouts: Iterable[Payout]) -> list[tuple[str, str]]:
    """Return the sums of payouts for people, and their networks, one for each network and token: "250.00 USDC" and "Base"."""
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for one in payouts:
        sums[one.chain, one.token] += int(one.units)
    return [
        (f"{readable_units(units, decimals_of(chain, token))} {token}", chain_title(chain))
        for (chain, token), units in sorted(sums.items())
    ]


def _tell(
    merchant: Merchant, mode: Mode, fresh: Sequence[Payout], left_out: int, *, actor: Actor, now: datetime
) -> None:
    """Audit the approval of a list, and mail the owners its digest; the mail is about real money only.

    The digest is of what was approved, so it is the one that was shown if nothing was left out.
    """
    sums, digest = sums_of(fresh), digest_of(fresh)
    waiting = sum(one.status == PayoutStatus.REQUESTED for one in fresh)
    after: dict[str, Any] = {
        "payouts": len(fresh),
        "sums": [f"{amount} on {network}" for amount, network in sums],
        "waiting": waiting,
        "left_out": left_out,
        "digest": digest,
    }
    record(merchant, action="payouts.approved", actor=actor, after=after, now=now)
    if mode != Mode.LIVE:
        return
    mail_owners(
        merchant.pk,
        # A list has other revisions once anything of it changed.
        key=f"payouts-approved:{digest[:32]}:{actor.person.pk}",
        subject=format_lazy(
            pgettext_lazy("team", "{count} payouts of {merchant} were approved together"),
            count=len(fresh),
            merchant=merchant.name,
        ),
        text=format_lazy(
            _MAIL,
            who=actor.name,
            count=len(fresh),
            sums=format_lazy(
                "\n".join("  {}" for _ in sums),
                *(format_lazy(_SUM, amount=amount, chain=network) for amount, network in sums),
            ),
            digest=digest[:SHOWN_DIGITS],
            url=f"{settings.BASE_URL}/dashboard/",
        ),
        now=now,
    )


_SUM: Final = pgettext_lazy("team", "{amount} on {chain}")
_MAIL: Final = pgettext_lazy(
    "team",
    """\
{who} approved {count} refunds and payouts at once:

{sums}

The digest of these begins with {digest}. The page showed the same, unless something was left out meanwhile.

Nothing is sent by that: somebody still has to pay them from your wallet. If you did not expect this, look at it now:
{url}
""",
)
