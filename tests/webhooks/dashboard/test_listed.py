"""The pages of endpoints that a merchant adds."""

from typing import Any

import pytest
from django.conf import settings as configured

from accounts.models import Merchant
from accounts.states import Mode, Role
from mails.models import OutgoingMail
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON
from tests.webhooks.factories import HOOK, make_endpoint
from webhooks.dashboard.words import EVENTS
from webhooks.listed.service import add_endpoint
from webhooks.models import Endpoint, SigningSecret

pytestmark = pytest.mark.django_db
FORM = {"url": "https://erp.example/hook", "name": "Bookkeeping", "events": ["checkout.completed"], "enabled": "on"}


@pytest.fixture
def added(owner: Desk) -> Endpoint:
    """An endpoint that the merchant added."""
    values = {"url": "https://crm.example/", "name": "The warehouse", "events": None, "is_enabled": True}
    return add_endpoint(owner.merchant, mode=Mode.LIVE, values=values, now=NOON)[0]


def test_each_type_of_event_has_its_line() -> None:
    assert list(EVENTS) == configured.WEBHOOK_EVENT_TYPES


def test_a_persons_endpoint_is_shown_with_its_secret_once_and_listed(owner: Desk) -> None:
    assert owner.get("dashboard_add_endpoint").status_code == 200
    shown = owner.post("dashboard_add_endpoint", FORM)
    assert "whsec_" in shown.text
    endpoint = Endpoint.objects.get()
    assert endpoint.events == ["checkout.completed", "checkout.reversed", "checkout.restored"]
    assert endpoint.created_by == owner.user.email
    assert OutgoingMail.objects.filter(recipient=owner.user.email).count() == 1
    desk = owner.get("dashboard_webhooks").text
    page = owner.get("dashboard_endpoint", listed_id=endpoint.public_id).text
    for text in (desk, page):
        assert "Bookkeeping" in text
        assert "whsec_A" not in text
    assert shown.context["secret"] not in desk + page


def test_with_every_event_chosen_it_receives_what_nobody_has_to_choose(owner: Desk, added: Endpoint) -> None:
    classic = {"events": configured.WEBHOOK_CLASSIC_TYPES}
    answer = owner.post("dashboard_endpoint", FORM | classic, listed_id=added.public_id)
    assert answer.status_code == 302
    added.refresh_from_db()
    assert (added.url, added.name, added.events) == (FORM["url"], "Bookkeeping", None)
    owner.post("dashboard_endpoint", {k: v for k, v in FORM.items() if k != "enabled"}, listed_id=added.public_id)
    added.refresh_from_db()
    assert (added.is_enabled, added.disabled_reason) == (False, f"Disabled by {owner.user.email}.")


def test_an_endpoint_of_no_type_is_not_shown_as_one_of_all_that_need_no_choice(owner: Desk, added: Endpoint) -> None:
    def shown() -> list[bool]:
        pages = (owner.get("dashboard_webhooks"), owner.get("dashboard_endpoint", listed_id=added.public_id))
        return ["All that need no choice" in page.text for page in pages]

    assert shown() == [True, True]
    # A plugin may choose only types that are never sent.
    Endpoint.objects.update(events=[])
    assert shown() == [False, False]
    form = owner.get("dashboard_endpoint", listed_id=added.public_id).context["form"]
    assert not any(box.data["selected"] for box in form["events"])


def test_types_to_choose_are_off_in_a_new_form_and_are_chosen_one_by_one(owner: Desk, added: Endpoint) -> None:
    form = owner.get("dashboard_add_endpoint").context["form"]
    assert [box.data["selected"] for box in form.classic_boxes] == [True] * len(configured.WEBHOOK_CLASSIC_TYPES)
    assert [box.data["selected"] for box in form.opt_in_boxes] == [False] * len(configured.WEBHOOK_OPT_IN_TYPES)
    everything = {"events": configured.WEBHOOK_EVENT_TYPES}
    owner.post("dashboard_endpoint", FORM | everything, listed_id=added.public_id)
    added.refresh_from_db()
    assert added.events == configured.WEBHOOK_EVENT_TYPES
    page = owner.get("dashboard_endpoint", listed_id=added.public_id)
    assert all(box.data["selected"] for box in page.context["form"].opt_in_boxes)
    for name in configured.WEBHOOK_OPT_IN_TYPES:
        assert EVENTS[name] in page.text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": ""}, "url"),
        ({"url": HOOK}, "url"),
        ({"events": []}, "events"),
        ({"events": ["unheard.of"]}, "events"),
    ],
)
def test_a_mistake_is_told_at_its_field(
    owner: Desk, added: Endpoint, settings: Any, change: dict[str, Any], field: str
) -> None:
    settings.WEBHOOK_ALLOW_LOOPBACK = False
    make_endpoint(owner.merchant, HOOK)
    for answer in (
        owner.post("dashboard_add_endpoint", FORM | change),
        owner.post("dashboard_endpoint", FORM | change, listed_id=added.public_id),
    ):
        assert answer.status_code == 422
        assert list(answer.context["form"].errors) == [field]
    assert Endpoint.objects.count() == 2


def test_its_secret_is_rotated_alone_and_it_can_be_deleted(owner: Desk, added: Endpoint) -> None:
    shown = owner.post("dashboard_rotate_endpoint", listed_id=added.public_id)
    assert shown.context["secret"] in shown.text
    assert [secret.expires_at is None for secret in SigningSecret.objects.order_by("pk")] == [False, True]
    assert "signs beside it" in shown.text
    assert owner.post("dashboard_delete_endpoint", listed_id=added.public_id).status_code == 302
    assert owner.get("dashboard_endpoint", listed_id=added.public_id).status_code == 404
    assert "The warehouse" not in owner.get("dashboard_webhooks").text


def test_the_default_endpoint_has_its_own_form(owner: Desk, endpoint: Endpoint) -> None:
    assert owner.get("dashboard_endpoint", listed_id="whe_default").status_code == 404
    assert owner.post("dashboard_delete_endpoint", listed_id="whe_default").status_code == 404


def test_a_viewer_looks_and_changes_nothing(owner: Desk, merchant: Merchant, added: Endpoint) -> None:
    viewer = make_desk(owner.merchant, Role.VIEWER)
    page = viewer.get("dashboard_endpoint", listed_id=added.public_id)
    assert page.status_code == 200
    assert "Delete endpoint" not in page.text
    assert viewer.get("dashboard_add_endpoint").status_code == 403
    for name in ("dashboard_endpoint", "dashboard_rotate_endpoint", "dashboard_delete_endpoint"):
        assert viewer.post(name, FORM, listed_id=added.public_id).status_code == 403
