"""A checkout's webhooks are sent again from its page."""

import pytest

from tests.checkouts.dashboard.opened import tell
from tests.checkouts.factories import make_completed
from tests.dashboard.people import Desk
from tests.factories import NOON
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db


def test_a_webhook_is_sent_again(admin: Desk) -> None:
    done = make_completed(merchant=admin.merchant)
    delivery = tell(done)
    Delivery.objects.update(status=DeliveryStatus.FAILED, finished_at=NOON, tries=9)
    page = admin.get("dashboard_checkout", checkout_id=done.public_id).text
    assert "Webhook checkout.completed failed" in page
    answer = admin.post("dashboard_resend", checkout_id=done.public_id, delivery_id=delivery.public_id)
    assert answer.status_code == 302
    delivery.refresh_from_db()
    assert (delivery.status, delivery.tries) == (DeliveryStatus.PENDING, 0)


def test_a_viewer_sends_no_webhook_again(viewer: Desk) -> None:
    done = make_completed(merchant=viewer.merchant)
    delivery = tell(done)
    page = viewer.get("dashboard_checkout", checkout_id=done.public_id).text
    assert "https://shop.example/hook" in page
    assert "Send again" not in page
    arguments = {"checkout_id": done.public_id, "delivery_id": delivery.public_id}
    assert viewer.post("dashboard_resend", **arguments).status_code == 403


def test_only_a_checkouts_own_webhooks_are_sent_again_from_its_page(owner: Desk) -> None:
    mine = make_completed(merchant=owner.merchant)
    foreign = tell(make_completed())
    answer = owner.post("dashboard_resend", checkout_id=mine.public_id, delivery_id=foreign.public_id)
    assert answer.status_code == 404
