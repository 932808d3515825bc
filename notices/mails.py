"""The mails of notices, written when they are sent: at once of one fact, or each morning of the day before.

What holds no more by then is not mailed; nor is what the person muted meanwhile.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final, NamedTuple

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext, pgettext

from accounts.merchants.time_zones import zone_of
from accounts.models import Membership, Merchant
from accounts.states import Mode
from checkouts.lifecycle.counts import paid_between
from checkouts.models import BuyerReport, InboxItem
from checkouts.states import InboxReason
from gateway.core.money import format_usd
from gateway.core.times import midnight, today_in
from gateway.core.web.login_languages import mail_language
from gateway.status.models import Incident, IncidentKind
from mails.outbox import queue_unwritten
from mails.words import MailWords
from notices.choices import Member, choose, member_by_key, members
from notices.facts import FOUND, LASTING, named
from notices.models import Pass
from notices.states import How, Kind, Way
from payouts.models import Payout
from payouts.states import PayoutStatus
from wallets.models import ReceivingWallet
from wallets.networks import chain_title
from webhooks.health import PROBATION_AFTER, SWITCHED_OFF
from webhooks.models import Endpoint

DIGEST: Final = "digest"
"""The prefix of keys of daily mails, and the name of their pass."""
DIGEST_HOUR: Final = 6
"""When daily mails are queued, in the merchant's time zone."""
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
    with translation.override(mail_language(member.seat.user.language)):
        return _words(
            member, f"{fact.title} ({merchant.name})", f"{fact.text}\n\n{fact.url(merchant.public_id)}\n", str(kind)
        )


def queue_digests(*, now: datetime) -> int:
    """Queue yesterday's mail for everybody who wants it, once it is morning where the merchant is; return how many are new.

    Those without news are not sent. A zone whose morning was missed all day is not made up for.
    """
    told = Pass.objects.filter(name=DIGEST).values_list("told_until", flat=True).first()
    zones = _zones_due(told, now)
    queued, after = 0, 0
    while zones and (seats := _seats_after(after, zones)):
        after = seats[-1].pk
        wanted = [one for mode in Mode for one in members(seats, mode) if one.kinds(How.DAILY)]
        with transaction.atomic():
            queued += len(queue_unwritten([(_digest_key(one, now), one.seat.user.email) for one in wanted], now=now))
    if zones:
        Pass.objects.update_or_create(name=DIGEST, defaults={"told_until": now})
    return queued


def _zones_due(told: datetime | None, now: datetime) -> list[str]:
    """Return the names of merchants' time zones where the hour of mails came since the last pass, today."""
    due = []
    for one in Merchant.objects.filter(closed_at=None).order_by("time_zone").distinct("time_zone"):
        zone = zone_of(one)
        morning = datetime.combine(today_in(zone, now=now), time(DIGEST_HOUR), zone)
        if (told is None or told < morning) and morning <= now:
            due.append(one.time_zone)
    return due


def _digest_key(member: Member, now: datetime) -> str:
    """Return the key of yesterday's mail. After a change of the time zone the same date is another day, of which nothing was mailed."""
    merchant = member.seat.merchant
    yesterday = today_in(zone_of(merchant), now=now) - timedelta(days=1)
    return f"{DIGEST}:{member.seat.pk}:{member.mode}:{merchant.time_zone}:{yesterday}"


def _seats_after(key: int, zones: list[str]) -> list[Membership]:
    rows = Membership.objects.filter(
        pk__gt=key, user__is_active=True, merchant__closed_at=None, merchant__time_zone__in=zones
    )
    return list(rows.select_related("user", "merchant").order_by("pk")[:_BATCH])


def digest_words(subject: str) -> MailWords | None:
    """Return the mail of a day, from the rest of its key; None if there is no news, or the person wants none."""
    seat, mode_name, told = subject.split(":", 2)
    # The zone before it only tells keys apart.
    day = date.fromisoformat(told.rpartition(":")[2])
    member = member_by_key(int(seat), Mode(mode_name))
    if member is None:
        return None
    with translation.override(mail_language(member.seat.user.language)):
        return _digest(member, day)


def _digest(member: Member, day: date) -> MailWords | None:
    merchant = member.seat.merchant
    zone = zone_of(merchant)
    lines = [line for kind in member.kinds(How.DAILY) for line in _news(member, kind, day, zone)]
    if not lines:
        return None
    text = "\n".join(f"- {line}" for line in lines)
    path = reverse("dashboard_overview", kwargs={"mer_id": merchant.public_id, "mode": str(member.mode)})
    return _words(
        member,
        gettext("{merchant} on {day}").format(merchant=merchant.name, day=date_format(day, gettext("j F"))),
        gettext("On {day} ({zone}):").format(day=date_format(day, gettext("j F Y")), zone=zone)
        + f"\n\n{text}\n\n{settings.BASE_URL}{path}\n",
        EVERY_DAILY,
    )


def _news(member: Member, kind: Kind, day: date, zone: tzinfo) -> Iterator[str]:
    """Yield lines about a kind on a day of a time zone."""
    mine = {"merchant": member.seat.merchant, "mode": member.mode}
    begins, ends = midnight(day, zone), midnight(day + timedelta(days=1), zone)
    # Its last moment belongs to it, and the next day's first does not.
    whole = (begins, ends - timedelta.resolution)
    if kind == Kind.PAYMENT:
        paid, volume = paid_between(member.seat.merchant_id, member.mode, begins, ends)
        if paid:
            counted = ngettext("{count} payment, {volume} USD", "{count} payments, {volume} USD", paid)
            yield counted.format(count=f"{paid:,}", volume=format_usd(volume))
    elif kind == Kind.INBOX:
        items = InboxItem.objects.filter(**mine, created_at__range=whole).exclude(reason=InboxReason.DUST)
        if count := items.count():
            yield _counted(count, ngettext("{count} inbox item", "{count} inbox items", count))
    elif kind == Kind.REPORT:
        if count := BuyerReport.objects.filter(**mine, reported_at__range=whole, verdict__in=list(FOUND)).count():
            yield _counted(
                count,
                ngettext(
                    "{count} report of buyers whose money is on no checkout",
                    "{count} reports of buyers whose money is on no checkout",
                    count,
                ),
            )
    elif kind == Kind.REFUND:
        if count := Payout.objects.filter(**mine, status=PayoutStatus.REQUESTED).count():
            yield _counted(
                count, ngettext("{count} refund or payout to approve", "{count} refunds and payouts to approve", count)
            )
    elif kind == Kind.PAYOUT:
        if count := Payout.objects.filter(**mine, status=PayoutStatus.PAID, paid_at__range=whole).count():
            yield _counted(count, ngettext("{count} refund or payout paid", "{count} refunds and payouts paid", count))
    elif kind == Kind.ENDPOINT:
        yield from _endpoint_news(Endpoint.objects.filter(LASTING, **mine), whole)
    elif kind == Kind.CHAIN and member.mode == Mode.LIVE:
        for incident in _troubles(member.seat.merchant).filter(began_at__range=whole).order_by("pk"):
            began_at = f"{incident.began_at.astimezone(zone):%H:%M %Z}"
            yield _trouble(incident).format(chain=chain_title(incident.chain), time=began_at)


def _endpoint_news(lasting: QuerySet[Endpoint], whole: tuple[datetime, datetime]) -> Iterator[str]:
    if count := lasting.filter(disabled_at=None, consecutive_failures__gte=PROBATION_AFTER).count():
        yield _counted(
            count,
            ngettext(
                "{count} webhook endpoint that cannot be reached",
                "{count} webhook endpoints that cannot be reached",
                count,
            ),
        )
    if count := lasting.filter(disabled_at__range=whole, disabled_reason__in=SWITCHED_OFF).count():
        yield _counted(
            count,
            ngettext(
                "{count} webhook endpoint switched off, because events were not taken",
                "{count} webhook endpoints switched off, because events were not taken",
                count,
            ),
        )


def _troubles(merchant: Merchant) -> QuerySet[Incident]:
    """Return the troubles of the networks on which a merchant receives."""
    wallets = ReceivingWallet.objects.filter(merchant=merchant, retired_at=None)
    return Incident.objects.filter(kind=IncidentKind.CHAIN, chain__in=wallets.values("chain"))


def _trouble(incident: Incident) -> str:
    if incident.halted:
        return gettext("{chain} was stopped, because it contradicted what we read, from {time}")
    if incident.stopped:
        return gettext("{chain} was not readable from {time}")
    return gettext("{chain} was late from {time}")


def _counted(count: int, words: str) -> str:
    return words.format(count=f"{count:,}")


def _words(member: Member, subject: str, text: str, muted: str) -> MailWords:
    prefix = pgettext("team", "[test mode] ") if member.mode == Mode.TEST else ""
    link = mute_url(member, muted)
    page = reverse("dashboard_notices", kwargs={"mer_id": member.seat.merchant.public_id, "mode": str(member.mode)})
    stop = gettext("Stop the daily mail:")
    if muted != EVERY_DAILY:
        stop = gettext("Stop mails of this kind ({kind}):").format(kind=Kind(muted).label)
    choose_them = gettext("Choose your notices:")
    foot = f"\n{stop}\n{link}\n\n{choose_them}\n{settings.BASE_URL}{page}\n"
    return MailWords(f"{prefix}{subject}", f"{text}{foot}", unsubscribe=link)


def mute_url(member: Member, what: str) -> str:
    """Return the address that stops mails of a kind, or EVERY_DAILY, to a member. It works without a login, and for ever."""
    return f"{settings.BASE_URL}{_mute_path(f'{member.seat.pk}.{member.mode}.{what}')}"


def mute_push_path(member: Member, kind: Kind) -> str:
    """Return the path that stops notices of a kind on a member's devices, in the same way."""
    return _mute_path(f"{member.seat.pk}.{member.mode}.{kind}.{Way.PUSH}")


def _mute_path(what: str) -> str:
    return reverse("mute_notices", kwargs={"token": Signer(salt=_SALT).sign(what)})


class Muted(NamedTuple):
    """The member, the kinds and the way of the notices that a link stops."""

    member: Member
    kinds: list[Kind]
    way: Way


def muted_by(token: str) -> Muted | None:
    """Return what a token stops; None for one that we did not make, or of a member who is gone."""
    try:
        seat, mode, what, *way = Signer(salt=_SALT).unsign(token).split(".")
    except BadSignature:
        return None
    member = member_by_key(int(seat), Mode(mode))
    if member is None:
        return None
    kinds = member.kinds(How.DAILY) if what == EVERY_DAILY else [Kind(what)]
    return Muted(member, kinds, Way(way[0]) if way else Way.MAIL)


def mute(muted: Muted) -> None:
    """Tell a member nothing more of some kinds, by that way."""
    member = muted.member
    chosen = {(kind, muted.way): How.NEVER for kind in muted.kinds}
    choose(member.seat.user, member.seat.merchant, mode=member.mode, chosen=chosen)
