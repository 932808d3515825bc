"""What a mail says."""

from typing import Any

import pytest

from mails.models import SUBJECT_LENGTH, OutgoingMail
from mails.words import MailWords, one_line, words_of


def written(subject: str) -> MailWords | None:
    return MailWords(f"About {subject}", "Text") if subject else None


def test_what_was_promised_with_its_words_keeps_them() -> None:
    mail = OutgoingMail(key="alarm:7", subject="An alarm", text="It rang.", html="<p>")
    assert words_of(mail) == MailWords("An alarm", "It rang.", "<p>")


@pytest.mark.parametrize(("key", "words"), [("late:7", MailWords("About 7", "Text")), ("late:", None)])
def test_the_words_of_others_are_found_when_they_are_sent(settings: Any, key: str, words: MailWords | None) -> None:
    settings.MAIL_WRITERS = {"late": f"{__name__}.written"}
    assert words_of(OutgoingMail(key=key)) == words


def test_a_subject_is_no_further_header() -> None:
    assert one_line("Paid\r\nBcc: x@y.example\x00") == "Paid Bcc: x@y.example"
    assert len(one_line("x" * 1_000)) == SUBJECT_LENGTH
