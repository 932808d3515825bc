"""Escrow in the dashboard: asking for it, seeing it, releasing it."""

from typing import Any

import pytest

from accounts.models import AuditEntry
from checkouts.models import Checkout
from links.models import PaymentLink
from links.states import LinkType
from settlements.models import Hold
from tests.checkouts.dashboard.opened import page_of
from tests.checkouts.factories import make_completed, make_expired, make_page_checkout
from tests.dashboard.people import Desk
from tests.factories import LOCAL_NODES, NOON, make_live_chain, make_wallet
from tests.links.dashboard.filled import edited, make

pytestmark = pytest.mark.django_db


def release(desk: Desk, checkout: Checkout) -> Any:
    return desk.post("dashboard_release", checkout_id=checkout.public_id)


def test_the_form_makes_a_checkout_in_escrow(owner: Desk, settings: Any) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = dict(LOCAL_NODES)
    make_live_chain("base")
    make_wallet(owner.merchant)
    filled = {"amount": "25.00", "expires_in": "1800"}
    for escrow in ({}, {"escrow": "on"}):
        answer = owner.post("dashboard_new_checkout", filled | escrow)
        assert answer.status_code == 302
    made = Checkout.objects.order_by("pk").values_list("escrow", flat=True)
    assert list(made) == [False, True]
    assert Hold.objects.count() == 1


def test_an_admin_releases_what_is_held(admin: Desk) -> None:
    held = make_completed(merchant=admin.merchant, escrow=True)
    page = page_of(admin, held)
    assert "Held in escrow" in page
    assert "Release this money?" in page
    assert release(admin, held).status_code == 302
    hold = Hold.objects.get()
    assert (hold.released_by, hold.released_actor) == ("member", admin.user)
    entry = AuditEntry.objects.get(action="escrow.released")
    assert (entry.actor, entry.object_id) == (admin.user, held.public_id)
    page = page_of(admin, held)
    assert "The money is released." in page
    assert f"Released by <b>{admin.user.email}</b>" in page
    assert "Release this money?" not in page
    release(admin, held)
    assert AuditEntry.objects.filter(action="escrow.released").count() == 1


def test_a_viewer_sees_that_money_is_held_and_releases_nothing(viewer: Desk) -> None:
    held = make_completed(merchant=viewer.merchant, escrow=True)
    page = page_of(viewer, held)
    assert "Held in escrow" in page
    assert "Release this money?" not in page
    assert release(viewer, held).status_code == 403
    assert Hold.objects.get().released_at is None


def test_a_stranger_finds_nothing_to_release(stranger: Desk) -> None:
    held = make_completed(merchant=stranger.merchant, escrow=True)
    assert release(stranger, held).status_code == 404
    assert Hold.objects.get().released_at is None


def test_nothing_is_released_before_the_end(owner: Desk) -> None:
    held = make_page_checkout(owner.merchant, escrow=True)
    assert "Release this money?" not in page_of(owner, held)
    release(owner, held)
    assert Hold.objects.get().released_at is None
    assert "released once it is completed or expired" in page_of(owner, held)


def test_a_checkout_without_escrow_says_nothing_of_it(owner: Desk) -> None:
    plain = make_completed(merchant=owner.merchant)
    assert "escrow-heading" not in page_of(owner, plain)
    release(owner, plain)
    assert "created without escrow" in page_of(owner, plain)


@pytest.mark.parametrize(("who", "words"), [("external", "a stranger"), ("api", "an API key")])
def test_the_page_says_who_released_it(who: str, words: str, owner: Desk) -> None:
    held = make_completed(merchant=owner.merchant, escrow=True)
    Hold.objects.update(released_at=NOON, released_by=who)
    page = page_of(owner, held)
    assert f"Released by <b>{words}" in page
    assert "Released from escrow" in page
    assert ("the money is there" in page) is (who == "external")


def test_the_list_finds_what_is_held(owner: Desk) -> None:
    held = make_completed(merchant=owner.merchant, escrow=True)
    released = make_completed(merchant=owner.merchant, escrow=True)
    make_completed(merchant=owner.merchant)
    make_completed(escrow=True)
    successor = make_completed(merchant=owner.merchant, replaces=make_expired(merchant=owner.merchant, escrow=True))
    Checkout.objects.filter(pk=successor.pk).update(escrow=True)
    release(owner, released)
    page = owner.get("dashboard_checkouts", "?escrow=held&status=completed")
    found = [row.public_id for row in page.context["page"].rows]
    assert found == [successor.public_id, held.public_id]
    assert "escrow=held" in page.context["tabs"][0][1]
    everything = owner.get("dashboard_checkouts", "?escrow=nonsense")
    assert len(everything.context["page"].rows) == 5


def test_escrow_of_a_link_is_ticked_in_its_form_and_kept_by_editing(owner: Desk) -> None:
    make(owner, LinkType.CUSTOM, escrow="on")
    link = PaymentLink.objects.get()
    assert link.escrow
    page = owner.get("dashboard_link", link_id=link.public_id).text
    assert "Held until you release it" in page
    assert edited(owner, link, title="Another").status_code == 302
    link.refresh_from_db()
    assert (link.title, link.escrow) == ("Another", True)
