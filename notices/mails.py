"""The mails of notices, written when they are sent: at once of one fact, or each morning of the day before.

What holds no more by then is not mailed; nor is what the person muted meanwhile.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.urls import reverse
from django.utils import timezone

from accounts.models import Membership, Merchant
from accounts.states import Mode
from checkouts.models import BuyerReport, DailyTotal, InboxItem
from checkouts.states import InboxReason
from gateway.core.money import format_usd
from gateway.status.models import Incident, IncidentKind
from mails.outbox import queue_unwritten
from mails.words import MailWords
from notices.choices import Member, choose, member_by_key, members
from notices.facts import FOUND, LASTING, SWITCHED_OFF, named
from notices.models import Pass
from notices.states import How, Kind, Way
from payouts.models import Payout
from payouts.states import PayoutStatus
from wallets.models import ReceivingWallet
from wallets.networks import chain_title
from webhooks.health import PROBATION_AFTER
from webhooks.models import Endpoint

DIGEST: Final = "digest"
"""The prefix of keys of daily mails, and the name of their pass."""
DIGEST_HOUR: Final = 6
"""When daily mails are queued, in UTC."""
EVERY_DAILY: Final = "daily"
"""In place of a kind: all kinds of the daily mail."""

_SALT: Final = "notices.mute"
_BATCH: Final = 1_000


def notice_words(subject: str) -> MailWords | None:
    """Return the mail of one fact, from the rest of its key; None if it holds no more, or the person wants none."""
    seat, mode_name, kind_name, name = subject.split(":", 3)
    mode, kind = Mode(mode_name), Kind(kind_name)
    member = member_by_key(int(seat), mode)
    if member is None or member.how(kind, Way.MAIL) != How.AT_ONCE:
        return None
    fact = named(kind, name, merchant_id=member.seat.merchant_id, mode=mode, now=timezone.now())
    if fact is None:
        return None
    merchant = member.seat.merchant
    return _words(
        member, f"{fact.title} ({merchant.name})", f"{fact.text}\n\n{fact.url(merchant.public_id)}\n", str(kind)
    )


def queue_digests(*, now: datetime) -> int:
    """Queue yesterday's mail for everybody who wants it, once a day; return how many are new. Those without news are not sent."""
    due = datetime.combine(now.date(), time(DIGEST_HOUR), UTC)
    if now < due or Pass.objects.filter(name=DIGEST, told_until__gte=due).exists():
        return 0
    day, queued, after = now.date() - timedelta(days=1), 0, 0
    while seats := list(_seats_after(after)):
        after = seats[-1].pk
        wanted = [one for mode in Mode for one in members(seats, mode) if one.kinds(How.DAILY)]
        with transaction.atomic():
            keys = [(f"{DIGEST}:{one.seat.pk}:{one.mode}:{day}", one.seat.user.email) for one in wanted]
            queued += len(queue_unwritten(keys, now=now))
    Pass.objects.update_or_create(name=DIGEST, defaults={"told_until": now})
    return queued


def _seats_after(key: int) -> list[Membership]:
    rows = Membership.objects.filter(pk__gt=key, user__is_active=True, merchant__closed_at=None)
    return list(rows.select_related("user", "merchant").order_by("pk")[:_BATCH])


def digest_words(subject: str) -> MailWords | None:
    """Return the mail of a day, from the rest of its key; None if there is no news, or the person wants none."""
    seat, mode_name, day_name = subject.split(":", 2)
    day = date.fromisoformat(day_name)
    member = member_by_key(int(seat), Mode(mode_name))
    if member is None:
        return None
    lines = [line for kind in member.kinds(How.DAILY) for line in _news(member, kind, day)]
    if not lines:
        return None
    merchant = member.seat.merchant
    text = "\n".join(f"- {line}" for line in lines)
    path = reverse("dashboard_overview", kwargs={"mer_id": merchant.public_id, "mode": str(member.mode)})
    return _words(
        member,
        f"{merchant.name} on {day:%-d %B}",
        f"On {day:%-d %B %Y} (UTC):\n\n{text}\n\n{settings.BASE_URL}{path}\n",
        EVERY_DAILY,
    )


def _news(member: Member, kind: Kind, day: date) -> Iterator[str]:
    """Yield lines about a kind on a day."""
    mine = {"merchant": member.seat.merchant, "mode": member.mode}
    begins = datetime.combine(day, time(), UTC)
    whole = (begins, begins + timedelta(days=1))
    if kind == Kind.PAYMENT:
        totals = DailyTotal.objects.filter(**mine, day=day).aggregate(paid=Sum("completed"), volume=Sum("volume"))
        if totals["paid"]:
            yield f"{_counted(totals['paid'], 'payment')}, {format_usd(totals['volume'])} USD"
    elif kind == Kind.INBOX:
        items = InboxItem.objects.filter(**mine, created_at__range=whole).exclude(reason=InboxReason.DUST)
        if count := items.count():
            yield f"{_counted(count, 'inbox item')}"
    elif kind == Kind.REPORT:
        if count := BuyerReport.objects.filter(**mine, reported_at__range=whole, verdict__in=list(FOUND)).count():
            yield f"{_counted(count, 'report')} of buyers whose money is on no checkout"
    elif kind == Kind.REFUND:
        if count := Payout.objects.filter(**mine, status=PayoutStatus.REQUESTED).count():
            yield f"{_counted(count, 'refund or payout', 'refunds and payouts')} to approve"
    elif kind == Kind.ENDPOINT:
        lasting = Endpoint.objects.filter(LASTING, **mine)
        if count := lasting.filter(disabled_at=None, consecutive_failures__gte=PROBATION_AFTER).count():
            yield f"{_counted(count, 'webhook endpoint')} that cannot be reached"
        if count := lasting.filter(disabled_at__range=whole, disabled_reason__in=SWITCHED_OFF).count():
            yield f"{_counted(count, 'webhook endpoint')} switched off, because events were not taken"
    elif kind == Kind.CHAIN and member.mode == Mode.LIVE:
        for incident in _troubles(member.seat.merchant).filter(began_at__range=whole).order_by("pk"):
            yield f"{chain_title(incident.chain)} was {_trouble(incident)} from {incident.began_at:%H:%M} UTC"


def _troubles(merchant: Merchant) -> QuerySet[Incident]:
    """Return the troubles of the networks on which a merchant receives."""
    wallets = ReceivingWallet.objects.filter(merchant=merchant, retired_at=None)
    return Incident.objects.filter(kind=IncidentKind.CHAIN, chain__in=wallets.values("chain"))


def _trouble(incident: Incident) -> str:
    if incident.halted:
        return "stopped, because it contradicted what we read,"
    return "not readable" if incident.stopped else "late"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _words(member: Member, subject: str, text: str, muted: str) -> MailWords:
    prefix = "[test mode] " if member.mode == Mode.TEST else ""
    link = mute_url(member, muted)
    page = reverse("dashboard_notices", kwargs={"mer_id": member.seat.merchant.public_id, "mode": str(member.mode)})
    what = "the daily mail" if muted == EVERY_DAILY else f"mails of this kind ({Kind(muted).label})"
    foot = f"\nStop {what}:\n{link}\n\nChoose your notices:\n{settings.BASE_URL}{page}\n"
    return MailWords(f"{prefix}{subject}", f"{text}{foot}", unsubscribe=link)


def mute_url(member: Member, what: str) -> str:
    """Return the address that stops mails of a kind, or EVERY_DAILY, to a member. It works without a login, and for ever."""
    token = Signer(salt=_SALT).sign(f"{member.seat.pk}.{member.mode}.{what}")
    return f"{settings.BASE_URL}{reverse('mute_notices', kwargs={'token': token})}"


def muted_by(token: str) -> tuple[Member, list[Kind]] | None:
    """Return whose mails a token stops, and of which kinds; None for one that we did not make, or whose member is gone."""
    try:
        seat, mode, what = Signer(salt=_SALT).unsign(token).split(".")
    except BadSignature:
        return None
    member = member_by_key(int(seat), Mode(mode))
    if member is None:
        return None
    return member, member.kinds(How.DAILY) if what == EVERY_DAILY else [Kind(what)]


def mute(member: Member, kinds: list[Kind]) -> None:
    """Mail a member nothing more of some kinds."""
    chosen = {(kind, Way.MAIL): How.NEVER for kind in kinds}
    choose(member.seat.user, member.seat.merchant, mode=member.mode, chosen=chosen)
