"""What every page of the dashboard has: the merchant, the mode, the sidebar, the refusals."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts.audit.actors import Actor
from accounts.dashboard.converters import MerchantConverter, ModeConverter
from accounts.merchants.service import create_merchant
from accounts.models import Merchant
from accounts.states import Mode
from tests.dashboard.people import Desk, log_in, make_desk
from tests.factories import NOON, make_merchant, make_user

pytestmark = pytest.mark.django_db


def test_the_dashboard_leads_to_a_merchant_of_the_person(owner: Desk) -> None:
    answer = owner.client.get("/dashboard/")
    assert answer["Location"] == owner.url("dashboard_overview")


def test_another_merchant_can_be_made_and_switched_to(owner: Desk) -> None:
    answer = owner.client.post("/dashboard/new/", {"name": "Second Shop"})
    second = Merchant.objects.get(name="Second Shop")
    assert second.public_id in answer["Location"]
    page = owner.get("dashboard_team").text
    assert f"/dashboard/{second.public_id}/live/team/" in page


@pytest.mark.parametrize("name", ["", " ", "x" * 121, "a\x00b"])
def test_a_merchant_needs_a_name(name: str, owner: Desk) -> None:
    answer = owner.client.post("/dashboard/new/", {"name": name})
    assert answer.status_code == 200
    assert Merchant.objects.count() == 1


def test_only_ones_own_merchants_are_offered(owner: Desk) -> None:
    make_merchant("Somebody Elses")
    assert "Somebody Elses" not in owner.get("dashboard_team").text


def test_the_switch_keeps_page_and_merchant(merchant: Merchant) -> None:
    desk = make_desk(merchant, mode=Mode.TEST)
    page = desk.get("dashboard_team").text
    assert f'href="/dashboard/{merchant.public_id}/live/team/"' in page


def test_the_sidebar_says_where_one_is(owner: Desk) -> None:
    page = owner.get("dashboard_team").text
    current = page.split('aria-current="page"')
    assert len(current) == 2
    assert owner.url("dashboard_team") in current[0][-200:]


def test_a_role_that_is_too_small_is_told_so_inside_the_dashboard(viewer: Desk) -> None:
    answer = viewer.post("dashboard_invite", {"email": "x@example.test"})
    assert answer.status_code == 403
    assert "Your role does not include this" in answer.text
    assert "a viewer" in answer.text


def test_names_are_words_and_never_markup(owner: Desk) -> None:
    Merchant.objects.update(name="<script>alert(1)</script>")
    owner.user.name = '"><img src=x onerror=alert(1)>'
    owner.user.save()
    page = owner.get("dashboard_team").text
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_a_page_costs_few_queries(owner: Desk, viewer: Desk, django_assert_max_num_queries: Any) -> None:
    owner.get("dashboard_team")
    # Session, person, seat, the page's two lists, the merchants to switch to, and what the sidebar counts.
    with django_assert_max_num_queries(9):
        owner.get("dashboard_team")


def test_who_must_log_in_first_comes_back_to_where_they_wanted_to_be() -> None:
    user = make_user()
    merchant = create_merchant(name="A", actor=Actor(user), now=NOON)
    path = f"/dashboard/{merchant.public_id}/test/team/"
    asked = Client().get(path + "?a=1")
    assert asked["Location"].endswith(f"next={path.replace('/', '%2F')}%3Fa%3D1")
    assert log_in(user).get(path).status_code == 200


def test_the_sidebar_opens_where_one_is(owner: Desk) -> None:
    page = owner.get("dashboard_team").text
    bar = page.split('<nav class="navigation"')[1].split("</nav>")[0]
    groups = [part.split(">")[0].strip() for part in bar.split("<details")[1:]]
    assert groups == ["open", "", "", "open"]


# What a path of the dashboard may say.


@pytest.mark.django_db
def test_a_merchants_id_is_one() -> None:
    assert re.fullmatch(MerchantConverter.regex, make_merchant().public_id)


@pytest.mark.parametrize("text", ["mer_", "mer_" + "0" * 25, "mer_" + "i" * 26, "usr_" + "0" * 26])
def test_other_text_is_none(text: str) -> None:
    assert re.fullmatch(MerchantConverter.regex, text) is None


def test_a_mode_is_read_and_written_as_paths_spell_it() -> None:
    converter = ModeConverter()
    assert re.fullmatch(converter.regex, "demo") is None
    assert converter.to_python("test") is Mode.TEST
    assert converter.to_url(Mode.LIVE) == "live"


# Forms that did not come from a page of ours.


@pytest.mark.django_db
def test_a_forged_form_is_answered_in_words() -> None:
    answer = Client(enforce_csrf_checks=True).post("/account/login/", {"login": "a"})
    assert answer.status_code == 403
    assert "account/forged.html" in [template.name for template in answer.templates]
