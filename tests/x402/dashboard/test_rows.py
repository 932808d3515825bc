"""Payments of machines in the list and in its file."""

import pytest

from tests.dashboard.machines import make_machine_payment
from tests.dashboard.people import Desk
from tests.x402.dashboard.test_pages import shown
from x402.states import PaymentStatus

pytestmark = pytest.mark.django_db


def test_payments_are_narrowed_and_leave_as_a_file(viewer: Desk) -> None:
    merchant = viewer.merchant
    make_machine_payment(merchant)
    tron = make_machine_payment(merchant, chain="tron", token="USDT", status=PaymentStatus.REVERSED, resource="=1+1")
    for query in ("?chain=tron", "?token=USDT", "?status=reversed"):
        assert shown(viewer, query) == [tron.tx_hash]
    assert len(shown(viewer, "?chain=x&token=%00&status=y&before=z")) == 2
    assert "No payments match" in viewer.get("dashboard_x402", "?chain=ton").text
    file = viewer.get("dashboard_x402_csv", "?chain=tron")
    lines = b"".join(file.streaming_content).decode("utf-8-sig").splitlines()
    assert len(lines) == 2
    assert "'=1+1" in lines[1]
    assert "0.010000" in lines[1]
