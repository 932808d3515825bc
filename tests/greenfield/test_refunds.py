"""Refunds that plugins ask for: claim links, sources, and what is never asked for twice."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.models import AuditEntry
from checkouts.inbox.successors import accept_late
from checkouts.models import InboxItem
from gateway.core.api.scopes import Scope
from payouts.lifecycle.claims import claimed_payout
from payouts.models import Payout
from tests.contract.payments import expire, pay
from tests.factories import make_live_chain
from tests.greenfield.plugin import WOO_REQUIRED, Plugin, make_plugin, make_scoped

pytestmark = pytest.mark.django_db


def paid(plugin: Plugin, order: str = "1001") -> str:
    """The id of an order's invoice that is paid."""
    invoice = str(plugin.order(order)["id"])
    pay(invoice)
    return invoice


def pull(plugin: Plugin, name: str = "Refund of order 1001; broken cup", amount: str = "5.00", **more: Any) -> Any:
    """A pull payment as the library makes it for WooCommerce's plugin."""
    return plugin.post(f"{plugin.store}/pull-payments", body_of(name, amount) | more)


def body_of(name: str, amount: str) -> dict[str, Any]:
    methods = ["USDC_BASE", "USDC_POLYGON"]
    return {
        "name": name,
        "description": None,
        "amount": amount,
        "currency": "USD",
        "period": None,
        "BOLT11Expiration": None,
        "autoApproveClaims": False,
        "startsAt": None,
        "expiresAt": None,
        "paymentMethods": methods,
        "payoutMethods": methods,
    }


def refund(plugin: Plugin, invoice: str, **body: Any) -> Any:
    whole = {"name": None, "description": None, "paymentMethod": "BTC", "refundVariant": "CurrentRate"} | body
    return plugin.post(f"{plugin.store}/invoices/{invoice}/refund", whole)


def code_of(told: Any) -> str:
    return str(told["viewLink"].rpartition("/")[2])


def test_a_pull_payment_is_a_refund_of_the_invoice_that_its_name_means(live_woo: Plugin) -> None:
    invoice = paid(live_woo)
    told = pull(live_woo)
    for name in ("id", "name", "description", "currency", "amount", "viewLink"):
        assert isinstance(told[name], str), name
    assert (told["name"], told["amount"], told["currency"]) == ("Refund of order 1001; broken cup", "5.000000", "USD")
    assert (told["archived"], told["autoApproveClaims"], type(told["startsAt"])) == (False, False, int)
    payout = Payout.objects.get()
    assert (payout.kind, payout.status, payout.public_id) == ("refund", "open", told["id"])
    assert payout.sources.get().transfer.payment.checkout.public_id == invoice
    assert claimed_payout(code_of(told)) == payout
    assert payout.choices == [["base", "USDC"], ["polygon", "USDC"]]
    assert payout.requested_key


@pytest.mark.parametrize(
    "name", ["Refund of order 77", "", "Refund of orders 1001 and 1002", "Refund of order 10010", None]
)
def test_without_one_certain_invoice_it_is_a_payout_without_a_source(live_woo: Plugin, name: str | None) -> None:
    paid(live_woo), paid(live_woo, "1002")
    told = live_woo.post(f"{live_woo.store}/pull-payments", body_of("", "5.00") | {"name": name})
    payout = Payout.objects.get()
    assert (payout.kind, payout.public_id) == ("payout", told["id"])
    assert not payout.sources.exists()
    assert code_of(told)


def test_an_unpaid_invoice_is_no_source(live_woo: Plugin) -> None:
    live_woo.order()
    pull(live_woo)
    assert Payout.objects.get().kind == "payout"


def test_a_refund_that_is_sent_again_asks_for_no_more_than_came(live_woo: Plugin) -> None:
    """The shop that got no answer sends its request again."""
    paid(live_woo)
    pull(live_woo, amount="20.00")
    status, [told] = live_woo.refusal(
        "POST", f"{live_woo.store}/pull-payments", body_of("Refund of order 1001", "20.00")
    )
    assert (status, told["path"]) == (422, "amount")
    assert "5.000000" in told["message"]
    assert Payout.objects.count() == 1


def test_partial_refunds_of_one_order_add_up(live_woo: Plugin) -> None:
    paid(live_woo)
    for _ in range(3):
        pull(live_woo)
    assert [int(one.units) for one in Payout.objects.all()] == [5_000_000] * 3


def test_a_refund_of_an_invoice_is_of_all_that_is_left(live_woo: Plugin) -> None:
    invoice = paid(live_woo)
    first = refund(live_woo, invoice, refundVariant="Custom", customAmount="10.00", customCurrency="USD", name="Cup")
    rest = refund(live_woo, invoice, subtractPercentage=0.0)
    assert [first["amount"], rest["amount"]] == ["10.000000", "15.000000"]
    assert first["viewLink"] != rest["viewLink"]
    assert set(Payout.objects.values_list("kind", flat=True)) == {"refund"}
    path = f"{live_woo.store}/invoices/{invoice}/refund"
    assert live_woo.refusal("POST", path, {"refundVariant": "CurrentRate"})[0] == 422


def test_late_money_that_was_accepted_is_refunded_by_the_invoice_that_the_shop_knows(live_woo: Plugin) -> None:
    """The money is with the checkout that replaced it, whose id no shop has."""
    invoice = str(live_woo.order()["id"])
    expire(invoice)
    transfer = pay(invoice)
    with transaction.atomic():
        accept_late(InboxItem.objects.get(), now=timezone.now())
    assert refund(live_woo, invoice)["amount"] == "25.000000"
    assert Payout.objects.get().sources.get().transfer == transfer


def test_what_was_paid_too_much_is_sent_back_alone(live_woo: Plugin) -> None:
    invoice = str(live_woo.order()["id"])
    pay(invoice, 140)
    assert refund(live_woo, invoice, refundVariant="OverpaidAmount")["amount"] == "10.000000"
    # Asked for once more, it would be a part of the price.
    told = live_woo.refusal("POST", f"{live_woo.store}/invoices/{invoice}/refund", {"refundVariant": "OverpaidAmount"})
    assert (told[0], Payout.objects.count()) == (422, 1)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"refundVariant": "OverpaidAmount"}, "refundVariant"),
        ({"refundVariant": "Custom"}, "customAmount"),
        ({"refundVariant": "Custom", "customAmount": "5.00", "customCurrency": "EUR"}, "customCurrency"),
        ({"refundVariant": "Custom", "customAmount": "30.00"}, "amount"),
        ({"refundVariant": "Half"}, "refundVariant"),
        ({"refundVariant": ["Fiat"]}, "refundVariant"),
        ({"subtractPercentage": 5}, "subtractPercentage"),
        ({"subtractPercentage": "2.5"}, "subtractPercentage"),
        ({"name": 5}, "name"),
    ],
)
def test_what_cannot_be_refunded_is_422(live_woo: Plugin, body: dict[str, Any], path: str) -> None:
    invoice = paid(live_woo)
    status, [told] = live_woo.refusal("POST", f"{live_woo.store}/invoices/{invoice}/refund", body)
    assert (status, told["path"]) == (422, path)
    assert not Payout.objects.exists()


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"amount": None}, "amount"),
        ({"amount": "-1"}, "amount"),
        ({"amount": "0.00"}, "amount"),
        ({"currency": "EUR"}, "currency"),
        ({"payoutMethods": ["USDT-TRON"], "paymentMethods": None}, "payoutMethods"),
        ({"expiresAt": "soon"}, "expiresAt"),
        ({"expiresAt": 10**14}, "expiresAt"),
    ],
)
def test_what_cannot_be_pulled_is_422(live_woo: Plugin, changes: dict[str, Any], path: str) -> None:
    status, [told] = live_woo.refusal(
        "POST", f"{live_woo.store}/pull-payments", body_of("Refund of order 9", "5.00") | changes
    )
    assert (status, told["path"]) == (422, path)
    assert not Payout.objects.exists()


def test_a_currency_may_be_a_token_which_is_then_paid(live_woo: Plugin) -> None:
    pull(live_woo, "Refund", currency="usdt", payoutMethods=None, paymentMethods=None)
    payout = Payout.objects.get()
    assert (payout.chain, payout.token, payout.units) == ("polygon", "USDT", Decimal(5_000_000))


def test_a_refund_is_asked_for_although_no_network_is_read(live_woo: Plugin) -> None:
    for chain in ("base", "polygon"):
        make_live_chain(chain, head_at=None)
    pull(live_woo, "Refund", currency="usdt", payoutMethods=None, paymentMethods=None)
    assert Payout.objects.get().chain == "polygon"


def test_nothing_is_approved_and_nothing_is_sent_by_a_plugin(live_woo: Plugin) -> None:
    paid(live_woo)
    pull(live_woo, autoApproveClaims=True)
    payout = Payout.objects.get()
    assert (payout.status, payout.approved_at, payout.movement) == ("open", None, None)
    assert AuditEntry.objects.filter(action="payout.requested").count() == 1


def test_a_key_without_the_permission_asks_for_no_refund(live_woo: Plugin) -> None:
    invoice = paid(live_woo)
    lacking = make_plugin(live_woo.merchant, live_woo.mode, WOO_REQUIRED)
    for path in (f"{lacking.store}/pull-payments", f"{lacking.store}/invoices/{invoice}/refund"):
        assert lacking.refusal("POST", path, body_of("x", "1.00"))[0] == 403
    reader = make_scoped(live_woo.merchant, Scope.PAYOUTS_READ, mode=live_woo.mode)
    assert reader.refusal("POST", f"{reader.store}/pull-payments", body_of("x", "1.00"))[0] == 403
    assert not Payout.objects.exists()
