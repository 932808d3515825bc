"""Merchants are told what became of a payment."""

import orjson
import pytest

from accounts.models import FeeEntry
from mails.models import OutgoingMail as Mail
from tests.x402.payments.following import becomes
from tests.x402.payments.test_transfers import _fees
from wallets.models import Transfer
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def test_what_a_reorganisation_takes_is_reversed_told_and_not_charged(verified_transfer: Transfer) -> None:
    payment = becomes(verified_transfer, "orphaned")
    assert (payment.status, payment.final_at) == ("reversed", None)
    assert _fees(payment) == 0 < FeeEntry.objects.count()
    event = Event.objects.get()
    assert event.type == "x402.payment.reversed"
    body = orjson.loads(bytes(event.body))
    assert body["data"]["id"] == payment.public_id
    assert body["data"]["status"] == "reversed"
    assert payment.public_id in Mail.objects.get().subject
