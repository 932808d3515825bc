"""Whatever a merchant's pages can meet has words of its own."""

import re
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
from tests.catalogues import TEAM, catalogue_path
from tests.tree import ROOT
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


# Words of the code and of older pages, for which merchants have others: deposit addresses, JSON, nodes that disagree.
JARGON = re.compile(r"\bforwarders?\b|as the API gives it|source differences|what this is of", re.IGNORECASE)


def test_merchants_read_none_of_our_own_words() -> None:
    """Each text of the dashboard is in the team's catalogues, which other tests hold to; what operators read is not."""
    kept = catalogue_path("es", readers=TEAM).read_text(encoding="utf-8")
    said = [line for line in kept.splitlines() if line and not line.startswith("#")]
    assert len(said) > 5_000
    assert [line for line in said if JARGON.search(line)] == []
    pages = [*(ROOT / "templates" / "gateway" / "operator").rglob("*.html")]
    shown = [words for page in pages for words in re.findall(r">([^<>{}]+)<", page.read_text())]
    assert [words for words in shown if JARGON.search(words)] == []


def test_the_rule_finds_each_of_these_words() -> None:
    for text in ("In forwarders", "As the API gives it", "Source differences", "What this is of", "Forwarder"):
        assert JARGON.search(text)
    assert not JARGON.search("Deposit addresses")
