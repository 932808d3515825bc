"""Whatever a merchant's pages can meet has words of its own."""

from collections.abc import Mapping
from enum import Enum

import pytest

from checkouts.dashboard.words import TRANSFERS
from checkouts.inbox import rows as inbox
from checkouts.states import InboxAct, InboxReason, InboxStatus, RescueVerdict
from links.dashboard.words import KINDS
from links.states import LinkType
from settlements.dashboard import rows as settlements
from settlements.states import Sender, SettlementStatus
from wallets.states import ClaimKind, TransferState
from webhooks.dashboard.words import DELIVERIES, TABS
from webhooks.states import DeliveryStatus
from x402.dashboard import words as x402
from x402.states import PaymentStatus, Protocol


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        (TRANSFERS, TransferState),
        (inbox.REASONS, InboxReason),
        (inbox.DECIDED, InboxAct),
        (inbox.DOING, InboxAct),
        (inbox.OUTCOMES, InboxStatus),
        (inbox.VERDICTS, RescueVerdict),
        (KINDS, LinkType),
        (settlements.STATUSES, SettlementStatus),
        (settlements.SENDERS, Sender),
        (settlements.PURPOSES, ClaimKind),
        (DELIVERIES, DeliveryStatus),
        ({name: name for name, _ in TABS if name}, DeliveryStatus),
        (x402.STATUSES, PaymentStatus),
        (x402.PROTOCOLS, Protocol),
    ],
)
def test_each_choice_has_words_of_its_own(words: Mapping[str, object], choices: type[Enum]) -> None:
    assert set(words) == set(choices)
    assert len(set(words.values())) == len(words)
