"""What the merchant's pages call settlements."""

from settlements.dashboard.words import PURPOSES, SENDERS, STATUSES
from settlements.states import Sender, SettlementStatus
from wallets.states import ClaimKind


def test_each_status_sender_and_purpose_has_a_word() -> None:
    assert set(STATUSES) == set(SettlementStatus)
    assert set(SENDERS) == set(Sender)
    assert set(PURPOSES) == set(ClaimKind)
