"""What a list or file pays too much: after its payout was cancelled, or once more, and what is only another payment."""

from typing import Any

import pytest

from payouts.lifecycle.service import cancel_payout
from payouts.models import Payout, PayoutRequest, PayoutSurplus
from payouts.states import BatchStatus, Method, PayoutException, PayoutStatus
from tests.dashboard.people import Desk
from tests.factories import NOON
from tests.payouts.factories import approved, make_batch, make_payout
from tests.payouts.test_following import Till, actions, subjects

pytestmark = pytest.mark.django_db

SENT_CANCELLED = ["A payout was sent after you cancelled it: 5.000000 USDC"] * 2
"""Who approved and who made the batch are owners, and get a mail each."""


@pytest.fixture(autouse=True)
def _no_bells(settings: Any) -> None:
    """The test follows by hand."""
    settings.MOVEMENT_CONSUMERS = []


@pytest.fixture
def till() -> Till:
    """The wallet of a merchant that has 5 USDC to pay to a buyer, approved."""
    return Till(approved(make_payout()))


def hand_out(payout: Payout, method: Method = Method.LIST, **values: Any) -> None:
    """The payout was in a batch, which is closed since noon."""
    batch = make_batch(payout.merchant)
    for name, value in ({"method": method, "status": BatchStatus.CLOSED, "closed_at": NOON} | values).items():
        setattr(batch, name, value)
    batch.save()
    PayoutRequest.objects.create(payout=payout, batch=batch, raw=b"")


@pytest.mark.parametrize("method", [Method.LIST, Method.SAFE, Method.CALLS])
def test_what_a_list_pays_of_a_cancelled_payout_is_reported_once_it_is_final(till: Till, method: Method) -> None:
    hand_out(till.payout, method)
    cancel_payout(till.payout, now=NOON)
    sent = till.send()
    assert (subjects(), PayoutSurplus.objects.count()) == ([], 0)
    assert (till.confirm().status, till.payout.exception) == (PayoutStatus.CANCELLED, PayoutException.NONE)
    assert (PayoutSurplus.objects.get().movement_id, actions()[-1], subjects()) == (
        sent.pk,
        "payout.sent_cancelled",
        SENT_CANCELLED,
    )
    till.confirm()
    assert subjects() == SENT_CANCELLED
    till.fork()
    assert (PayoutSurplus.objects.count(), actions()[-1]) == (0, "payout.returned")


def test_what_ended_by_itself_or_was_never_handed_out_is_not_reported(till: Till) -> None:
    other = Till(approved(make_payout()))
    hand_out(till.payout, Method.AUTHORIZATION)
    for one in (till, other):
        cancel_payout(one.payout, now=NOON)
        one.send()
        one.confirm()
    assert (PayoutSurplus.objects.count(), subjects()) == (0, [])


def test_a_payout_that_waits_is_paid_before_a_cancelled_one_is_reported(till: Till) -> None:
    hand_out(till.payout)
    cancel_payout(till.payout, now=NOON)
    again = Till(approved(make_payout(till.payout.merchant)), till.wallet)
    again.send()
    assert (again.confirm().status, PayoutSurplus.objects.count()) == (PayoutStatus.PAID, 0)
    again.send()
    again.confirm()
    assert PayoutSurplus.objects.get().payout_id == till.payout.pk


def test_the_list_and_the_page_show_it(owner: Desk) -> None:
    till = Till(approved(make_payout(owner.merchant)))
    hand_out(till.payout)
    cancel_payout(till.payout, now=NOON)
    sent = till.send()
    assert "Sent though cancelled" not in owner.get("dashboard_payouts", "?status=done").text
    till.confirm()
    assert "Sent though cancelled" in owner.get("dashboard_payouts", "?status=done").text
    page = owner.get("dashboard_payout", payout_id=till.payout.public_id).text
    assert "This was sent after it was cancelled." in page
    assert sent.tx_hash in page
