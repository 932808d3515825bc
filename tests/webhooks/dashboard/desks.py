"""What tests of the webhooks desk open and fill in."""

from datetime import datetime, timedelta
from typing import Any

from tests.dashboard.people import Desk
from webhooks.models import Delivery

HOUR = timedelta(hours=1)


def open_delivery(desk: Desk, delivery: Delivery) -> Any:
    return desk.get("dashboard_delivery", delivery_id=delivery.public_id)


def times(since: datetime, until: datetime, status: str = "failed") -> dict[str, str]:
    form = "%Y-%m-%dT%H:%M"
    return {"since": since.strftime(form), "until": until.strftime(form), "status": status}
