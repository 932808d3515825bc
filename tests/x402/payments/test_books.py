"""What our own books have of a transaction."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from demo.localnet.anvil import Anvil
from tests.chains import connect
from tests.contract.client import ApiClient
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import ask, verdict
from tests.x402.payers import paid
from wallets.models import Transfer
from x402.models import Sighting, X402Payment

pytestmark = pytest.mark.django_db


def test_a_payment_that_its_watcher_has_read_needs_no_node(base: Anvil, base_seller: ApiClient, settings: Any) -> None:
    claim = paid(base, base_seller, blocks=8)
    read_all(make_watcher(base.url))
    recorded = Transfer.objects.get()
    assert (recorded.purpose, recorded.state) == ("x402", "confirmed")
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"BASE_RPC_URLS": "http://127.0.0.1:1"}
    assert verdict(base_seller, claim) == "valid"
    assert verdict(base_seller, claim) == "already_used"
    payment = X402Payment.objects.get()
    assert payment.transfer == recorded
    assert payment.transfer.claim.kind == "x402"
    assert payment.final_at is not None
    # Its money waits in a forwarder.
    assert payment.settled_at is None


def test_age_counts_from_the_first_time_a_payment_was_named(base: Anvil, base_seller: ApiClient, settings: Any) -> None:
    """Even by a request that no node could answer: the outage was ours."""
    named, unnamed = paid(base, base_seller), paid(base, base_seller)
    connect(settings, base="http://127.0.0.1:1")
    assert ask(base_seller, named).status == 503
    connect(settings, base=base.url)
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        assert verdict(base_seller, unnamed) == "too_old"
        assert verdict(base_seller, unnamed) == "too_old"
        assert verdict(base_seller, named) == "valid"
    assert Sighting.objects.filter(tx_hash=named.tx_hash).count() == 1
