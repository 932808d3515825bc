"""Whatever a merchant's pages can meet has words of its own."""

from collections.abc import Mapping
from enum import Enum

import pytest

from checkouts.inbox import rows as inbox
from checkouts.states import CheckoutStatus, InboxAct, InboxReason, RescueVerdict
from gateway.core.web.badges import BadgedChoices
from links.dashboard.words import KINDS
from links.states import LinkType
from settlements.dashboard import rows as settlements
from settlements.states import Sender, SettlementStatus
from wallets.states import ClaimKind, TransferState
from webhooks.dashboard.words import FAILING_TAB, TABS
from webhooks.states import DeliveryStatus
from x402.dashboard import words as x402
from x402.states import PaymentStatus, Protocol


def badges(choices: type[BadgedChoices]) -> dict[str, object]:
    """What pages show for each choice."""
    return {choice: choice.badge for choice in choices}


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        (badges(CheckoutStatus), CheckoutStatus),
        (badges(TransferState), TransferState),
        (inbox.REASONS, InboxReason),
        (inbox.DECIDED, InboxAct),
        (inbox.DOING, InboxAct),
        (inbox.VERDICTS, RescueVerdict),
        (KINDS, LinkType),
        (badges(SettlementStatus), SettlementStatus),
        (settlements.SENDERS, Sender),
        (settlements.PURPOSES, ClaimKind),
        (badges(DeliveryStatus), DeliveryStatus),
        ({name: name for name, _ in TABS if name not in ("", FAILING_TAB)}, DeliveryStatus),
        (badges(PaymentStatus), PaymentStatus),
        (x402.PROTOCOLS, Protocol),
    ],
)
def test_each_choice_has_words_of_its_own(words: Mapping[str, object], choices: type[Enum]) -> None:
    assert set(words) == set(choices)
    assert len(set(words.values())) == len(words)
