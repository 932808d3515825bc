"""Mails end with one click, by people and by mail programs; the daily one has what happened the day before."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.core import mail
from django.test import Client

from accounts.models import Merchant
from accounts.states import Mode, Role
from checkouts.lifecycle.counts import paid_between
from checkouts.models import BuyerReport, Checkout, InboxItem
from checkouts.states import CheckoutException
from gateway.core.times import midnight
from gateway.status.models import Incident, IncidentKind
from mails.models import OutgoingMail
from mails.sender import send_due_mails
from mails.words import words_of
from notices.choices import choose, member_by_key
from notices.mails import digest_words, mute_url, queue_digests
from notices.models import Choice, Pass
from notices.states import How, Kind, Way
from notices.telling import tell, tell_all
from tests.checkouts.inboxes import extra_item
from tests.checkouts.watcher import SOON, pay
from tests.contract.provoking import count_requests
from tests.dashboard.inboxes import make_report
from tests.dashboard.people import make_member
from tests.factories import NOON, WALLET, make_checkout, make_merchant, make_wallet
from tests.payouts.factories import make_payout
from tests.webhooks.factories import make_endpoint
from webhooks.endpoints.service import disable_endpoint
from webhooks.health import GONE, PROBATION_AFTER

pytestmark = pytest.mark.django_db

THEN = SOON + timedelta(seconds=20)
MORNING = NOON.replace(hour=6) + timedelta(days=1)


def path_of(url: str) -> str:
    return urlsplit(url).path


@pytest.fixture
def link(merchant: Merchant) -> str:
    """The link in an admin's mail about an inbox item."""
    make_member(merchant, Role.ADMIN)
    tell_all(now=NOON)
    extra_item(merchant=merchant)
    tell(Kind.INBOX, now=THEN)
    words = words_of(OutgoingMail.objects.get(key__startswith="notice:"))
    assert words is not None
    assert words.unsubscribe in words.text
    return path_of(words.unsubscribe)


def test_one_click_ends_mails_of_that_kind_without_a_login(client: Client, link: str) -> None:
    page = client.get(link)
    assert page.status_code == 200
    assert "Stop mails about Halden Roasters?" in page.content.decode()
    assert not Choice.objects.exists(), "a program that looks at links changes nothing"
    assert "You get no more of these mails" in client.post(link).content.decode()
    choice = Choice.objects.get()
    assert (choice.kind, choice.way, choice.how, choice.mode) == (Kind.INBOX, Way.MAIL, How.NEVER, Mode.LIVE)
    assert client.post(link).status_code == 200


def test_mail_programs_show_a_button_of_their_own(client: Client, link: str) -> None:
    send_due_mails(now=THEN)
    [sent] = mail.outbox
    headers = sent.message()
    assert path_of(headers["List-Unsubscribe"].strip("<>")) == link
    # RFC 8058, section 3.1.
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post(link, "List-Unsubscribe=One-Click", content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 200
    assert not answer.cookies
    assert Choice.objects.get().how == How.NEVER


def test_other_mails_have_no_such_button(owned_merchant: Merchant) -> None:
    from accounts.team.service import mail_owners

    mail_owners(owned_merchant.pk, key="alarm:1", subject="An alarm", text="It rang.", now=NOON)
    send_due_mails(now=NOON)
    assert "List-Unsubscribe" not in mail.outbox[0].message()


@pytest.mark.parametrize("change", ["x", "", "1.live.inbox:x", "1.live.inbox"])
def test_a_link_that_we_did_not_make_is_not_there(client: Client, link: str, change: str) -> None:
    token = link.rpartition("/")[2]
    for wrong in (f"{token}{change or 'a'}", change or "a", token.replace("inbox", "chain")):
        assert client.post(f"/notices/mute/{wrong}").status_code == 404
    assert not Choice.objects.exists()


def test_a_link_of_somebody_who_left_is_not_there(client: Client, link: str, merchant: Merchant) -> None:
    merchant.memberships.all().delete()
    assert client.get(link).status_code == 404


@pytest.mark.usefixtures("still_window")
def test_a_link_is_opened_so_often_only(client: Client, link: str) -> None:
    assert client.get(link).status_code == 200
    count_requests(28)
    assert [client.get(link).status_code for _ in range(2)] == [200, 429]


def test_a_link_shows_and_changes_no_more_than_its_mails(client: Client, link: str) -> None:
    page = client.get(link).content.decode()
    assert "25.00" not in page
    assert "example.test" not in page


def test_the_daily_mail_has_what_happened_and_is_queued_once(merchant: Merchant) -> None:
    owner = make_member(merchant)
    make_member(merchant, Role.VIEWER)
    choices = {(kind, Way.MAIL): How.DAILY for kind in (Kind.INBOX, Kind.REFUND)}
    choose(owner, merchant, mode=Mode.LIVE, chosen=choices)
    checkout = make_checkout(merchant)
    pay(checkout)
    extra_item(merchant=merchant)
    make_report(checkout)
    BuyerReport.objects.update(reported_at=SOON)
    InboxItem.objects.update(created_at=SOON)
    make_payout(merchant)
    assert queue_digests(now=MORNING - timedelta(minutes=1)) == 0, "it is not six yet"
    assert [queue_digests(now=MORNING), queue_digests(now=MORNING)] == [1, 0]
    Pass.objects.all().delete()
    assert queue_digests(now=MORNING + timedelta(hours=2)) == 0, "the mail's key"
    [row] = OutgoingMail.objects.filter(key__startswith="digest:")
    assert row.recipient == owner.email
    words = words_of(row)
    assert words is not None
    assert words.subject == "Halden Roasters on 20 November"
    for line in (
        "- 2 payments, 50.00 USD",
        "- 1 inbox item",
        "- 1 report of buyers",
        "- 1 refund or payout to approve",
    ):
        assert line in words.text


def test_the_daily_mail_is_in_the_language_of_its_reader(owned_merchant: Merchant) -> None:
    owner = owned_merchant.memberships.get().user
    owner.language = "es"
    owner.save()
    choose(owner, owned_merchant, mode=Mode.LIVE, chosen={(Kind.INBOX, Way.MAIL): How.DAILY})
    extra_item(merchant=owned_merchant)
    InboxItem.objects.update(created_at=SOON)
    assert queue_digests(now=MORNING) == 1
    words = words_of(OutgoingMail.objects.get(key__startswith="digest:"))
    assert words is not None
    assert words.subject == "Halden Roasters el 20 de noviembre"
    assert "- 1 elemento de la bandeja\n" in words.text
    assert "Dejar de recibir el correo diario:" in words.text


def test_the_daily_mail_is_of_the_merchants_day_and_comes_in_its_morning(merchant: Merchant) -> None:
    """Days of Auckland begin 13 hours before UTC's, those of Los Angeles eight hours after them."""
    pay(make_checkout(merchant))
    paid_at = Checkout.objects.get().paid_at
    assert paid_at
    Merchant.objects.filter(pk=merchant.pk).update(time_zone="Pacific/Auckland")
    extra_item(merchant=merchant)
    make_wallet(merchant, "base", WALLET)
    Incident.objects.create(kind=IncidentKind.CHAIN, chain="base", began_at=NOON)
    person = make_member(merchant)
    choices = {(kind, Way.MAIL): How.DAILY for kind in (Kind.PAYMENT, Kind.INBOX, Kind.CHAIN)}
    choose(person, merchant, mode=Mode.LIVE, chosen=choices)
    there = ZoneInfo("Pacific/Auckland")
    assert paid_at.astimezone(there).date() == date(2026, 11, 21), "the day after UTC's"
    Checkout.objects.exclude(paid_at=None).update(paid_at=paid_at)
    InboxItem.objects.update(created_at=paid_at)
    morning = datetime(2026, 11, 22, 6, tzinfo=there)
    west = make_merchant()
    Merchant.objects.filter(pk=west.pk).update(time_zone="America/Los_Angeles")
    choose(make_member(west), west, mode=Mode.LIVE, chosen=choices)
    assert queue_digests(now=morning - timedelta(minutes=1)) == 1, "only in Los Angeles it was six"
    assert [queue_digests(now=morning), queue_digests(now=morning + timedelta(hours=1))] == [1, 0]
    row = OutgoingMail.objects.get(key__startswith="digest:", key__endswith=":2026-11-21", recipient=person.email)
    words = words_of(row)
    assert words is not None
    assert words.subject == "Halden Roasters on 21 November"
    for line in (
        "On 21 November 2026 (Pacific/Auckland):",
        "- 2 payments, 50.00 USD",
        "- 1 inbox item",
        "- Base was late from 01:00 NZDT",
    ):
        assert line in words.text
    assert digest_words(f"{person.memberships.get().pk}:live:2026-11-20") is None, "UTC's day"


def test_no_hour_is_left_out_of_daily_mails_when_the_time_zone_changes(merchant: Merchant) -> None:
    make_member(merchant)
    assert queue_digests(now=MORNING) == 1
    # After UTC's day, of which a mail was queued, and in the evening of the same date in Los Angeles.
    pay(make_checkout(merchant))
    Checkout.objects.update(paid_at=MORNING - timedelta(hours=3))
    Merchant.objects.filter(pk=merchant.pk).update(time_zone="America/Los_Angeles")
    there = MORNING + timedelta(hours=8)
    assert [queue_digests(now=there), queue_digests(now=there + timedelta(hours=1))] == [1, 0]
    row = OutgoingMail.objects.filter(key__startswith="digest:").order_by("pk").last()
    assert row is not None
    words = words_of(row)
    assert words is not None
    assert "On 20 November 2026 (America/Los_Angeles):" in words.text
    assert "- 1 payment, 25.00 USD" in words.text


def test_sums_of_a_merchants_day_are_those_that_are_kept_of_utcs(merchant: Merchant) -> None:
    for _ in range(3):
        pay(make_checkout(merchant))
    first = Checkout.objects.order_by("pk").first()
    assert first
    assert first.paid_at
    begins = midnight(first.paid_at.date())
    ends = begins + timedelta(days=1)
    assert paid_between(merchant.pk, Mode.LIVE, begins, ends) == (3, Decimal("75.00"))
    Checkout.objects.filter(pk=first.pk).update(exception=CheckoutException.REVERSED)
    assert paid_between(merchant.pk, Mode.LIVE, begins, ends) == (3, Decimal("50.00"))
    assert paid_between(merchant.pk, Mode.LIVE, begins, first.paid_at) == (0, Decimal(0)), "its end is not in it"
    assert paid_between(merchant.pk, Mode.TEST, begins, ends) == (0, Decimal(0))


def test_the_daily_mail_tells_of_lasting_endpoints_and_of_those_switched_off(merchant: Merchant) -> None:
    person = make_member(merchant)
    choose(person, merchant, mode=Mode.LIVE, chosen={(Kind.ENDPOINT, Way.MAIL): How.DAILY})
    subject = f"{person.memberships.get().pk}:live:{date(2026, 11, 20)}"
    failing: dict[str, Any] = {"consecutive_failures": PROBATION_AFTER, "failing_since": NOON}
    make_endpoint(merchant, "https://of-a-checkout.example/", is_default=False, **failing)
    assert digest_words(subject) is None, "a URL that a checkout named has no notice"
    endpoint = make_endpoint(merchant, **failing)
    words = digest_words(subject)
    assert words is not None
    assert "- 1 webhook endpoint that cannot be reached" in words.text
    disable_endpoint(endpoint, reason=GONE, now=SOON)
    words = digest_words(subject)
    assert words is not None
    assert "- 1 webhook endpoint switched off" in words.text
    assert "cannot be reached" not in words.text


def test_the_daily_mail_tells_of_trouble_on_the_merchants_networks_alone(merchant: Merchant) -> None:
    person = make_member(merchant)
    choose(person, merchant, mode=Mode.LIVE, chosen={(Kind.CHAIN, Way.MAIL): How.DAILY})
    make_wallet(merchant, "base", WALLET)
    for chain in ("base", "ton"):
        Incident.objects.create(kind=IncidentKind.CHAIN, chain=chain, began_at=NOON)
    words = digest_words(f"{person.memberships.get().pk}:live:{date(2026, 11, 20)}")
    assert words is not None
    assert "- Base was late from" in words.text
    assert "TON was" not in words.text


def test_a_day_without_news_has_no_mail(owned_merchant: Merchant) -> None:
    assert queue_digests(now=MORNING) == 1
    send_due_mails(now=MORNING)
    assert mail.outbox == []
    assert not OutgoingMail.objects.filter(key__startswith="digest:").exists()


def test_the_daily_mail_ends_with_one_click(client: Client, merchant: Merchant) -> None:
    person = make_member(merchant)
    pay(make_checkout(merchant))
    seat = person.memberships.get()
    subject = f"{seat.pk}:live:{date(2026, 11, 20)}"
    words = digest_words(subject)
    assert words is not None
    client.post(path_of(words.unsubscribe))
    daily = {Kind.PAYMENT, Kind.REPORT, Kind.PAYOUT}
    assert set(Choice.objects.values_list("kind", "how")) == {(kind, How.NEVER) for kind in daily}
    assert digest_words(subject) is None


def test_a_link_keeps_working_after_the_secret_key_changed(client: Client, merchant: Merchant, settings) -> None:  # type: ignore[no-untyped-def]
    seat = make_member(merchant).memberships.get()
    member = member_by_key(seat.pk, Mode.LIVE)
    assert member is not None
    link = path_of(mute_url(member, str(Kind.INBOX)))
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another"
    with time_machine.travel(NOON + timedelta(days=4_000), tick=False):
        assert client.get(link).status_code == 200
