"""Who is told of what, once, and never of the other mode's or another merchant's."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.db.models import Max
from django.test import Client

from accounts.models import Merchant, User
from accounts.states import Mode, Role
from accounts.team.operators import mail_operators
from checkouts.models import BuyerReport, Checkout
from checkouts.states import CheckoutException, InboxReason, RescueVerdict
from gateway.core.api.rate_limits import Limit
from gateway.status.models import Incident, IncidentKind
from mails.models import OutgoingMail
from mails.words import words_of
from notices import telling
from notices.choices import choose
from notices.devices import end_lost
from notices.facts import Fact
from notices.models import Choice, Device, Pass
from notices.states import How, Kind, Way
from notices.telling import LONGEST_BACK, OVERLAP, tell, tell_all
from payouts.following.alarms import PAID_TWICE, mail_alarm
from tests.checkouts.inboxes import extra_item
from tests.checkouts.schema import alter
from tests.checkouts.watcher import DOLLAR, SOON, pay
from tests.dashboard.inboxes import make_report
from tests.dashboard.people import make_member
from tests.factories import NOON, make_checkout, make_live_chain, make_merchant
from tests.notices.browsers import Browser, make_chat
from tests.payouts.factories import approved, make_payout, outflow_for, pay_out
from tests.webhooks.factories import HOOK, make_endpoint
from wallets.models import ChainCursor, Transfer
from webhooks.delivery.attempts import AttemptOutcome, record
from webhooks.delivery.claims import Room, due_deliveries, promote_due, take_endpoints
from webhooks.endpoints.service import disable_endpoint, tell_owners
from webhooks.endpoints.targets import NOTES_KEPT, prune_notes
from webhooks.health import GONE, PROBATION_AFTER, AttemptResult
from webhooks.models import Delivery, Endpoint, Event
from webhooks.states import NOTES, DeliveryStatus

pytestmark = pytest.mark.django_db

THEN = SOON + timedelta(seconds=20)


@pytest.fixture(autouse=True)
def _first_pass() -> None:
    tell_all(now=NOON)


def mailed(now: datetime = THEN) -> dict[str, str]:
    """The text of each mail that is sent now, by its recipient."""
    with time_machine.travel(now, tick=False):
        found = {mail.recipient: words_of(mail) for mail in OutgoingMail.objects.filter(key__startswith="notice:")}
    return {to: words.subject + "\n" + words.text for to, words in found.items() if words}


def chosen(user: User, merchant: Merchant, kind: Kind, how: How, way: Way = Way.MAIL, mode: Mode = Mode.LIVE) -> None:
    choose(user, merchant, mode=mode, chosen={(kind, way): how})


def pushes() -> list[Event]:
    return list(Event.objects.filter(mode=NOTES).order_by("pk"))


def test_owners_and_admins_are_mailed_of_an_inbox_item_and_viewers_and_strangers_are_not(merchant: Merchant) -> None:
    owner, admin = make_member(merchant), make_member(merchant, Role.ADMIN)
    make_member(merchant, Role.VIEWER)
    make_member(make_merchant("Another"))
    item = extra_item(merchant=merchant)
    assert tell(Kind.INBOX, now=THEN) == 2
    texts = mailed()
    assert texts.keys() == {owner.email, admin.email}
    assert "25.00 USDC waits for your decision" in texts[owner.email]
    assert f"/inbox/{item.pk}/" in texts[owner.email]


def test_a_fact_is_told_once_however_often_it_is_looked_at(owned_merchant: Merchant) -> None:
    extra_item(merchant=owned_merchant)
    Browser().added(owned_merchant.memberships.get().user, owned_merchant)
    assert tell(Kind.INBOX, now=THEN) == 2
    assert [tell(Kind.INBOX, now=THEN + timedelta(seconds=n)) for n in (10, 20, 30)] == [0, 0, 0]
    # As a process does that crashed before it wrote how far it was.
    Pass.objects.filter(name=Kind.INBOX).update(told_until=NOON)
    assert tell(Kind.INBOX, now=THEN) == 0
    assert OutgoingMail.objects.filter(key__startswith="notice:").count() == 1
    assert len(pushes()) == 1


def told_again_without_looking(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many mails and notes there are after two passes, of which neither asks what was told."""
    monkeypatch.setattr(telling, "_unmailed", list)
    monkeypatch.setattr(telling, "_unpublished", list)
    extra_item(merchant=merchant)
    Browser().added(merchant.memberships.get().user, merchant)
    for _ in range(2):
        tell(Kind.INBOX, now=THEN)
    return OutgoingMail.objects.filter(key__startswith="notice:").count(), len(pushes())


def test_the_keys_of_mails_and_events_alone_keep_a_fact_from_being_told_twice(
    owned_merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told_again_without_looking(owned_merchant, monkeypatch) == (1, 1)


def test_without_the_unique_key_a_mail_would_be_queued_twice(
    owned_merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    alter("ALTER TABLE mails_outgoingmail DROP CONSTRAINT mails_outgoingmail_key_key")
    monkeypatch.setattr("mails.outbox._INSERT", _without_conflicts())
    assert told_again_without_looking(owned_merchant, monkeypatch) == (2, 1)


def _without_conflicts() -> str:
    from mails.outbox import _INSERT

    return _INSERT.replace("ON CONFLICT (key) DO NOTHING", "")


def test_what_was_settled_before_its_mail_is_sent_is_not_mailed(owned_merchant: Merchant) -> None:
    item = extra_item(merchant=owned_merchant)
    tell(Kind.INBOX, now=THEN)
    assert len(mailed()) == 1
    item.status = "dismissed"
    item.save(update_fields=["status"])
    assert mailed() == {}


def test_who_was_removed_or_muted_meanwhile_is_not_mailed(merchant: Merchant) -> None:
    gone, muted = make_member(merchant), make_member(merchant)
    extra_item(merchant=merchant)
    tell(Kind.INBOX, now=THEN)
    assert len(mailed()) == 2
    gone.memberships.all().delete()
    chosen(muted, merchant, Kind.INBOX, How.NEVER)
    assert mailed() == {}


def test_test_mode_is_told_to_those_who_chose_it_there(merchant: Merchant) -> None:
    person = make_member(merchant)
    Browser().added(person, merchant)
    extra_item(merchant=merchant, mode=Mode.TEST, public_id="chk_test_1")
    assert tell(Kind.INBOX, now=THEN) == 0
    chosen(person, merchant, Kind.INBOX, How.AT_ONCE, mode=Mode.TEST)
    assert tell(Kind.INBOX, now=THEN) == 1
    assert mailed()[person.email].startswith("[test mode] ")


def test_dust_is_told_to_nobody(owned_merchant: Merchant) -> None:
    item = extra_item(merchant=owned_merchant)
    item.reason = InboxReason.DUST
    item.save(update_fields=["reason"])
    assert tell(Kind.INBOX, now=THEN) == 0


def test_an_amount_of_a_token_with_other_decimals_is_told_as_it_is(owned_merchant: Merchant) -> None:
    item = extra_item(merchant=owned_merchant)
    Transfer.objects.filter(pk=item.transfer_id).update(token="DAI", units=25 * 10**18)
    tell(Kind.INBOX, now=THEN)
    [text] = mailed().values()
    assert text.startswith("25.00 DAI waits for your decision")


def test_a_reversal_is_no_second_mail_to_owners(merchant: Merchant) -> None:
    owner, admin = make_member(merchant), make_member(merchant, Role.ADMIN)
    Browser().added(owner, merchant)
    item = extra_item(merchant=merchant)
    item.reason = InboxReason.REVERSED
    item.save(update_fields=["reason"])
    tell(Kind.INBOX, now=THEN)
    assert mailed().keys() == {admin.email}
    assert "took 25.00 USDC back" in mailed()[admin.email]
    assert len(pushes()) == 1


def test_strangers_cannot_flood_a_person(owned_merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "_FLOOD", Limit("notices", 2, seconds=3_600))
    for _ in range(4):
        extra_item(merchant=owned_merchant)
    assert tell(Kind.INBOX, now=THEN) == 2


def test_a_payment_is_told_at_once_to_those_who_chose_it(merchant: Merchant) -> None:
    person = make_member(merchant)
    checkout = make_checkout(merchant, order_ref="A-17")
    pay(checkout)
    assert tell(Kind.PAYMENT, now=THEN) == 0
    chosen(person, merchant, Kind.PAYMENT, How.AT_ONCE)
    assert tell(Kind.PAYMENT, now=THEN) == 1
    text = mailed()[person.email]
    assert "25.00 USD received" in text
    assert "Order A-17 of 25.00 USD is paid." in text


def test_a_payment_that_the_network_took_back_is_not_told_as_paid(merchant: Merchant) -> None:
    person = make_member(merchant)
    chosen(person, merchant, Kind.PAYMENT, How.AT_ONCE)
    pay(make_checkout(merchant))
    assert tell(Kind.PAYMENT, now=THEN) == 1
    assert len(mailed()) == 1
    # Before the mail server took it, and before a device was told.
    Checkout.objects.update(exception=CheckoutException.REVERSED)
    Browser().added(person, merchant)
    assert mailed() == {}
    assert tell(Kind.PAYMENT, now=THEN) == 0


def test_a_device_is_told_of_payments_unless_its_person_says_no(merchant: Merchant) -> None:
    person = make_member(merchant, Role.VIEWER)
    Browser().added(person, merchant)
    pay(make_checkout(merchant))
    assert tell(Kind.PAYMENT, now=THEN) == 1
    chosen(person, merchant, Kind.PAYMENT, How.NEVER, Way.PUSH)
    pay(make_checkout(merchant))
    assert tell(Kind.PAYMENT, now=THEN) == 0


def test_only_reports_that_found_money_are_told(owned_merchant: Merchant) -> None:
    person = owned_merchant.memberships.get().user
    chosen(person, owned_merchant, Kind.REPORT, How.AT_ONCE)
    report = make_report(make_checkout(owned_merchant))
    BuyerReport.objects.update(looked_at=SOON, reported_at=SOON, verdict=RescueVerdict.NOT_FOUND)
    assert tell(Kind.REPORT, now=THEN) == 0
    BuyerReport.objects.filter(pk=report.pk).update(verdict=RescueVerdict.LATE)
    assert tell(Kind.REPORT, now=THEN) == 1
    assert "It came after the checkout ended." in mailed()[person.email]


def test_a_refund_is_told_to_those_who_may_approve_it(merchant: Merchant) -> None:
    owner, admin = make_member(merchant), make_member(merchant, Role.ADMIN)
    payout = make_payout(merchant)
    type(payout).objects.filter(pk=payout.pk).update(addressed_at=SOON)
    assert tell(Kind.REFUND, now=THEN) == 1
    assert mailed().keys() == {owner.email}
    merchant.admins_approve = True
    merchant.save(update_fields=["admins_approve"])
    assert tell(Kind.REFUND, now=THEN) == 1
    assert mailed().keys() == {owner.email, admin.email}


def test_a_payout_is_told_when_the_chain_paid_it(merchant: Merchant) -> None:
    person = make_member(merchant, Role.ADMIN)
    Browser().added(person, merchant)
    payout = approved(make_payout(merchant))
    assert tell(Kind.PAYOUT, now=THEN) == 0
    pay_out(payout)
    assert [tell(Kind.PAYOUT, now=THEN + timedelta(minutes=number)) for number in (0, 1)] == [1, 0]
    [note] = pushes()
    assert note.type == "notice.payout"
    # By mail it is in the next morning's, unless a person chose otherwise.
    assert not mailed()
    other = make_member(merchant, Role.ADMIN)
    chosen(other, merchant, Kind.PAYOUT, How.AT_ONCE)
    assert tell(Kind.PAYOUT, now=THEN) == 1
    text = mailed()[other.email]
    assert "A payout is paid: 5.000000 USDC" in text
    assert payout.address not in text
    assert f"/payouts/{payout.public_id}/" in text


def test_a_payout_that_went_wrong_is_told_to_others_than_the_owners_who_got_a_mail(merchant: Merchant) -> None:
    payout = approved(make_payout(merchant))
    admin = make_member(merchant, Role.ADMIN)
    for person in (admin, *(seat.user for seat in merchant.memberships.filter(role=Role.OWNER))):
        chosen(person, merchant, Kind.PAYOUT, How.AT_ONCE)
    pay_out(payout)
    tell(Kind.PAYOUT, now=THEN)
    OutgoingMail.objects.filter(key__startswith="notice:").delete()
    movement = outflow_for(payout)
    mail_alarm(payout, movement, PAID_TWICE, now=SOON)
    # The first one again, because its mails were deleted, and the second send to the admin alone.
    owners = merchant.memberships.filter(role=Role.OWNER).count()
    assert tell(Kind.PAYOUT, now=THEN) == owners + 2
    told = OutgoingMail.objects.filter(key__startswith="notice:", key__contains=movement.public_id)
    assert [mail.recipient for mail in told] == [admin.email]
    with time_machine.travel(THEN, tick=False):
        text = words_of(told[0])
    assert text is not None
    assert text.subject.startswith("A payout was paid twice: 5.000000 USDC")
    assert payout.address not in text.text
    # The owners' mails are in English.
    admin.language = "es"
    admin.save()
    with time_machine.travel(THEN, tick=False):
        text = words_of(told[0])
    assert text is not None
    assert text.subject.startswith("Un desembolso se pagó dos veces: 5.000000 USDC")
    assert text.text.startswith("Este importe salió de su billetera una vez más de lo que debía.")


def test_a_failing_endpoint_is_told_once_and_again_when_it_is_off(owned_merchant: Merchant) -> None:
    endpoint = make_endpoint(owned_merchant, HOOK, consecutive_failures=PROBATION_AFTER - 1, failing_since=NOON)
    assert tell(Kind.ENDPOINT, now=THEN) == 0
    endpoint.consecutive_failures += 1
    endpoint.save(update_fields=["consecutive_failures"])
    assert [tell(Kind.ENDPOINT, now=THEN), tell(Kind.ENDPOINT, now=THEN)] == [1, 0]
    [text] = mailed().values()
    assert "shop.example: It learns late what was paid." in text
    disable_endpoint(endpoint, reason=GONE, now=THEN)
    assert tell(Kind.ENDPOINT, now=THEN) == 1


def test_an_endpoint_that_a_person_switched_off_is_told_to_nobody(owned_merchant: Merchant) -> None:
    endpoint = make_endpoint(owned_merchant, HOOK, consecutive_failures=9, failing_since=NOON)
    disable_endpoint(endpoint, reason="Disabled by Ada.", now=NOON)
    assert tell(Kind.ENDPOINT, now=THEN) == 0


def make_trouble(**values: Any) -> Incident:
    return Incident.objects.create(kind=IncidentKind.CHAIN, chain="base", **({"began_at": NOON} | values))


def test_network_trouble_is_told_to_those_whose_orders_depend_on_it(merchant: Merchant) -> None:
    person = make_member(merchant)
    make_member(make_merchant("Without orders"))
    make_checkout(merchant, order_ref="A-17")
    trouble = make_trouble()
    assert tell(Kind.CHAIN, now=THEN) == 0, "it is late for a minute only"
    assert tell(Kind.CHAIN, now=NOON + timedelta(minutes=11)) == 1
    text = mailed(NOON + timedelta(minutes=11))[person.email]
    assert "Base is delayed" in text
    assert "Open checkouts that offer it: 1. Order A-17." in text
    assert f"/dashboard/{merchant.public_id}/live/checkouts/?offers=base\n" in text
    assert "We are catching up with it." in text
    trouble.ended_at = NOON + timedelta(minutes=12)
    trouble.save(update_fields=["ended_at"])
    assert mailed(NOON + timedelta(minutes=12)) == {}


def test_two_sources_that_disagree_for_long_are_told_once_to_those_who_offer_the_network(merchant: Merchant) -> None:
    person = make_member(merchant)
    make_member(make_merchant("Without orders"))
    make_checkout(merchant, order_ref="A-17")
    make_live_chain("base", disagreeing_since=NOON)
    later = NOON + timedelta(minutes=11)
    assert tell(Kind.CHAIN, now=THEN) == 0, "they disagree for a minute only"
    assert [tell(Kind.CHAIN, now=later), tell(Kind.CHAIN, now=later)] == [1, 0]
    text = mailed(later)[person.email]
    assert "Two sources of Base disagree" in text
    assert "Open checkouts that offer it: 1. Order A-17." in text
    # Once they agree, a mail that was not sent yet is not sent any more.
    ChainCursor.objects.update(disagreeing_since=None)
    assert mailed(later) == {}


def test_a_halted_network_names_the_orders_to_hold(merchant: Merchant) -> None:
    owner, admin = make_member(merchant), make_member(merchant, Role.ADMIN)
    Browser().added(owner, merchant)
    pay(make_checkout(merchant, order_ref="A-17"))
    make_live_chain("base")
    ChainCursor.objects.filter(chain="base").update(
        halted_reason="it contradicts itself", halted_at=SOON, doubted_above=0
    )
    make_trouble(halted=True, stopped=True)
    assert tell(Kind.CHAIN, now=THEN) == 2
    assert mailed().keys() == {admin.email}, "owners have a mail of their own"
    assert "Hold orders paid on Base" in mailed()[admin.email]
    assert "Order A-17." in mailed()[admin.email]
    assert "/checkouts/?doubt=base\n" in mailed()[admin.email]
    assert len(pushes()) == 1


def test_a_network_that_is_stopped_days_after_it_became_late_names_the_orders_too(merchant: Merchant) -> None:
    admin = make_member(merchant, Role.ADMIN)
    pay(make_checkout(merchant, order_ref="A-17"))
    make_live_chain("base")
    trouble = make_trouble(began_at=NOON - timedelta(days=4))
    assert tell(Kind.CHAIN, now=THEN) == 0
    ChainCursor.objects.filter(chain="base").update(
        halted_reason="it contradicts itself", halted_at=SOON, doubted_above=0
    )
    Incident.objects.filter(pk=trouble.pk).update(halted=True, stopped=True)
    assert [tell(Kind.CHAIN, now=THEN), tell(Kind.CHAIN, now=THEN)] == [1, 0]
    assert "Order A-17." in mailed()[admin.email]


def test_low_gas_is_told_to_operators_devices_alone(merchant: Merchant) -> None:
    operator, owner = make_member(merchant), make_member(merchant)
    User.objects.filter(pk=operator.pk).update(is_staff=True)
    Browser().added(operator, merchant)
    Browser("https://fcm.googleapis.com/other").added(owner, merchant)
    # A warning of yesterday, and those of an EVM chain and of Solana.
    sol = f"solana:{'s' * 44}"
    for name, at in (
        (f"{sol}:20261119", NOON - timedelta(days=1)),
        ("1:20261120T120000", SOON),
        (f"{sol}:20261120", SOON),
    ):
        mail_operators(f"gas:{name}", subject="Gas runs low", text="It holds little.\n\nSend coin.\n", now=at)
    assert [tell(Kind.GAS, now=THEN), tell(Kind.GAS, now=THEN)] == [2, 0]
    assert mailed() == {}
    assert len(pushes()) == 2


def test_the_first_pass_tells_of_nothing_that_was_before(owned_merchant: Merchant) -> None:
    extra_item(merchant=owned_merchant)
    Pass.objects.all().delete()
    assert tell(Kind.INBOX, now=SOON + OVERLAP + timedelta(minutes=5)) == 0


def test_what_was_missed_in_an_outage_is_told_for_a_day(owned_merchant: Merchant) -> None:
    extra_item(merchant=owned_merchant)
    assert tell(Kind.INBOX, now=SOON + LONGEST_BACK + timedelta(minutes=1)) == 0
    Pass.objects.filter(name=Kind.INBOX).update(told_until=NOON)
    assert tell(Kind.INBOX, now=SOON + LONGEST_BACK - timedelta(minutes=1)) == 1


def test_a_kind_that_fails_keeps_no_other_back(owned_merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = telling.tell

    def failing(kind: Kind, *, now: datetime) -> int:
        if kind == Kind.PAYMENT:
            raise RuntimeError("planted")
        return whole(kind, now=now)

    monkeypatch.setattr(telling, "tell", failing)
    extra_item(merchant=owned_merchant)
    assert tell_all(now=THEN) == 1


def test_a_payment_writes_no_row_of_notices(merchant: Merchant) -> None:
    person = make_member(merchant)
    chosen(person, merchant, Kind.PAYMENT, How.AT_ONCE)
    Browser().added(person, merchant)
    # Whatever is wrong with notices, the payment is credited.
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE notices_choice RENAME TO away")
    checkout = make_checkout(merchant)
    pay(checkout)
    checkout.refresh_from_db()
    assert checkout.status == "completed"
    assert not Event.objects.filter(mode=NOTES).exists()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE away RENAME TO notices_choice")


def test_notes_are_in_no_list_of_events_and_in_no_stream_of_numbers(merchant: Merchant) -> None:
    person = make_member(merchant)
    Browser().added(person, merchant)
    pay(make_checkout(merchant))
    pay(make_checkout(merchant))
    assert tell(Kind.PAYMENT, now=THEN) == 2
    assert list(Event.objects.filter(mode=Mode.LIVE).order_by("pk").values_list("sequence", flat=True)) == [1, 2]
    assert [note.sequence for note in pushes()] == [1, 2]
    assert {note.type for note in pushes()} == {"notice.payment"}
    statuses = Delivery.objects.filter(mode=NOTES).values_list("status", flat=True)
    assert set(statuses) == {DeliveryStatus.PENDING}


def test_what_is_queued_for_a_device_is_encrypted_before_it_is_stored(merchant: Merchant) -> None:
    person = make_member(merchant)
    Browser().added(person, merchant)
    pay(make_checkout(merchant, order_ref="A-17"))
    tell(Kind.PAYMENT, now=THEN)
    [note] = pushes()
    assert b"A-17" not in bytes(note.body)
    assert Device.objects.get().endpoint.url.startswith("https://fcm.googleapis.com/#ntd_")
    assert not Choice.objects.exists()


def test_a_paid_amount_is_exact_in_the_words(merchant: Merchant) -> None:
    person = make_member(merchant)
    chosen(person, merchant, Kind.PAYMENT, How.AT_ONCE)
    pay(make_checkout(merchant, amount="1234.50"), 1_234_500_000 + 2 * DOLLAR)
    tell(Kind.PAYMENT, now=THEN)
    assert "1,236.50 USD received" in mailed()[person.email]


def test_a_device_and_a_chat_are_tried_five_times_in_a_quarter_of_an_hour(merchant: Merchant) -> None:
    person = make_member(merchant)
    Browser().added(person, merchant)
    make_chat(merchant, person)
    pay(make_checkout(merchant))
    assert tell(Kind.PAYMENT, now=THEN) == 2
    notes, now, tries = Delivery.objects.filter(mode=NOTES), THEN, 0
    rooms = {pk: Room(1, idle=True) for pk in Endpoint.objects.filter(mode=NOTES).values_list("pk", flat=True)}
    while due := notes.filter(status=DeliveryStatus.PENDING).aggregate(last=Max("next_attempt_at"))["last"]:
        now, tries = due, tries + 1
        promote_due(now=now)
        take_endpoints("one", now=now, lease=timedelta(seconds=1))
        claimed = due_deliveries("one", rooms, held=[], now=now)
        assert len(claimed) == 2
        record([AttemptOutcome(one, AttemptResult(500), now, timedelta(0), {}, {}) for one in claimed])
        assert tries < 9
    assert tries == 5
    # 5 s, 30 s, 2 and 10 minutes between them, each a fifth more or less.
    assert timedelta(seconds=604) <= now - THEN <= timedelta(seconds=906)
    assert set(notes.values_list("status", flat=True)) == {DeliveryStatus.FAILED}


def test_a_device_of_somebody_who_left_the_team_ends(merchant: Merchant) -> None:
    stays, leaves = make_member(merchant), make_member(merchant)
    kept = Browser().added(stays, merchant)
    Browser("https://fcm.googleapis.com/other").added(leaves, merchant)
    leaves.memberships.all().delete()
    pay(make_checkout(merchant))
    assert tell(Kind.PAYMENT, now=THEN) == 1
    assert [end_lost(now=THEN), end_lost(now=THEN)] == [1, 0]
    assert Device.objects.get() == kept


def test_owners_get_no_mail_about_a_device_that_fails_for_days(owned_merchant: Merchant) -> None:
    device = Browser().added(owned_merchant.memberships.get().user, owned_merchant)
    Endpoint.objects.filter(pk=device.endpoint_id).update(consecutive_failures=9, failing_since=NOON)
    assert tell_owners(now=NOON + timedelta(days=4)) == 0
    assert tell(Kind.ENDPOINT, now=NOON + timedelta(days=1)) == 0


def test_notes_are_deleted_after_thirty_days_and_events_stay(merchant: Merchant) -> None:
    Browser().added(make_member(merchant), merchant)
    pay(make_checkout(merchant))
    tell(Kind.PAYMENT, now=THEN)
    assert prune_notes(now=THEN + NOTES_KEPT) == 0
    assert prune_notes(now=THEN + NOTES_KEPT + timedelta(seconds=1)) == 1
    assert not Delivery.objects.filter(mode=NOTES).exists()
    assert Event.objects.filter(mode=Mode.LIVE).exists()


def test_each_person_is_told_in_the_language_that_they_keep(merchant: Merchant) -> None:
    people = {code: make_member(merchant) for code in ("", "es", "hi", "ar")}
    for code, person in people.items():
        person.language = code
        person.save()
    extra_item(merchant=merchant)
    assert tell(Kind.INBOX, now=THEN) == len(people)
    texts = mailed()
    for code in ("", "ar"):
        assert texts[people[code].email].startswith("25.00 USDC waits for your decision (Halden Roasters)\n")
        assert "Choose your notices:" in texts[people[code].email]
    assert texts[people["es"].email].startswith("25.00 USDC esperan su decisión (Halden Roasters)\n")
    assert "Dejar de recibir correos de este tipo" in texts[people["es"].email]
    [link] = re.findall(r"/notices/mute/\S+", texts[people["es"].email])
    page = Client().get(link, headers={"Accept-Language": "hi"})
    assert '<html lang="es"' in page.text
    assert page["Content-Language"] == "es"
    assert "¿" in page.text
    assert "25.00 USDC आपके निर्णय की प्रतीक्षा में" in texts[people["hi"].email]


def test_a_device_shows_a_notice_in_its_persons_language_and_a_chat_in_english(
    owned_merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def body(fact: Fact, *_: Any, **_named: Any) -> bytes:
        shown.append(str(fact.title))
        return b"{}"

    for name in ("push_body", "chat_body"):
        monkeypatch.setattr(f"notices.telling.{name}", body)
    person = owned_merchant.memberships.get().user
    person.language = "es"
    person.save()
    chosen(person, owned_merchant, Kind.PAYMENT, How.AT_ONCE, Way.PUSH)
    Browser().added(person, owned_merchant)
    make_chat(owned_merchant, person)
    pay(make_checkout(owned_merchant))
    tell(Kind.PAYMENT, now=THEN)
    assert sorted(shown) == ["25.00 USD received", "25.00 USD recibidos"]
