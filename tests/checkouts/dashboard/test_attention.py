"""What the overview warns of."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from checkouts.models import (
    InboxItem,
)
from checkouts.states import InboxReason
from tests.checkouts.factories import (
    make_expired,
    pay,
)
from tests.dashboard.inboxes import reverse_a_payment
from tests.dashboard.people import Desk
from tests.factories import (
    LOCAL_NODES,
    make_live_chain,
    make_wallet,
)
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db


def test_a_payment_that_was_taken_back_is_told_first(owner: Desk) -> None:
    reverse_a_payment(owner)
    notices = owner.get("dashboard_overview").context["notices"]
    assert notices[0].heading == "A payment was reversed by the network."
    assert notices[0].tone == "bad"
    # It is not counted among what waits as well.
    assert not [one for one in notices if "in your inbox" in one.heading]


def test_what_wants_attention_is_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    assert "You have no receiving wallet" in owner.get("dashboard_overview").text
    make_wallet(owner.merchant)
    make_live_chain("base", halted_reason="a fork")
    checkout = make_expired(merchant=owner.merchant)
    transfer = pay(checkout)
    checkout.payments.all().delete()
    InboxItem.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        transfer=transfer,
        reason=InboxReason.LATE,
        explanation="late",
        created_at=timezone.now(),
    )
    Endpoint.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        url="https://shop.example/hook",
        consecutive_failures=9,
        is_default=True,
    )
    # Given up by the merchant, and nothing waits for it: that it fails concerns nobody.
    Endpoint.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        url="https://shop.example/old",
        consecutive_failures=9,
    )
    headings = [
        notice.heading for notice in owner.get("dashboard_overview").context["notices"]
    ]
    assert headings == [
        "1 payment waits in your inbox.",
        "A webhook address does not answer.",
        "Base cannot be read now.",
    ]


def test_a_network_that_is_behind_is_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base", head_at=timezone.now() - timedelta(seconds=45))
    [notice] = owner.get("dashboard_overview").context["notices"]
    assert notice.heading == "Base is delayed."


def test_what_is_well_is_not_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base")
    assert owner.get("dashboard_overview").context["notices"] == []
