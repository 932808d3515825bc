"""A counter sign's page: each customer who types an amount gets a checkout, and the terminal sees it."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from accounts.models import Merchant
from checkouts.models import Checkout, Terminal, TerminalSale
from checkouts.till.pairing import revoke_terminal
from checkouts.till.signs import PAY
from gateway.core.ids import new_code
from tests.checkouts.till.terminals import make_terminal, paired_device

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


@pytest.fixture
def terminal(merchant: Merchant) -> Terminal:
    """A terminal with a counter sign."""
    return make_terminal(merchant)


def address_of(terminal: Terminal) -> str:
    return f"/t/{terminal.code}"


def test_a_customer_types_the_amount_and_the_terminal_sees_the_sale(client: Client, terminal: Terminal) -> None:
    device = paired_device(terminal)
    page = client.get(address_of(terminal)).content.decode()
    [form] = re.findall(r'name="form"\s+value="([^"]+)"', page)
    answer = client.post(address_of(terminal), {"form": form, "amount": "4,20"})
    sale = TerminalSale.objects.get()
    assert answer.status_code == 303
    assert answer["Location"].endswith(f"/c/{sale.checkout.code}")
    assert (str(sale.checkout.amount), sale.is_by_customer, sale.checkout.mode) == ("4.20", True, terminal.mode)
    listed = device.get("till_sales").content.decode()
    assert sale.checkout.public_id in listed
    assert "by the sign" in listed


def test_looking_makes_nothing(client: Client, terminal: Terminal) -> None:
    page = client.get(address_of(terminal))
    assert page.status_code == 200
    assert terminal.merchant.name in page.content.decode()
    assert client.head(address_of(terminal)).status_code == 200
    assert not Checkout.objects.exists()


def test_a_double_press_is_one_checkout_and_two_customers_get_two(client: Client, terminal: Terminal) -> None:
    form = new_code()
    for _ in range(2):
        client.post(address_of(terminal), {"form": form, "amount": "5.00"})
    client.post(address_of(terminal), {"form": new_code(), "amount": "5.00"})
    assert Checkout.objects.count() == 2


@pytest.mark.parametrize("amount", ["", "0", "free", "1e9", "-1", "1000000.01"])
def test_what_is_no_amount_is_asked_again(amount: str, client: Client, terminal: Terminal) -> None:
    answer = client.post(address_of(terminal), {"form": new_code(), "amount": amount})
    assert answer.status_code == 400
    assert not Checkout.objects.exists()


def test_a_terminal_without_a_sign_or_revoked_has_no_page(client: Client, terminal: Terminal) -> None:
    bare = make_terminal(terminal.merchant, has_sign=False)
    assert client.get(address_of(bare)).status_code == 404
    revoke_terminal(terminal, actor=SYSTEM, now=timezone.now())
    for answer in (client.get(address_of(terminal)), client.post(address_of(terminal), {"amount": "5.00"})):
        assert answer.status_code == 404
    assert not Checkout.objects.exists()


def test_a_closed_merchant_has_no_page(client: Client, terminal: Terminal) -> None:
    Merchant.objects.update(closed_at=timezone.now())
    assert client.get(address_of(terminal)).status_code == 404


@pytest.mark.usefixtures("still_window")
def test_one_client_cannot_press_without_end(client: Client, terminal: Terminal) -> None:
    sent = {"form": new_code(), "amount": "5.00"}
    answers = [client.post(address_of(terminal), sent).status_code for _ in range(PAY.most + 1)]
    assert answers == [303] * PAY.most + [429]


def test_the_page_speaks_the_customers_language(client: Client, terminal: Terminal) -> None:
    page = client.get(address_of(terminal), headers={"Accept-Language": "de"}).content.decode()
    assert '<html lang="de"' in page
    answer = client.post(f"{address_of(terminal)}?lang=de", {"form": new_code(), "amount": "5.00"})
    assert answer["Location"].endswith("?lang=de")
