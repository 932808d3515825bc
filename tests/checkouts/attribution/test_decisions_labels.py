"""Comments beside money in a merchant's own wallet: codes of checkouts, whatever stands around them."""

import pytest

from checkouts.states import InboxReason
from tests.checkouts.arrivals import exact, inbox_item, memo, payer_of
from tests.checkouts.watcher import DOLLAR, attribute

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("written", ["{}", "  {}\n", "Order {}", '"{}"', "{}%20"])
@pytest.mark.parametrize("spell", [str, str.upper])
def test_a_comment_names_a_checkout_whatever_stands_around_it(till, written, spell):
    wanted = till.checkout("30.00", suffix=3_700)
    till.checkout(suffix=100)
    transfer = till.sees(labels=(spell(written.format(memo(wanted))),))
    attribute()
    assert payer_of(transfer) == wanted


def test_the_codes_of_two_checkouts_in_one_comment_are_doubtful(till):
    one, other = till.checkout(suffix=3_700), till.checkout("30.00", suffix=100)
    transfer = till.sees(labels=(f"{memo(one)} {memo(other)}",))
    attribute()
    assert inbox_item(transfer).reason == InboxReason.AMBIGUOUS


@pytest.mark.parametrize("units", [25 * DOLLAR, 25_003_000, 25_100_000, 23_503_700])
def test_a_code_that_is_nobodys_makes_a_price_doubtful(till, units):
    wanted = till.checkout(suffix=3_700)
    transfer = till.sees(units, labels=("Order 4TK9ZQ0M7XW2BH5D",))
    attribute()
    item = inbox_item(transfer)
    assert item.reason == InboxReason.AMBIGUOUS
    assert "4tk9zq0m7xw2bh5d" in item.explanation
    assert item.candidates[0]["checkout"] == wanted.public_id
    exactly = till.sees(exact(wanted), labels=("4TK9ZQ0M7XW2BH5D",))
    attribute()
    assert payer_of(exactly) == wanted


def test_an_ordinary_comment_is_no_doubt(till):
    wanted = till.checkout(suffix=3_700)
    transfer = till.sees(labels=("Thanks! Order 1042", "555812"))
    attribute()
    assert payer_of(transfer) == wanted
