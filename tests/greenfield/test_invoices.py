"""Invoices of plugins: checkouts by another name, in the types that the PHP library declares, one for an order at a time."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import orjson
import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.attribution.queue import attribute_transfers
from checkouts.inbox.stories import story_of
from checkouts.inbox.successors import accept_late
from checkouts.models import Checkout, InboxItem
from checkouts.states import CheckoutStatus, InboxAct
from checkouts.testmode import play_due_steps
from greenfield.models import InvoiceOptions
from tests.contract.payments import BRING_TO, expire, pay
from tests.factories import CheckoutFactory, make_checkout
from tests.greenfield.plugin import Plugin, make_plugin
from wallets.models import Transfer, TransferReturn
from wallets.states import TransferState

pytestmark = pytest.mark.django_db

TEXTS = ("id", "storeId", "amount", "currency", "type", "checkoutLink", "status", "additionalStatus")
TIMES = ("createdTime", "expirationTime", "monitoringTime", "monitoringExpiration")
METHOD_TEXTS = (
    "paymentMethodId",
    "currency",
    "destination",
    "rate",
    "paymentMethodPaid",
    "totalPaid",
    "due",
    "amount",
    "networkFee",
    "paymentMethodFee",
)


def read(plugin: Plugin, invoice_id: str) -> Any:
    return plugin.get(f"{plugin.store}/invoices/{invoice_id}")


def state(plugin: Plugin, invoice_id: str) -> tuple[str, str]:
    invoice = read(plugin, invoice_id)
    return invoice["status"], invoice["additionalStatus"]


def test_an_invoice_is_a_checkout_in_the_types_that_the_library_declares(woo: Plugin) -> None:
    invoice = woo.order()
    for name in TEXTS:
        assert isinstance(invoice[name], str), name
    for name in TIMES:
        assert type(invoice[name]) is int, name
    checkout = Checkout.objects.get()
    assert (invoice["id"], invoice["amount"], invoice["currency"]) == (checkout.public_id, "25.00", "USD")
    assert (invoice["status"], invoice["additionalStatus"], invoice["archived"]) == ("New", "None", False)
    assert invoice["availableStatusesForManualMarking"] == ["Invalid"]
    assert invoice["metadata"] == {"orderId": "1001", "taxIncluded": 0, "posData": '{"WooCommerce":{}}'}
    assert invoice["checkoutLink"].endswith(f"/btcpay/i/{checkout.public_id}")
    assert (checkout.order_ref, checkout.redirect_url) == ("1001", "https://shop.example/thanks?key=1")
    assert read(woo, invoice["id"]) == invoice
    assert woo.get(f"{woo.store}/invoices", "orderId=1001") == [invoice]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("25", "25.00"),
        ("25.0000000000000000", "25.00"),
        (25, "25.00"),
        (19.99, "19.99"),
        # PHP's sums are binary fractions.
        (59.989999999999995, "59.99"),
        (0.1 + 0.2, "0.30"),
    ],
    ids=["text", "long text", "integer", "float", "binary float", "binary sum"],
)
def test_an_amount_may_be_a_string_or_a_number(woo: Plugin, sent: Any, stored: str) -> None:
    assert woo.order(amount=sent)["amount"] == stored
    assert Checkout.objects.get().amount == Decimal(stored)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"amount": None}, "amount"),
        ({"amount": "25.001"}, "amount"),
        ({"amount": 25.004}, "amount"),
        ({"amount": "1e3"}, "amount"),
        ({"amount": "-5"}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": {}}, "amount"),
        ({"amount": "0.01"}, "amount"),
        ({"amount": "9" * 400}, "amount"),
        ({"currency": "EUR"}, "currency"),
        ({"currency": "BTC"}, "currency"),
        ({"currency": 5}, "currency"),
        ({"metadata": "x"}, "metadata"),
        ({"metadata": {"orderId": "1", "note": "x" * 5_000}}, "metadata"),
        ({"checkout": "x"}, "checkout"),
        ({"checkout": {"redirectURL": "javascript:alert(1)"}}, "checkout.redirectURL"),
        ({"checkout": {"redirectURL": "https://shop.example/" + "x" * 2_020 + "{InvoiceId}"}}, "checkout.redirectURL"),
        ({"checkout": {"redirectURL": 7}}, "checkout.redirectURL"),
    ],
)
def test_what_cannot_be_an_invoice_is_422_with_the_path_in_their_names(
    woo: Plugin, changes: dict[str, Any], path: str
) -> None:
    body = {"amount": "25.00", "currency": "USD", "metadata": {"orderId": "1"}} | changes
    status, told = woo.refusal("POST", f"{woo.store}/invoices", body)
    assert (status, [one["path"] for one in told]) == (422, [path])
    assert not Checkout.objects.exists()


@pytest.mark.parametrize(
    ("given", "kept"), [("nobody", ""), ("a\x00@b.test", ""), (7, ""), ("ürsula@köln.example", "ürsula@köln.example")]
)
def test_no_address_of_a_buyer_refuses_an_invoice(woo: Plugin, given: Any, kept: str) -> None:
    assert woo.order(metadata={"orderId": "1001", "buyerEmail": given})["status"] == "New"
    assert Checkout.objects.get().customer_email == kept


def test_nulls_and_the_empty_lists_of_php_are_absent(woo: Plugin) -> None:
    for metadata, checkout in ((None, None), ([], []), ({}, {})):
        invoice = woo.post(
            f"{woo.store}/invoices",
            {"amount": "25.00", "currency": None, "metadata": metadata, "checkout": checkout, "receipt": None},
        )
        assert (invoice["currency"], invoice["metadata"]) == ("USD", {})
    # Without an order nothing says that two are one.
    assert Checkout.objects.count() == 3


def test_the_invoices_id_and_the_order_are_put_into_the_redirect(woo: Plugin) -> None:
    url = "https://shop.example/back/{InvoiceId}?order={OrderId}"
    invoice = woo.order("a/b", checkout={"redirectURL": url})
    assert Checkout.objects.get().redirect_url == f"https://shop.example/back/{invoice['id']}?order=a%2Fb"
    assert invoice["checkout"]["redirectURL"] == url


def test_what_a_shop_sent_is_said_again_and_nothing_else_of_it(woo: Plugin) -> None:
    sent = {"speedPolicy": "HighSpeed", "paymentMethods": ["USDC_BASE"], "expirationMinutes": 60, "strange": [1]}
    told = woo.order(checkout=sent)["checkout"]
    assert {name: told[name] for name in ("speedPolicy", "paymentMethods", "expirationMinutes")} == {
        "speedPolicy": "HighSpeed",
        "paymentMethods": ["USDC_BASE"],
        "expirationMinutes": 60,
    }
    assert "strange" not in told
    assert told["redirectAutomatically"] is True


@pytest.mark.parametrize(("minutes", "seconds"), [(None, 1800), (1, 300), (60, 3600), ("90", 5400), (10**30, 86400)])
def test_a_shops_time_to_pay_is_moved_into_our_range(woo: Plugin, minutes: Any, seconds: int) -> None:
    invoice = woo.order(checkout={"expirationMinutes": minutes})
    assert invoice["expirationTime"] - invoice["createdTime"] == seconds


@pytest.mark.parametrize("named", [["USDC_BASE"], ["USDC-BASE"], ["usdc-base", "BTC"]])
def test_an_invoice_offers_the_methods_that_it_names(live_woo: Plugin, named: list[str]) -> None:
    invoice = live_woo.order(checkout={"paymentMethods": named})
    found = live_woo.get(f"{live_woo.store}/invoices/{invoice['id']}/payment-methods")
    assert [one["paymentMethodId"] for one in found] == ["USDC-BASE"]
    assert set(Checkout.objects.get().offers) == {"base"}


def test_methods_that_are_not_ours_restrict_nothing(live_woo: Plugin) -> None:
    """Shopware's plugin always asks for BTC."""
    live_woo.order(checkout={"paymentMethods": ["BTC"]})
    assert set(Checkout.objects.get().offers) == {"base", "polygon"}


def test_a_method_that_the_store_does_not_take_now_is_422(live_woo: Plugin) -> None:
    body = {"amount": "25.00", "metadata": {"orderId": "1"}, "checkout": {"paymentMethods": ["USDT-TRON"]}}
    status, [told] = live_woo.refusal("POST", f"{live_woo.store}/invoices", body)
    assert (status, told["path"]) == (422, "checkout.paymentMethods")
    assert not Checkout.objects.exists()


@pytest.mark.parametrize(("named", "offered"), [(["USDT-TRON"], {"tron", "base"}), (["USDC-POLYGON"], {"polygon"})])
def test_a_test_invoice_is_paid_whatever_method_it_names(woo: Plugin, named: list[str], offered: set[str]) -> None:
    """Simulated money needs an address of the invoice's own, which no invoice has on Tron."""
    invoice = woo.order(checkout={"paymentMethods": named})
    assert set(Checkout.objects.get().offers) == offered
    assert play_due_steps(now=timezone.now() + timedelta(seconds=6)) == 1
    assert state(woo, invoice["id"]) == ("Settled", "None")


def test_a_store_without_a_wallet_is_told_so(woo: Plugin) -> None:
    live = make_plugin(woo.merchant, Mode.LIVE)
    status, [told] = live.refusal("POST", f"{live.store}/invoices", {"amount": "25.00"})
    assert status == 422
    assert "receiving wallet" in told["message"]


STATES = {
    CheckoutStatus.PENDING: ("New", "None"),
    CheckoutStatus.PROCESSING: ("Processing", "None"),
    CheckoutStatus.UNDERPAID: ("New", "PaidPartial"),
    CheckoutStatus.COMPLETED: ("Settled", "None"),
    CheckoutStatus.EXPIRED: ("Expired", "None"),
}


@pytest.mark.parametrize("status", CheckoutStatus)
def test_each_status_is_theirs(live_woo: Plugin, status: CheckoutStatus) -> None:
    invoice = live_woo.order()
    BRING_TO[status](invoice["id"])
    assert state(live_woo, invoice["id"]) == STATES[status]
    mine = live_woo.get(f"{live_woo.store}/invoices", f"status={STATES[status][0]}")
    assert [one["id"] for one in mine] == [invoice["id"]]


def test_too_much_is_paid_over_before_and_after_it_is_final(live_woo: Plugin) -> None:
    waiting, done = live_woo.order("1")["id"], live_woo.order("2")["id"]
    pay(waiting, 200, final=False)
    pay(done, 200)
    assert state(live_woo, waiting) == ("Processing", "PaidOver")
    assert state(live_woo, done) == ("Settled", "PaidOver")


def test_a_part_at_expiry_is_paid_partial(live_woo: Plugin) -> None:
    invoice = live_woo.order()
    pay(invoice["id"], 40)
    expire(invoice["id"])
    assert state(live_woo, invoice["id"]) == ("Expired", "PaidPartial")


def reverse(transfer: Transfer) -> None:
    """Let the network take a final payment back."""
    now = timezone.now()
    Transfer.objects.filter(pk=transfer.pk).update(state=TransferState.ORPHANED, orphaned_at=now, queued_at=now)
    attribute_transfers(now=now)


def restore(transfer: Transfer) -> None:
    """Let a payment that was taken back be final again."""
    now = timezone.now()
    back = {"state": TransferState.CONFIRMED, "orphaned_at": None, "confirmed_at": now, "queued_at": now}
    Transfer.objects.filter(pk=transfer.pk).update(**back)
    attribute_transfers(now=now)


def test_money_that_the_network_took_back_settles_no_invoice_until_it_is_there_again(live_woo: Plugin) -> None:
    """A plugin that reads the invoice before it delivers must not deliver."""
    invoice = live_woo.order()["id"]
    transfer = pay(invoice)
    reverse(transfer)
    assert state(live_woo, invoice) == ("Invalid", "None")
    assert live_woo.get(f"{live_woo.store}/invoices", "status=Settled") == []
    assert [one["id"] for one in live_woo.get(f"{live_woo.store}/invoices", "status=Invalid")] == [invoice]
    path = f"{live_woo.store}/invoices/{invoice}/status"
    assert live_woo.refusal("POST", path, {"status": "Settled"})[0] == 422
    restore(transfer)
    assert state(live_woo, invoice) == ("Settled", "None")
    assert live_woo.get(f"{live_woo.store}/invoices", "status=Invalid") == []
    assert [one["id"] for one in live_woo.get(f"{live_woo.store}/invoices", "status=Settled")] == [invoice]


def test_late_money_that_was_accepted_makes_the_same_invoice_paid_late(live_woo: Plugin) -> None:
    invoice = live_woo.order()
    expire(invoice["id"])
    pay(invoice["id"])
    assert state(live_woo, invoice["id"]) == ("Expired", "None")
    with transaction.atomic():
        accept_late(InboxItem.objects.get(), now=timezone.now())
    assert state(live_woo, invoice["id"]) == ("Expired", "PaidLate")
    [method] = live_woo.get(f"{live_woo.store}/invoices/{invoice['id']}/payment-methods")
    assert [one["status"] for one in method["payments"]] == ["Settled"]


def test_late_money_of_an_invoice_that_was_marked_invalid_is_paid_late_once_it_is_accepted(live_woo: Plugin) -> None:
    """WooCommerce's plugin asks for this when it hears of the payment, and else calls the order unpaid."""
    invoice = live_woo.order()["id"]
    live_woo.post(f"{live_woo.store}/invoices/{invoice}/status", {"status": "Invalid"})
    pay(invoice)
    assert state(live_woo, invoice) == ("Invalid", "Marked")
    with transaction.atomic():
        accept_late(InboxItem.objects.get(), now=timezone.now())
    assert state(live_woo, invoice) == ("Expired", "PaidLate")
    listed = [live_woo.get(f"{live_woo.store}/invoices", f"status={status}") for status in ("Expired", "Invalid")]
    assert [[one["id"] for one in found] for found in listed] == [[invoice], []]


def test_payment_methods_are_strings_and_only_the_paid_ones_once_money_came(live_woo: Plugin) -> None:
    invoice = live_woo.order()
    path = f"{live_woo.store}/invoices/{invoice['id']}/payment-methods"
    before = live_woo.get(path)
    assert {one["paymentMethodId"] for one in before} == {"USDC-BASE", "USDC-POLYGON", "USDT-POLYGON"}
    assert {(one["paymentMethodPaid"], one["due"]) for one in before} == {("0.000000", "25.000000")}
    transfer = pay(invoice["id"], 40)
    [method] = live_woo.get(path)
    for name in METHOD_TEXTS:
        assert isinstance(method[name], str), name
    assert {name: method[name] for name in METHOD_TEXTS} == {
        "paymentMethodId": "USDC-BASE",
        "currency": "USDC",
        "destination": Checkout.objects.get().offers["base"]["address"],
        "rate": "1",
        "paymentMethodPaid": "10.000000",
        "totalPaid": "10.000000",
        "due": "15.000000",
        "amount": "25.000000",
        "networkFee": "0",
        "paymentMethodFee": "0",
    }
    [payment] = method["payments"]
    # The library cuts at the hyphen.
    assert payment["id"].split("-")[0] == transfer.tx_hash
    assert (payment["value"], payment["fee"], payment["status"]) == ("10.000000", "0", "Settled")
    assert type(payment["receivedDate"]) is int


def test_an_address_that_others_share_is_not_given_away(woo: Plugin) -> None:
    """Where the amount identifies the buyer, the round amount at the merchant's wallet would be nobody's."""
    invoice = woo.order()
    found = woo.get(f"{woo.store}/invoices/{invoice['id']}/payment-methods")
    offers = Checkout.objects.get().offers
    wallets = {offer["wallet"] for offer in offers.values() if offer.get("wallet")}
    assert wallets
    assert not wallets & {one["destination"] for one in found}


def test_a_repeat_finds_the_orders_invoice_also_once_it_is_paid(live_woo: Plugin) -> None:
    first = live_woo.order()
    assert live_woo.order(amount=25)["id"] == first["id"]
    pay(first["id"])
    again = live_woo.order()
    assert (again["id"], again["status"]) == (first["id"], "Settled")
    assert Checkout.objects.count() == 1


def test_magentos_plugin_gets_no_invoice_twice_until_it_is_paid(live_woo: Plugin) -> None:
    """It notes each answer, and takes a status that it notes twice for one that did not change."""
    metadata = {"orderId": "000000001", "magentoOrderId": "1", "magentoStoreId": 1}
    first, second = (live_woo.order(metadata=metadata)["id"] for _ in range(2))
    assert first != second
    transfer = pay(first, final=False)
    body = {"amount": "25.00000000", "currency": "USD", "metadata": metadata}
    status, [told] = live_woo.refusal("POST", f"{live_woo.store}/invoices", body)
    assert (status, Checkout.objects.count()) == (422, 2)
    assert "has come" in told["message"]
    restore(transfer)
    assert live_woo.order(metadata=metadata)["id"] == first


def test_late_money_of_an_order_that_another_of_its_invoices_paid_is_not_offered(live_woo: Plugin) -> None:
    """Magento's plugin has several invoices of an order, of which none renews another."""
    metadata = {"orderId": "000000001", "magentoOrderId": "1", "magentoStoreId": 1}
    first, second = (live_woo.order(metadata=metadata)["id"] for _ in range(2))
    other = live_woo.order(amount="30.00", metadata=metadata)["id"]
    expire(first)
    pay(first)
    item = InboxItem.objects.get()
    pay(other)
    assert [deed.act for deed in story_of(item, now=timezone.now()).deeds] == [InboxAct.ACCEPT_LATE]
    transfer = pay(second, final=False)
    assert story_of(item, now=timezone.now()).deeds == ()
    restore(transfer)
    assert story_of(item, now=timezone.now()).deeds == ()


def shopware_order(plugin: Plugin, transaction_id: str) -> str:
    """The invoice that Shopware's plugin gets for one of an order's transactions."""
    metadata = {"orderId": "0a1b", "orderNumber": "10001", "transactionId": transaction_id}
    return str(plugin.order(amount=25.0, metadata=metadata)["id"])


def test_shopwares_plugin_gets_an_invoice_for_each_of_an_orders_transactions(live_woo: Plugin) -> None:
    """It marks the transaction paid that the invoice names, and a buyer who comes back with another one ended that."""
    first, second = shopware_order(live_woo, "one"), shopware_order(live_woo, "two")
    assert first != second
    assert shopware_order(live_woo, "two") == second
    pay(second)
    assert shopware_order(live_woo, "three") == second


def test_an_order_that_was_paid_in_the_tab_of_an_earlier_transaction_is_not_asked_for_twice(live_woo: Plugin) -> None:
    first, second = shopware_order(live_woo, "one"), shopware_order(live_woo, "two")
    transfer = pay(first, final=False)
    assert shopware_order(live_woo, "two") == first
    restore(transfer)
    expire(second)
    assert [shopware_order(live_woo, name) for name in ("two", "three")] == [first, first]


def test_another_amount_or_order_is_another_invoice(woo: Plugin) -> None:
    ids = {woo.order("1")["id"], woo.order("1", "30.00")["id"], woo.order("2")["id"], woo.order(1)["id"]}
    assert len(ids) == 3


def test_a_buyer_who_comes_back_after_expiry_gets_a_new_invoice_and_a_double_click_the_same(live_woo: Plugin) -> None:
    ids = [live_woo.order()["id"]]
    for _ in range(2):
        expire(ids[-1])
        ids.append(live_woo.order()["id"])
        assert live_woo.order()["id"] == ids[-1]
    assert len(set(ids)) == 3
    found = live_woo.get(f"{live_woo.store}/invoices", "orderId=1001")
    assert [(one["id"], one["status"]) for one in found] == [(ids[2], "New"), (ids[1], "Expired"), (ids[0], "Expired")]
    # The shop's page is that of the new invoice.
    assert Checkout.objects.get(public_id=ids[2]).order_ref == "1001"


def test_an_invoice_that_expired_after_money_came_is_left_to_a_person(live_woo: Plugin) -> None:
    partly, late = live_woo.order("1")["id"], live_woo.order("2")["id"]
    pay(partly, 40)
    expire(partly)
    expire(late)
    pay(late)
    assert (live_woo.order("1")["id"], live_woo.order("2")["id"]) == (partly, late)


def test_late_money_for_an_earlier_invoice_of_an_order_is_left_to_a_person_too(live_woo: Plugin) -> None:
    first = live_woo.order()["id"]
    expire(first)
    second = live_woo.order()["id"]
    pay(first)
    assert live_woo.order()["id"] == second
    expire(second)
    assert live_woo.order()["id"] == first


def test_an_order_whose_money_was_sent_back_as_a_whole_gets_another_invoice(live_woo: Plugin) -> None:
    invoice = live_woo.order()["id"]
    units = int(pay(invoice, 40).units)
    expire(invoice)
    kept = TransferReturn.objects.create(
        transfer=Transfer.objects.get(), units=units, reserved=units, returned=units - 1
    )
    assert live_woo.order()["id"] == invoice
    kept.returned = units
    kept.save()
    assert live_woo.order()["id"] != invoice


def test_marking_invalid_cancels_and_the_order_can_be_paid_by_another_invoice(live_woo: Plugin) -> None:
    invoice = live_woo.order()
    path = f"{live_woo.store}/invoices/{invoice['id']}/status"
    marked = live_woo.post(path, {"status": "Invalid"})
    assert (marked["status"], marked["additionalStatus"]) == ("Invalid", "Marked")
    assert live_woo.post(path, {"status": "Invalid"}) == marked
    assert [one["id"] for one in live_woo.get(f"{live_woo.store}/invoices", "status=Invalid")] == [invoice["id"]]
    again = live_woo.order(checkout={"paymentMethods": ["USDT-POLYGON"]})
    assert (again["id"] != invoice["id"], again["checkout"]["paymentMethods"]) == (True, ["USDT-POLYGON"])


def test_nothing_marks_an_invoice_as_paid_and_none_that_got_money_is_cancelled(live_woo: Plugin) -> None:
    invoice = live_woo.order()
    path = f"{live_woo.store}/invoices/{invoice['id']}/status"
    status, [told] = live_woo.refusal("POST", path, {"status": "Settled"})
    assert (status, told["path"]) == (422, "status")
    assert "only what was paid" in told["message"]
    values: list[Any] = [None, 5, [], {}, "Paid"]
    assert live_woo.post(f"{live_woo.store}/invoices/", {"amount": "3.00"})["status"] == "New"
    for strange in values:
        assert live_woo.refusal("POST", path, {"status": strange})[0] == 422
    pay(invoice["id"], 40)
    assert live_woo.refusal("POST", path, {"status": "Invalid"})[0] == 422
    assert state(live_woo, invoice["id"]) == ("New", "PaidPartial")
    pay(invoice["id"], 60)
    assert live_woo.post(path, {"status": "Settled"})["status"] == "Settled"
    assert live_woo.refusal("POST", path, {"status": "Invalid"})[0] == 422


def test_lists_are_filtered_as_the_library_asks(woo: Plugin) -> None:
    ids = {name: woo.order(name)["id"] for name in ("1", "2", "3")}
    ours = make_checkout(woo.merchant, mode="test", order_ref="4")

    def listed(query: str) -> list[str]:
        return [one["id"] for one in woo.get(f"{woo.store}/invoices", query)]

    assert sorted(listed("orderId=1&orderId=3&orderId=4")) == sorted([ids["1"], ids["3"], ours.public_id])
    assert listed("take=2&skip=1") == listed("")[1:3]
    assert len(listed("")) == 4
    assert listed("orderId=nobodys") == []
    assert listed(f"textSearch={ids['2']}") == [ids["2"]]
    assert listed("textSearch=2") == [ids["2"]]
    assert listed("startDate=4102444800") == []
    assert len(listed("endDate=4102444800")) == 4
    assert len(listed("status=New&status=Settled")) == 4
    for query in ("status=Paid", "take=x", "skip=-1", "startDate=soon", "orderId=%01"):
        assert woo.send("GET", f"{woo.store}/invoices", QUERY_STRING=query).status_code == 422, query


def test_a_list_is_never_shorter_than_its_take_says(woo: Plugin) -> None:
    path = f"{woo.store}/invoices"
    for take in ("101", "500"):
        answer = woo.send("GET", path, QUERY_STRING=f"take={take}")
        assert answer.status_code == 422
        assert orjson.loads(answer.content) == [{"path": "take", "message": "take must be a whole number up to 100."}]
    now = timezone.now()
    Checkout.objects.bulk_create(
        CheckoutFactory.build(merchant=woo.merchant, mode="test", expires_at=now) for _ in range(101)
    )
    assert len(woo.get(path, "take=100")) == len(woo.get(path)) == 100
    assert len(woo.get(path, "skip=100&take=100")) == 1


def test_a_buyer_is_led_from_the_invoices_id_to_the_page_and_only_for_invoices_of_plugins(woo: Plugin) -> None:
    invoice = woo.order()
    code = Checkout.objects.get().code
    answer = Client().get(f"/btcpay/i/{invoice['id']}?lang=de")
    assert answer.status_code == 302
    assert answer["Location"].endswith(f"/c/{code}?lang=de")
    assert Client().get(f"/btcpay/i/{make_checkout().public_id}").status_code == 404
    assert Client().get("/btcpay/i/nobodys").status_code == 404
    assert Client().post(f"/btcpay/i/{invoice['id']}").status_code == 405


def test_the_order_of_a_checkout_that_our_own_api_made_gets_its_page(woo: Plugin) -> None:
    ours = make_checkout(
        woo.merchant, mode="test", order_ref="1001", creation_ref="1001", expires_at=timezone.now() + timedelta(hours=1)
    )
    assert woo.order()["id"] == ours.public_id
    assert InvoiceOptions.objects.get().checkout_id == ours.pk
    assert Client().get(f"/btcpay/i/{ours.public_id}").status_code == 302


def test_the_script_of_the_modal_is_ours() -> None:
    answer = Client().get("/btcpay/modal/btcpay.js")
    assert (answer.status_code, answer["Location"]) == (302, "/static/js/btcpay.js")
