"""What owners type about their receiving wallets."""

import pytest

from tests.factories import WALLET
from wallets.receiving.forms import ComparedForm, ProofForm, WaitForm, WalletForm

pytestmark = pytest.mark.django_db


def test_an_address_is_taken_in_canonical_form_under_its_chains_name() -> None:
    form = WalletForm({"address": WALLET.lower()}, chain="base", title="Base")
    assert form.is_valid(), form.errors
    assert form.cleaned_data["address"] == WALLET
    assert form.fields["address"].label == "Your address on Base"


def test_what_swallows_money_is_told_in_words() -> None:
    form = WalletForm({"address": "0x" + "0" * 40}, chain="base", title="Base")
    assert "zero address" in form.errors["address"][0]


def test_an_address_is_compared_before_it_is_set() -> None:
    form = ComparedForm({"address": WALLET}, chain="base", title="Base")
    assert list(form.errors) == ["compared"]


def test_a_public_key_is_asked_for_only_where_an_address_does_not_tell_it() -> None:
    assert ProofForm({"signature": "x"}, takes_key=False).is_valid()
    assert list(ProofForm({"signature": "x"}, takes_key=True).errors) == ["public_key"]


@pytest.mark.parametrize(
    ("hours", "is_valid"),
    [(0, True), (168, True), (169, False), (-1, False), ("", False), (1.5, False), ("soon", False)],
)
def test_a_wait_is_whole_hours_up_to_a_week(hours: object, is_valid: bool) -> None:
    assert WaitForm({"hours": hours}).is_valid() is is_valid
