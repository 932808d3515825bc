"""Signed texts: forms of a page, and personal links."""

from datetime import timedelta

import pytest
import time_machine

from links.tokens import FORM_LASTS, StaleFormError, form_name, new_form, subscription_id_of
from tests.factories import NOON


def test_each_opened_page_has_a_form_of_its_own() -> None:
    first, second = new_form("7h3k"), new_form("7h3k")
    assert form_name(first, "7h3k") == form_name(first, "7h3k")
    assert form_name(first, "7h3k") != form_name(second, "7h3k")


def test_a_form_is_of_one_link() -> None:
    with pytest.raises(StaleFormError):
        form_name(new_form("7h3k"), "other")


def test_a_form_lasts_a_day() -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        token = new_form("7h3k")
        clock.shift(FORM_LASTS)
        assert form_name(token, "7h3k")
        clock.shift(timedelta(seconds=2))
        with pytest.raises(StaleFormError):
            form_name(token, "7h3k")


@pytest.mark.parametrize("token", ["", "sub_1", "sub_1:forged"])
def test_what_we_did_not_sign_is_nobodys_link(token: str) -> None:
    assert subscription_id_of(token) is None
