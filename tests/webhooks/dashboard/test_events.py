"""The pages of events: those that no endpoint heard of too, found by id, and nobody else's."""

import pytest
from django.db import connection

from accounts.states import Mode, Role
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import make_deliveries, make_endpoint, new_event
from webhooks.dashboard.deliveries import with_id
from webhooks.models import Event
from webhooks.outbox.events import publish

pytestmark = pytest.mark.django_db


def happened(desk: Desk, **overrides: object) -> Event:
    [event] = publish([new_event(desk.merchant, **overrides)], now=NOON)
    return event


def ids_on(desk: Desk, query: str = "") -> set[str]:
    page = desk.get("dashboard_events", query).text
    return {event.subject_id for event in Event.objects.all() if event.subject_id in page}


@pytest.mark.parametrize("role", Role)
def test_every_member_sees_events_that_no_endpoint_heard_of(owner: Desk, role: Role) -> None:
    event = happened(owner)
    desk = make_desk(owner.merchant, role)
    assert "No endpoint" in desk.get("dashboard_events").text
    page = desk.get("dashboard_event", event_id=event.public_id).text
    assert "No endpoint was told" in page
    assert "&quot;z&quot;: 1.10" in page


@pytest.mark.parametrize("role", Role)
def test_addresses_in_an_events_body_are_masked_for_who_only_looks(owner: Desk, role: Role) -> None:
    event = happened(owner, body=b'{"data":{"metadata":{"buyerEmail":"buyer@shop.example"}}}')
    page = make_desk(owner.merchant, role).get("dashboard_event", event_id=event.public_id).text
    assert ("buyer@shop.example" in page) == (role != Role.VIEWER)
    assert ("b•••@shop.example" in page) == (role == Role.VIEWER)


def test_an_event_leads_to_its_deliveries(owner: Desk) -> None:
    [delivery] = make_deliveries(make_endpoint(owner.merchant))
    assert "Waiting" in owner.get("dashboard_events").text
    page = owner.get("dashboard_event", event_id=delivery.event.public_id).text
    assert owner.url("dashboard_delivery", delivery_id=delivery.public_id) in page


def test_events_of_others_and_of_the_other_mode_do_not_exist(owner: Desk) -> None:
    other, test = happened(make_desk(make_merchant())), happened(owner, mode=Mode.TEST)
    assert ids_on(owner) == set()
    for event in (other, test):
        assert owner.get("dashboard_event", event_id=event.public_id).status_code == 404


def test_filters(owner: Desk) -> None:
    one, two = happened(owner), happened(owner, type="checkout.expired")
    assert ids_on(owner) == {one.subject_id, two.subject_id}
    assert ids_on(owner, "?type=checkout.expired") == {two.subject_id}
    assert ids_on(owner, f"?q={one.subject_id}") == {one.subject_id}
    assert ids_on(owner, f"?q=+{two.public_id}+") == {two.subject_id}
    assert ids_on(owner, f"?q={two.public_id}&type=checkout.completed") == set()
    assert "No events match" in owner.get("dashboard_events", "?q=chk_nobody").text


def test_the_beginning_of_an_id_finds_its_event(owner: Desk) -> None:
    one, two = happened(owner, subject_id="chk_live_0aaa1zzz"), happened(owner, subject_id="chk_live_0aaa2b")
    assert ids_on(owner, "?q=chk_live_0aaa1") == {one.subject_id}
    assert ids_on(owner, "?q=chk_live_0aaa") == {one.subject_id, two.subject_id}
    assert ids_on(owner, f"?q={two.public_id[:12]}") == {two.subject_id}
    # Each checkout's id begins so, and two letters may be any event's.
    for text in ("chk_live", "chk_live_", "chk_live_0aa", "evt_", two.public_id[:6]):
        assert ids_on(owner, f"?q={text}") == set()


@pytest.mark.parametrize("column", ["public_id", "subject_id"])
def test_the_beginning_of_an_id_is_looked_up_in_an_index(column: str) -> None:
    statement, values = Event.objects.filter(with_id(column, "evt_7yk2")).values("pk").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {statement}", values)
        plan = "\n".join(row[0] for row in cursor)
    assert f"({column})::text >= 'evt_7yk2'::text" in plan.partition("Filter")[0]


def test_pages_go_by_the_numbers_of_events(owner: Desk) -> None:
    events = publish([new_event(owner.merchant) for _ in range(60)], now=NOON)
    newest = owner.get("dashboard_events").text
    assert (events[59].public_id in newest, events[0].public_id in newest) == (True, False)
    older = owner.get("dashboard_events", "?before=11").text
    assert (events[9].public_id in older, events[10].public_id in older) == (True, False)
    assert "?after=10" in older
