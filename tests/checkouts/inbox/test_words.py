"""What the inbox says."""

import pytest
from django.db.models import TextChoices

from checkouts.inbox.words import DECIDED, DOING, OUTCOMES, REASONS, VERDICTS
from checkouts.states import InboxAct, InboxReason, InboxStatus, RescueVerdict


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        (REASONS, InboxReason),
        (DECIDED, InboxAct),
        (DOING, InboxAct),
        (OUTCOMES, InboxStatus),
        (VERDICTS, RescueVerdict),
    ],
)
def test_each_choice_has_words_of_its_own(words: dict[str, object], choices: type[TextChoices]) -> None:
    assert set(words) == set(choices)
    assert len(set(words.values())) == len(words)
