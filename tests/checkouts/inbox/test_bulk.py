"""Several items decided at once: each as on its own page, none kept back by another, all of them undone together."""

import re
from typing import Any

import pytest
from django.db.models import QuerySet

from accounts.states import Mode
from checkouts.models import Checkout, InboxDecision, InboxItem
from checkouts.states import InboxAct, InboxStatus
from tests.checkouts.inboxes import extra_item, late_item
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.inboxes import carry_out
from tests.dashboard.inboxes import decide as decide_alone
from tests.dashboard.people import Desk

pytestmark = pytest.mark.django_db

MANY = "dashboard_inbox_decide_many"


def asked(desk: Desk, act: str, *items: InboxItem) -> Any:
    """The confirmation."""
    query = "&".join([f"act={act}", *(f"item={item.pk}" for item in items)])
    return desk.get(MANY, f"?{query}")


def chosen_in(page: str) -> list[str]:
    """What the confirmation would post."""
    return re.findall(r'name="chosen" value="([^"]*)"', page)


def confirm(desk: Desk, act: str, *items: InboxItem) -> Any:
    return desk.post(MANY, {"chosen": chosen_in(asked(desk, act, *items).text)})


def undo(desk: Desk) -> Any:
    """Press the button of the tab of what is being done."""
    page = desk.get("dashboard_inbox", "?tab=doing").text
    return desk.post("dashboard_inbox_undo_many", {"decision": re.findall(r'name="decision" value="(\d+)"', page)})


def standing() -> QuerySet[InboxDecision]:
    return InboxDecision.objects.filter(undone_at=None, failed_at=None)


def test_late_payments_are_accepted_together_and_what_is_no_suggestion_is_left_out(admin: Desk) -> None:
    whole, short = late_item(merchant=admin.merchant), late_item(late=20 * DOLLAR, merchant=admin.merchant)
    extra = extra_item(merchant=admin.merchant)
    page = asked(admin, "suggested", whole, short, extra).text
    assert "1 of the selected items is left out" in " ".join(page.split())
    assert "Accept late payment" in page
    assert "Accept as paid" in page
    assert not InboxDecision.objects.exists()
    assert confirm(admin, "suggested", whole, short, extra).status_code == 302
    assert standing().count() == 2
    assert carry_out() == 2
    assert {(c.status, c.exception) for c in Checkout.objects.filter(replaces__isnull=False)} == {
        ("completed", ""),
        ("completed", "underpaid"),
    }


def test_equal_items_are_dismissed_and_undone_together(owner: Desk, admin: Desk) -> None:
    items = [extra_item(merchant=owner.merchant) for _ in range(3)]
    confirm(owner, "dismiss", *items)
    assert standing().count() == 3
    assert undo(admin).status_code == 302
    assert standing().count() == 0
    assert carry_out() == 0
    confirm(owner, "dismiss", *items)
    assert carry_out() == 3
    assert set(InboxItem.objects.values_list("status", flat=True)) == {InboxStatus.DISMISSED}


def test_one_that_a_colleague_decided_keeps_no_other_back(owner: Desk) -> None:
    first, second = extra_item(merchant=owner.merchant), extra_item(merchant=owner.merchant)
    posted = chosen_in(asked(owner, "dismiss", first, second).text)
    decide_alone(owner, first, InboxAct.DISMISS)
    InboxItem.objects.filter(pk=first.pk).update(status=InboxStatus.OPEN)
    owner.post(MANY, {"chosen": posted})
    assert standing().count() == 2
    assert "1 decided." in owner.get("dashboard_inbox").text


def test_what_changed_since_is_refused_in_words(owner: Desk) -> None:
    item = late_item(late=20 * DOLLAR, merchant=owner.merchant)
    owner.post(MANY, {"chosen": [f"{item.pk}:accept_late::19.000000"]})
    assert not InboxDecision.objects.exists()
    assert "1 not decided: The money for this checkout has changed" in owner.get("dashboard_inbox").text


@pytest.mark.parametrize(
    "posted",
    [
        "",
        "x",
        "{}:burn::",
        "{}:refunded::",
        "{}:credit::",
        "{}:credit:chk_live_none:",
        "-1:dismiss::",
        "{}:dismiss::NaN",
    ],
)
def test_what_no_page_posts_decides_nothing(posted: str, owner: Desk) -> None:
    item = extra_item(merchant=owner.merchant)
    assert owner.post(MANY, {"chosen": [posted.format(item.pk)]}).status_code == 302
    assert not InboxDecision.objects.exists()


@pytest.mark.parametrize("query", ["", "?act=dismiss", "?act=dismiss&item=x", "?act=suggested&item=999999999"])
def test_nothing_selected_asks_nothing(query: str, owner: Desk) -> None:
    assert owner.get(MANY, query).status_code == 302


def test_a_viewer_selects_nothing(owner: Desk, viewer: Desk) -> None:
    item = extra_item(merchant=owner.merchant)
    page = viewer.get("dashboard_inbox").text
    assert 'type="checkbox"' not in page
    assert asked(viewer, "dismiss", item).status_code == 403
    assert viewer.post(MANY, {"chosen": [f"{item.pk}:dismiss::"]}).status_code == 403
    assert viewer.post("dashboard_inbox_undo_many").status_code == 403


def test_another_tenants_items_do_not_exist(owner: Desk, stranger: Desk) -> None:
    item = extra_item(merchant=owner.merchant)
    elsewhere = Desk(stranger.client, stranger.user.memberships.get().merchant, stranger.user)
    in_test = Desk(owner.client, owner.merchant, owner.user, Mode.TEST)
    for desk in (elsewhere, in_test):
        assert asked(desk, "dismiss", item).status_code == 302
        desk.post(MANY, {"chosen": [f"{item.pk}:dismiss::"]})
    assert asked(stranger, "dismiss", item).status_code == 404
    assert not InboxDecision.objects.exists()
    decide_alone(owner, item, InboxAct.DISMISS)
    decision = InboxDecision.objects.get()
    for desk in (elsewhere, in_test):
        desk.post("dashboard_inbox_undo_many", {"decision": [decision.pk]})
    assert standing().count() == 1


def test_the_list_selects_none_at_first_and_all_on_request(owner: Desk) -> None:
    for _ in range(2):
        extra_item(merchant=owner.merchant)
    page = owner.get("dashboard_inbox").text
    assert page.count('type="checkbox"') == 2
    assert " checked" not in page
    assert owner.get("dashboard_inbox", "?select=all").text.count(" checked") == 2
