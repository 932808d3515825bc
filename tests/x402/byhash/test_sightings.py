"""What somebody asked about, and no watcher has recorded."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gateway.core.api.rate_limits import Limit
from tests.factories import make_merchant
from tests.x402.recorded import make_machine_transfer, make_seller, request_for, verify_it
from x402.byhash import service
from x402.byhash.service import note_sighting
from x402.models import Sighting
from x402.payments.answers import KEPT, forget_old

pytestmark = pytest.mark.django_db


def test_what_strangers_make_a_merchant_ask_about_is_not_all_written_down(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PER_DAY", Limit("x402.sightings", 2, 86_400))
    merchants = [make_merchant(), make_merchant("Another")]
    to = make_seller(merchants[0], settings)
    for merchant in (merchants[0], merchants[0], merchants[0], merchants[1]):
        proof = request_for(make_machine_transfer(merchants[0], to)).proof
        note_sighting(merchant.pk, proof, now=timezone.now())
    counts = [Sighting.objects.filter(merchant=one).count() for one in merchants]
    assert counts == [2, 1]


def test_a_forgotten_sighting_makes_no_payment_younger(settings: Any) -> None:
    merchant = make_merchant()
    now = timezone.now()
    paid_at = now - KEPT - timedelta(hours=2)
    transfer = make_machine_transfer(merchant, make_seller(merchant, settings), block_time=paid_at)
    proof = request_for(transfer).proof
    note_sighting(merchant.pk, proof, now=paid_at + timedelta(minutes=1))
    forget_old(now=paid_at + KEPT)
    assert Sighting.objects.exists()
    forget_old(now=now)
    assert not Sighting.objects.exists()
    assert verify_it(transfer, now=now)["reason"] == "too_old"
