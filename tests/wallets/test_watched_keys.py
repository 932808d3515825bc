"""Whom the nodes are asked for: every address ever given out, as long as they can be named."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.states import Mode
from tests.wallets.factories import make_deposit
from wallets import selectors
from wallets.selectors import watched_keys

pytestmark = pytest.mark.django_db


def test_an_address_is_asked_for_however_long_ago_it_was_given_out() -> None:
    old = make_deposit(watched_until=timezone.now() - timedelta(days=3_000))
    new = make_deposit()
    assert watched_keys("base") == {bytes(old.key), bytes(new.key)}


def test_addresses_of_simulated_payments_are_never_asked_for() -> None:
    make_deposit(mode=Mode.TEST)
    assert watched_keys("base") == frozenset()


def test_when_there_are_too_many_to_name_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selectors, "MOST_RECIPIENTS", 1)
    make_deposit()
    assert watched_keys("base") is not None
    make_deposit(watched_until=timezone.now() - timedelta(days=366))
    assert watched_keys("base") is None
