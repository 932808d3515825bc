"""Role x route x method, for every route of the dashboard that the URL conf has. A route without a decision fails."""

import sys
from itertools import product
from types import ModuleType
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path, re_path, reverse

from accounts.states import Mode, Role
from accounts.team import access
from accounts.team.permissions import ROLE_ACTS, Act, may
from gateway.core.ids import new_id
from tests.cases import case, undone
from tests.dashboard.people import Desk, log_in, make_desk
from tests.exhaustive import sample
from tests.factories import make_merchant, make_user
from tests.routes import Route, app_of, by_app, dashboard_routes

ROUTES = dashboard_routes()
SEATED = [route for route in ROUTES if route.decision and not route.decision.everybody]
BY_APP = by_app(SEATED)
# A route takes no other methods than GET, with which HEAD is decided, and POST.
METHODS = sample(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "POST"], 2)
X = True

# The contract's table, row by row: owner, admin, viewer. Fees have no row: a plan is the operator's to set.
CONTRACT = {
    Act.SEE: (X, X, X),
    Act.RUN_PAYMENTS: (X, X, False),
    Act.REQUEST_PAYOUTS: (X, X, False),
    # Admins too, where their merchant says so.
    Act.APPROVE_PAYOUTS: (X, False, False),
    Act.EXPORT: (X, X, X),
    Act.MANAGE_WEBHOOKS: (X, X, False),
    Act.MANAGE_BRANDING: (X, X, False),
    Act.MANAGE_WATCHED_WALLETS: (X, X, False),
    Act.MANAGE_KEYS: (X, False, False),
    Act.MANAGE_RECEIVING_WALLETS: (X, False, False),
    Act.MANAGE_APPROVALS: (X, False, False),
    Act.MANAGE_PRICES: (X, False, False),
    Act.MANAGE_TEAM: (X, False, False),
    Act.CLOSE: (X, False, False),
}


def test_roles_are_those_of_the_contract() -> None:
    assert set(CONTRACT) == set(Act)
    found = {act: tuple(may(role, act) for role in (Role.OWNER, Role.ADMIN, Role.VIEWER)) for act in Act}
    assert found == CONTRACT
    assert set(ROLE_ACTS) == set(Role)


def test_every_route_of_the_dashboard_decided_who_may_do_what() -> None:
    assert len(ROUTES) > 5
    assert [route.name for route in ROUTES if route.decision is None] == []
    assert [route.name for route in ROUTES if not route.decision.acts] == []


def test_every_act_is_one_that_some_route_takes() -> None:
    assert {act for route in SEATED for act in route.decision.acts.values()} == set(Act)


def test_a_route_without_a_decision_is_found_wherever_it_is(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test before."""

    def forgotten(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    planted = ModuleType("planted")
    planted.urlpatterns = [  # type: ignore[attr-defined]
        path("dashboard/one/", forgotten, name="one"),
        re_path("^dashboard/two/$", forgotten, name="two"),
        path("dashboard/", include([path("three/", forgotten, name="three")])),
        path("", include("gateway.urls")),
    ]
    monkeypatch.setitem(sys.modules, "planted", planted)
    settings.ROOT_URLCONF = "planted"
    found = dashboard_routes()
    undecided = [route.name for route in found if route.decision is None]
    assert undecided == ["one", "two", "three"]
    assert len(found) == len(ROUTES) + 3


# What is written here no route decides for itself: an act that is too weak shows.
LEAVE = "dashboard_leave"
# What changes nothing but what the person who asks gets.
OWN_NOTICES = {"dashboard_notices", "dashboard_add_device", "dashboard_remove_device", "dashboard_renew_device"}
OWNERS_OWN = {"team", "api-keys", "receiving-wallets", "approvals", "close-account"}


def posts_open_to(role: Role) -> set[str]:
    acts = {route.name: route.decision.acts.get("POST") for route in SEATED}
    return {name for name, act in acts.items() if act and may(role, act)}


def test_viewers_can_only_leave_and_choose_what_they_are_told() -> None:
    assert posts_open_to(Role.VIEWER) == {LEAVE} | OWN_NOTICES


def test_admins_change_nothing_that_is_the_owners() -> None:
    for route in SEATED:
        if route.name in posts_open_to(Role.ADMIN) - {LEAVE}:
            here = {"mer_id": new_id("mer"), "mode": Mode.LIVE}
            address = reverse(route.name, kwargs=here | dict(route.arguments))
            assert address.split("/")[4] not in OWNERS_OWN, route.name


def named(route: Route) -> str:
    return route.name


def ask(desk: Desk, route: Route, method: str) -> Any:
    address = desk.url(route.name, **dict(route.arguments))
    return desk.client.generic(method, address, b"")


@pytest.mark.django_db
@pytest.mark.parametrize("app", BY_APP)
def test_each_role_may_do_what_its_acts_allow_and_nothing_else(app: str) -> None:
    merchant = make_merchant()
    # So that whoever asks may always leave.
    make_desk(merchant, Role.OWNER)
    desks = {role: make_desk(merchant, role) for role in Role}
    for route, (role, desk), method in product(BY_APP[app], desks.items(), METHODS):
        with desk.undone(route.name, role, method):
            act = route.decision.acts.get(method)
            status = ask(desk, route, method).status_code
            if act is None:
                assert status == 405
            elif may(role, act):
                assert status not in {403, 405}
                assert status < 500
            else:
                assert status == 403


@pytest.mark.django_db
def test_no_route_takes_another_method() -> None:
    """Whatever the role: that is asked for afterwards. Refusing one of the others is refusing each."""
    desk = make_desk(role=Role.OWNER)
    for route in SEATED:
        with case(route.name):
            assert ask(desk, route, "PATCH").status_code == 405


@pytest.mark.django_db
def test_without_asking_for_the_role_a_viewer_would_do_what_owners_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test above."""
    acts = {route: route.decision.acts.get("POST") for route in SEATED}
    route = next(route for route, act in acts.items() if act is Act.MANAGE_TEAM)
    monkeypatch.setattr(access, "may", lambda *_: True)
    with pytest.raises(AssertionError, match="== 403"):
        test_each_role_may_do_what_its_acts_allow_and_nothing_else(app_of(route))


@pytest.mark.django_db
@pytest.mark.parametrize("app", BY_APP)
def test_strangers_find_nothing_and_nobody_is_sent_to_the_login(app: str) -> None:
    merchant = make_merchant()
    stranger = make_desk()
    stranger.merchant = merchant
    nobody = Desk(Client(), merchant, stranger.user)
    for route, method in product(BY_APP[app], METHODS):
        with undone(route.name, method):
            assert ask(stranger, route, method).status_code == 404
            answer = ask(nobody, route, method)
            assert answer.status_code == 302
            assert answer["Location"].startswith("/account/login/?next=%2Fdashboard%2F")


@pytest.mark.django_db
def test_a_member_who_was_removed_finds_nothing_at_the_next_request() -> None:
    desk = make_desk()
    assert desk.get("dashboard_team").status_code == 200
    desk.user.memberships.all().delete()
    assert desk.get("dashboard_team").status_code == 404


@pytest.mark.django_db
def test_a_mode_that_does_not_exist_is_no_route() -> None:
    desk = make_desk()
    address = desk.url("dashboard_team").replace("/live/", "/sandbox/")
    assert desk.client.get(address).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("mode", Mode)
def test_the_path_says_which_mode_a_page_is_about(mode: Mode) -> None:
    desk = make_desk(mode=mode)
    page = desk.get("dashboard_team")
    assert ("Nothing here is real money" in page.text) is (mode == Mode.TEST)
    other = Mode.TEST if mode == Mode.LIVE else Mode.LIVE
    assert desk.url("dashboard_team").replace(f"/{mode}/", f"/{other}/") in page.text


@pytest.mark.django_db
@pytest.mark.parametrize("route", [route for route in SEATED if route.decision.fresh], ids=named)
def test_dangerous_acts_ask_again_who_it_is(route: Route) -> None:
    desk = make_desk(role=Role.OWNER, fresh=False)
    for method in route.decision.acts:
        answer = ask(desk, route, method)
        assert answer.status_code == 302
        assert answer["Location"].startswith("/account/reauthenticate/?next=")


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["dashboard", "dashboard_new_merchant"])
def test_pages_of_no_merchant_are_for_everybody_who_is_logged_in(name: str) -> None:
    client = log_in(make_user())
    assert client.get(reverse(name)).status_code in {200, 302}
    assert client.put(reverse(name)).status_code == 405
