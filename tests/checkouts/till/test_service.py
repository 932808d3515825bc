"""A press of the button is one sale; amounts and tips are exact; a terminal reaches its own sales alone."""

from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from checkouts.amounts import MAX_AMOUNT
from checkouts.models import Checkout, Terminal, TerminalSale
from checkouts.models.terminals import FORM_LENGTH
from checkouts.options import may_begin_again
from checkouts.states import CheckoutStatus
from checkouts.till.pairing import revoke_terminal
from checkouts.till.service import (
    LATEST,
    SALE_SECONDS,
    SIGN_SECONDS,
    Press,
    TerminalGoneError,
    cancel_sale,
    form_name,
    latest_sales,
    parse_amount,
    parse_press,
    sale_of,
    sign_url,
    tip_of,
)
from gateway.core import json
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.ids import new_code
from tests.checkouts.till.terminals import make_sale, make_terminal
from tests.factories import make_checkout, make_merchant

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


@pytest.fixture
def terminal(merchant: Merchant) -> Terminal:
    """A terminal of test mode with tips of 5 and 10 percent."""
    return make_terminal(merchant)


def test_a_sale_is_a_checkout_of_the_terminals_merchant_and_mode(terminal: Terminal) -> None:
    sale = make_sale(terminal, "12.50", tip=Decimal("1.25"))
    checkout = sale.checkout
    assert (checkout.merchant_id, checkout.mode) == (terminal.merchant_id, Mode.TEST)
    assert (checkout.amount, sale.tip, checkout.description) == (Decimal("13.75"), Decimal("1.25"), "Bar")
    assert json.loads(checkout.metadata.encode()) == {"terminal_id": terminal.public_id, "tip": "1.25"}
    assert (checkout.expires_at - checkout.created_at).total_seconds() == SALE_SECONDS
    assert not checkout.is_from_link


def test_a_terminal_of_one_mode_sells_in_no_other(merchant: Merchant) -> None:
    live = make_terminal(merchant, Mode.LIVE)
    with pytest.raises(ConflictError) as refused:
        make_sale(live)
    assert refused.value.code == "receiving_wallet_missing"
    assert not Checkout.objects.exists()
    assert make_sale(make_terminal(merchant)).checkout.mode == Mode.TEST


def test_one_form_makes_one_sale_and_another_amount_on_it_another(terminal: Terminal) -> None:
    form = new_code()
    first = make_sale(terminal, "5.00", form=form)
    assert make_sale(terminal, "5.00", form=form).pk == first.pk
    assert make_sale(terminal, "6.00", form=form).pk != first.pk
    assert Checkout.objects.count() == 2


def test_the_same_total_with_another_tip_is_another_sale(terminal: Terminal) -> None:
    """A cashier without an answer takes the tip back: the day's tips would have it for ever."""
    form = new_code()
    tipped = make_sale(terminal, "10.00", tip=Decimal("1.00"), form=form)
    plain = make_sale(terminal, "11.00", form=form)
    assert (plain.pk != tipped.pk, plain.tip) == (True, Decimal(0))
    assert make_sale(terminal, "10.00", tip=Decimal("1.00"), form=form).pk == tipped.pk


def test_the_longest_name_of_a_press_fits() -> None:
    press = Press(form=new_code(), price=MAX_AMOUNT / 2, tip=MAX_AMOUNT / 2)
    assert len(press.name) <= FORM_LENGTH
    price, tip = Decimal("600000000000.00"), Decimal("399999999999.99")
    assert len(Press(form=new_code(), price=price, tip=tip, currency="EUR").name) <= FORM_LENGTH


def test_one_number_in_two_currencies_is_two_sales_of_one_form() -> None:
    form = new_code()
    dollars, euros = (Press(form=form, price=Decimal("5.00"), currency=currency) for currency in ("USD", "EUR"))
    assert dollars.name == f"{form}:5.00"
    assert euros.name == f"{form}:5.00:EUR"


def test_two_terminals_may_use_one_form(terminal: Terminal) -> None:
    form, other = new_code(), make_terminal(terminal.merchant)
    assert make_sale(terminal, form=form).pk != make_sale(other, form=form).pk


def test_a_revoked_terminal_sells_nothing(terminal: Terminal) -> None:
    revoke_terminal(terminal, actor=SYSTEM, now=timezone.now())
    with pytest.raises(TerminalGoneError):
        make_sale(terminal)
    assert not Checkout.objects.exists()


@pytest.mark.parametrize(
    ("typed", "amount"),
    [("12.50", "12.50"), ("12,5", "12.50"), (" $7 ", "7.00"), ("0.10", "0.10"), ("٣", "3.00"), ("１２，５", "12.50")],
)
def test_amounts_are_read_as_people_type_them(typed: str, amount: str) -> None:
    assert parse_amount(typed) == Decimal(amount)


@pytest.mark.parametrize("typed", ["", "0", "0.09", "-5", "1e5", "1.234", "١٬٠٠٠", "³", "1000000.01", "9" * 500, "NaN"])
def test_what_is_no_price_is_refused(typed: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_amount(typed)
    assert refused.value.param == "amount"


@pytest.mark.parametrize(
    ("price", "rate", "tip"),
    [("10.00", 5, "0.50"), ("0.10", 5, "0.01"), ("0.90", 5, "0.05"), ("33.33", 10, "3.33"), ("12.50", 0, "0.00")],
)
def test_a_tip_is_rounded_to_a_cent_half_a_cent_up(price: str, rate: int, tip: str) -> None:
    assert tip_of(Decimal(price), rate) == Decimal(tip)


@pytest.mark.parametrize("tip", ["15", "-5", "05", "5.0", "x", "5 "])
def test_a_tip_is_one_of_the_terminals(tip: str, terminal: Terminal) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_press(new_code(), "10.00", tip, terminal)
    assert refused.value.param == "tip"


def test_a_price_with_its_tip_stays_within_the_largest(terminal: Terminal) -> None:
    assert parse_press(new_code(), "1000000.00", "", terminal).total == Decimal(1_000_000)
    with pytest.raises(InvalidRequestError):
        parse_press(new_code(), "1000000.00", "5", terminal)


@pytest.mark.parametrize("sent", ["", "x", "A" * 26, "a" * 27, "a" * 25 + "\n", "a" * 25 + ":"])
def test_what_is_no_name_of_a_form_is_a_form_of_its_own(sent: str) -> None:
    assert form_name(sent) != sent
    assert form_name("a" * 26) == "a" * 26


def test_a_terminal_finds_its_own_sales_alone(terminal: Terminal) -> None:
    own = make_sale(terminal)
    others = make_sale(make_terminal(terminal.merchant))
    foreign = make_sale(make_terminal(make_merchant()))
    bare = make_checkout(terminal.merchant, mode=Mode.TEST)
    assert sale_of(terminal, own.checkout.public_id) == own
    for checkout in (others.checkout, foreign.checkout, bare):
        assert sale_of(terminal, checkout.public_id) is None
    assert sale_of(terminal, "\x00") is None
    assert list(latest_sales(terminal)) == [own]


def test_a_device_shows_its_newest_sales_first_and_so_many(terminal: Terminal) -> None:
    made = [make_sale(terminal, f"{number}.00") for number in range(1, LATEST + 3)]
    assert list(latest_sales(terminal)) == made[: -LATEST - 1 : -1]


def test_an_unpaid_sale_is_cancelled_in_the_terminals_name(terminal: Terminal) -> None:
    sale = make_sale(terminal)
    cancel_sale(sale, terminal, address="192.0.2.7", now=timezone.now())
    sale.checkout.refresh_from_db()
    assert sale.checkout.cancelled_at is not None
    entry = AuditEntry.objects.get(action="checkout.cancelled")
    assert (entry.actor_id, entry.actor_label, entry.address) == (None, "terminal Bar", "192.0.2.7")


def test_a_customers_own_sale_counts_as_a_strangers(terminal: Terminal) -> None:
    checkout = make_sale(terminal, is_by_customer=True).checkout
    assert checkout.is_from_link
    assert checkout.again_url == sign_url(terminal)
    assert (checkout.expires_at - checkout.created_at).total_seconds() == SIGN_SECONDS


def test_a_sale_is_not_renewed_by_its_buyer(terminal: Terminal) -> None:
    Merchant.objects.update(buyers_may_retry=True)
    checkout = make_sale(terminal).checkout
    expired = Checkout.objects.filter(pk=checkout.pk)
    expired.update(status=CheckoutStatus.EXPIRED)
    assert not may_begin_again(expired.select_related("merchant").get())
    TerminalSale.objects.all().delete()
    # Without the terminal it would be.
    assert may_begin_again(expired.select_related("merchant").get())
