"""An operator looks at a merchant's pages: for half an hour, with a reason, changing nothing, and told in their audit log."""

import re
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry, Membership, Merchant, User
from accounts.states import Role
from accounts.team import operators
from accounts.team.permissions import Act, may
from mails.models import OutgoingMail
from tests.dashboard.people import Desk, log_in, make_desk
from tests.exhaustive import sample
from tests.factories import make_merchant
from tests.gateway.operator.people import log_in_by_factor, make_operator
from tests.routes import by_app, dashboard_routes
from tests.x402.recorded import make_payable
from wallets.models import DepositAddress

pytestmark = pytest.mark.django_db
SEATED = [route for route in dashboard_routes() if route.decision and not route.decision.everybody]
BY_APP = by_app(SEATED)
# Of those that no route takes none: tests/accounts/team/test_permissions.py has one of them.
METHODS = sample(["GET", "PUT", "HEAD", "DELETE", "POST"], 2)
REASON = "They asked us why an order is late: #4711"
STOP = "/operator/stop-looking/"


@pytest.fixture
def desk(operators_browser: Client, operator: User, merchant: Merchant) -> Desk:
    """The operator, at the merchant's pages, who has not begun to look."""
    return Desk(operators_browser, merchant, operator)


def entrance(merchant: Merchant) -> str:
    return f"/operator/accounts/merchant/{merchant.pk}/look/"


def look_at(desk: Desk, merchant: Merchant | None = None, reason: str = REASON) -> Any:
    return desk.client.post(entrance(merchant or desk.merchant), {"reason": reason})


def sees(desk: Desk, merchant: Merchant | None = None) -> bool:
    there = Desk(desk.client, merchant or desk.merchant, desk.user)
    status = there.get("dashboard_overview").status_code
    assert status in {200, 404}
    return bool(status == 200)


def told(merchant: Merchant) -> list[str]:
    entries = AuditEntry.objects.filter(merchant=merchant).order_by("pk")
    return [entry.action for entry in entries]


def writes(queries: CaptureQueriesContext) -> list[str]:
    """Statements that change something besides the person's own session."""
    own = ('"django_session"', '"usersessions_usersession"')
    return [
        query["sql"]
        for query in queries
        if re.search("INSERT INTO|DELETE FROM|UPDATE", query["sql"]) and not any(table in query["sql"] for table in own)
    ]


def test_a_look_at_where_machines_pay_makes_no_address(desk: Desk, settings: Any) -> None:
    make_payable(desk.merchant, settings)
    look_at(desk)
    for page in ("dashboard_x402", "dashboard_x402_setup"):
        assert desk.get(page).status_code == 200
    assert desk.post("dashboard_x402_forwarders").status_code == 403
    assert not DepositAddress.objects.exists()


@pytest.mark.parametrize("app", BY_APP)
def test_a_look_reads_what_a_viewer_reads_and_changes_nothing(desk: Desk, merchant: Merchant, app: str) -> None:
    look_at(desk)
    viewer = make_desk(merchant, Role.VIEWER)
    for route, method in product(BY_APP[app], METHODS):
        decision = route.decision
        address = desk.url(route.name, **dict(route.arguments))
        with desk.undone(route.name, method):
            with CaptureQueriesContext(connection) as queries:
                status = desk.client.generic(method, address, b"").status_code
            assert writes(queries) == []
            if method not in decision.acts:
                assert status == 405
            elif decision.acts[method] is Act.SEE and method in {"GET", "HEAD"}:
                assert status == viewer.client.generic(method, address).status_code
            else:
                assert status == 403


def test_exports_are_what_a_viewer_may_and_a_look_may_not(desk: Desk) -> None:
    exports = [one for one in SEATED if one.decision.acts.get("GET") is Act.EXPORT]
    assert len(exports) > 3
    assert may(Role.VIEWER, Act.EXPORT)
    look_at(desk)
    answer = desk.get(exports[0].name, **dict(exports[0].arguments))
    assert answer.status_code == 403
    # HEAD is decided with GET.
    assert desk.client.head(desk.url(exports[0].name, **dict(exports[0].arguments))).status_code == 403
    assert "Looking does not include this" in answer.text


def test_every_page_says_that_an_operator_looks_and_how_to_stop(desk: Desk) -> None:
    look_at(desk)
    for name in ("dashboard_overview", "dashboard_inbox", "dashboard_webhooks"):
        page = desk.get(name).text
        assert "You are looking at <b>Halden Roasters</b> as an operator" in page
        assert f'action="{STOP}"' in page
    stopped = desk.client.post(STOP)
    assert stopped["Location"] == f"/operator/accounts/merchant/{desk.merchant.pk}/change/"
    assert not sees(desk)


def test_the_merchant_reads_who_looked_and_why(desk: Desk, merchant: Merchant) -> None:
    look_at(desk)
    desk.client.post(STOP)
    began, ended = AuditEntry.objects.filter(merchant=merchant).order_by("pk")
    assert (began.action, ended.action) == ("operator.looked", "operator.stopped")
    assert (began.actor, began.address) == (desk.user, "127.0.0.1")
    assert began.after is not None
    assert began.after["reason"] == REASON
    assert ended.object_id == began.object_id
    page = make_desk(merchant, Role.VIEWER).get("dashboard_audit_log").text
    for words in ("Operator impersonation started", REASON, desk.user.email):
        assert words in page
    assert not OutgoingMail.objects.exists()


@pytest.mark.parametrize("reason", ["", "too short", " " * 12, "x" * 201, "a reason with \0"])
def test_there_is_no_look_without_a_reason(desk: Desk, reason: str) -> None:
    assert look_at(desk, reason=reason).status_code == 200
    assert not sees(desk)
    assert told(desk.merchant) == []


def test_a_look_is_at_one_merchant_and_the_switcher_offers_ones_own(desk: Desk) -> None:
    other = make_merchant("Somebody Else")
    look_at(desk)
    assert not sees(desk, other)
    own = Merchant.objects.get(memberships__user=desk.user)
    page = desk.get("dashboard_overview").text
    assert f"/dashboard/{own.public_id}/live/" in page
    assert other.public_id not in page
    assert "looking at" not in Desk(desk.client, own, desk.user).get("dashboard_team").text


def test_looking_at_another_merchant_ends_the_look_before(desk: Desk) -> None:
    other = make_merchant()
    look_at(desk)
    look_at(desk, other)
    assert sees(desk, other)
    assert not sees(desk)
    assert told(desk.merchant) == ["operator.looked", "operator.stopped"]


def test_a_look_ends_by_itself(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    look_at(desk)
    assert sees(desk)
    # The log cannot be written into the past.
    monkeypatch.setattr(operators, "IMPERSONATION_LASTS", timedelta(0))
    assert not sees(desk)
    monkeypatch.undo()
    assert not sees(desk)


def test_logging_out_ends_a_look(desk: Desk) -> None:
    look_at(desk)
    desk.client.post("/account/logout/")
    assert told(desk.merchant) == ["operator.looked", "operator.stopped"]


@pytest.mark.parametrize("loss", ["staff", "active", "factor"])
def test_whoever_is_no_operator_any_more_looks_no_more(desk: Desk, loss: str) -> None:
    look_at(desk)
    person = User.objects.filter(pk=desk.user.pk)
    match loss:
        case "staff":
            person.update(is_staff=False)
        case "active":
            person.update(is_active=False)
        case "factor":
            Authenticator.objects.filter(user=desk.user).delete()
    assert desk.get("dashboard_overview").status_code in {302, 404}
    assert desk.get("dashboard_overview").status_code != 200


def test_a_look_that_was_stopped_does_not_come_back_with_an_old_session(desk: Desk) -> None:
    look_at(desk)
    old = dict(desk.client.session)
    desk.client.post(STOP)
    session = desk.client.session
    session.update(old)
    session.save()
    assert not sees(desk)


@pytest.mark.parametrize("forger", ["owner", "no factor", "other operator"])
def test_a_session_that_names_anothers_look_shows_nothing(desk: Desk, forger: str) -> None:
    look_at(desk)
    named = desk.client.session[operators._SESSION_KEY]
    client = {
        "owner": lambda: make_desk().client,
        "no factor": lambda: log_in(make_operator(has_factor=False)),
        "other operator": lambda: log_in_by_factor(make_operator()),
    }[forger]()
    session = client.session
    session[operators._SESSION_KEY] = named
    session.save()
    assert not sees(Desk(client, desk.merchant, desk.user))
    client.post(STOP)
    assert told(desk.merchant) == ["operator.looked"]
    assert sees(desk)


@pytest.mark.parametrize("who", ["owner", "staff without a factor", "nobody"])
def test_nobody_else_begins_to_look(merchant: Merchant, who: str) -> None:
    client = {
        "owner": lambda: log_in_by_factor(make_desk().user),
        "staff without a factor": lambda: log_in(make_operator(has_factor=False)),
        "nobody": Client,
    }[who]()
    answer = client.post(entrance(merchant), {"reason": REASON})
    assert answer.status_code in {302, 404}
    assert told(merchant) == []


def test_a_member_of_the_team_goes_there_as_what_they_are(desk: Desk, merchant: Merchant) -> None:
    Membership.objects.create(merchant=merchant, user=desk.user, role=Role.ADMIN)
    assert look_at(desk)["Location"] == desk.url("dashboard_overview")
    page = desk.get("dashboard_overview").text
    assert "looking at" not in page
    assert "Admin" in page
    assert told(merchant) == []


def test_the_entrance_is_on_the_merchants_page(desk: Desk, merchant: Merchant) -> None:
    page = desk.client.get(f"/operator/accounts/merchant/{merchant.pk}/change/")
    assert entrance(merchant) in page.text
    assert "The merchant reads in their audit log" in desk.client.get(entrance(merchant)).text
    assert desk.client.get("/operator/accounts/merchant/x/look/").status_code == 404


def test_stopping_needs_a_form_of_ours(operator: User, merchant: Merchant) -> None:
    strict = log_in_by_factor(operator, enforce_csrf_checks=True)
    assert strict.post(STOP).status_code == 403
    assert strict.get(STOP).status_code == 405
