"""What the merchant's pages call machines' payments."""

from x402.dashboard.words import PROTOCOLS, STATUSES
from x402.states import PaymentStatus, Protocol


def test_each_status_and_protocol_has_a_word() -> None:
    assert set(STATUSES) == set(PaymentStatus)
    assert set(PROTOCOLS) == set(Protocol)
