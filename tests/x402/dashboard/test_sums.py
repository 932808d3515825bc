"""What machines paid adds up."""

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from tests.dashboard.machines import make_machine_payment
from tests.dashboard.people import Desk
from tests.x402.recorded import make_machine_transfer, make_seller
from wallets.states import TransferState

pytestmark = pytest.mark.django_db


def test_the_three_figures_add_up(owner: Desk, settings: Any) -> None:
    to = make_seller(owner.merchant, settings)
    for units in (10_000, 30_000):
        final = {"state": TransferState.CONFIRMED, "confirmed_at": timezone.now()}
        make_machine_transfer(owner.merchant, to, units, **final)
    sums = owner.get("dashboard_x402").context["sums"]
    assert [(line.chain, line.received, line.waiting) for line in sums.lines] == [
        ("base", Decimal("0.04"), Decimal("0.04"))
    ]
    assert sums.received == sums.waiting + sums.settled


def test_in_test_mode_the_figures_are_those_of_simulated_payments(owner: Desk) -> None:
    owner.mode = Mode.TEST
    make_machine_payment(owner.merchant, mode=Mode.TEST)
    make_machine_payment(owner.merchant, mode=Mode.TEST, chain="solana", tx_hash="s")
    make_machine_payment(owner.merchant)
    sums = owner.get("dashboard_x402").context["sums"]
    assert (sums.received, sums.waiting, sums.settled) == (Decimal("0.02"), Decimal("0.01"), Decimal("0.01"))
