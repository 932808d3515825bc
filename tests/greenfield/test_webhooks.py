"""Webhooks of plugins: endpoints in BTCPay Server's format, what is told there, and how it is signed."""

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.inbox.successors import accept_late
from checkouts.models import InboxItem
from checkouts.testmode import play_due_steps
from gateway.core.json import MAX_DEPTH
from gateway.core.secrets import unseal
from greenfield.events import SOURCES, body_of, needed_events
from tests.contract.client import client_of
from tests.contract.payments import expire, pay
from tests.dashboard.people import make_member
from tests.factories import NOON
from tests.greenfield.plugin import PRESTASHOP, SHOPWARE, WOO, Plugin, make_live_plugin, make_plugin
from tests.greenfield.test_invoices import restore, reverse
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver
from tests.webhooks.senders import sending
from wallets.models import Transfer
from webhooks.delivery.claims import Claimed, Room, Work, due_deliveries, take_endpoints
from webhooks.delivery.formats import most_tries, request_of
from webhooks.health import MAX_TRIES
from webhooks.models import Attempt, Delivery, Endpoint, Event, SigningSecret
from webhooks.signatures import sign_as_btcpay
from webhooks.states import DeliveryStatus, Format

HOOK = "https://shop.example/?wc-api=btcpaygf_default"
WOO_EVENTS = [
    "InvoiceReceivedPayment",
    "InvoicePaymentSettled",
    "InvoiceProcessing",
    "InvoiceExpired",
    "InvoiceSettled",
    "InvoiceInvalid",
]
SPECIFIC = {"everything": False, "specificEvents": WOO_EVENTS}
EVERYTHING = {"everything": True}


def path(plugin: Plugin, webhook_id: str = "") -> str:
    return f"{plugin.store}/webhooks" + (f"/{webhook_id}" if webhook_id else "")


def register(plugin: Plugin, url: str = HOOK, **body: Any) -> Any:
    """A webhook as the library makes it."""
    whole = {"enabled": True, "automaticRedelivery": True, "url": url, "authorizedEvents": EVERYTHING} | body
    return plugin.post(path(plugin), whole)


def told_by(event: Event, *, later: tuple[str, ...] = ()) -> Any:
    """What the delivery of an event to a plugin says after `later` ones; None where there is nothing to say."""
    delivery = Delivery.objects.select_related("endpoint").get(event=event, endpoint__format=Format.BTCPAY)
    body = body_of(replace(claimed_of(delivery, event), later=later))
    return body and json.loads(body)


def claimed_of(delivery: Delivery, event: Event, tries: int = 0) -> Claimed:
    endpoint = delivery.endpoint
    return Claimed(
        delivery=delivery.pk,
        delivery_id=delivery.public_id,
        tries=tries,
        endpoint=endpoint.pk,
        merchant=endpoint.merchant_id,
        url=endpoint.url,
        endpoint_failures=0,
        event_id=event.public_id,
        event_type=event.type,
        subject_id=event.subject_id,
        body=bytes(event.body),
        format=endpoint.format,
        listed_id=endpoint.public_id,
        dialect=json.dumps(endpoint.dialect),
    )


def heard() -> list[Any]:
    """What plugins are told of all events, in their order."""
    found = [told_by(event) for event in Event.objects.filter(deliveries__isnull=False).order_by("sequence")]
    return [one for one in found if one]


def heard_now(after: int) -> tuple[list[Any], int]:
    """What a plugin hears at last of the events after a number, if nothing of it arrived before the last one; and that one's number."""
    events = list(Event.objects.filter(deliveries__isnull=False, sequence__gt=after).order_by("sequence"))
    told = [
        told_by(one, later=tuple(two.type for two in events[at:] if two.subject_id == one.subject_id))
        for at, one in enumerate(events, 1)
    ]
    return [one for one in told if one], events[-1].sequence if events else after


def kinds() -> list[tuple[str, str]]:
    return [(one["type"], one["invoiceId"]) for one in heard()]


pytestmark = pytest.mark.django_db


def test_a_webhook_says_what_the_library_reads_and_its_secret_once(woo: Plugin) -> None:
    made = register(woo, authorizedEvents=SPECIFIC)
    assert set(made) == {"id", "enabled", "automaticRedelivery", "url", "authorizedEvents", "secret"}
    assert (made["enabled"], made["automaticRedelivery"], made["url"]) == (True, True, HOOK)
    assert made["authorizedEvents"] == SPECIFIC
    seen = woo.get(path(woo, made["id"]))
    assert seen == {name: value for name, value in made.items() if name != "secret"}
    assert woo.get(path(woo)) == [seen]
    endpoint = Endpoint.objects.get()
    assert (endpoint.format, endpoint.public_id, endpoint.name) == ("btcpay", made["id"], "Shop plugin")
    assert endpoint.events == needed_events(WOO_EVENTS)


@pytest.mark.parametrize("secret", ["a" * 48, "päss wörd ✓", "x", "whsec_nothing"])
def test_a_secret_that_the_client_gives_is_kept_and_signs(woo: Plugin, secret: str) -> None:
    """PrestaShop's plugin compares it."""
    assert register(woo, secret=secret)["secret"] == secret
    assert unseal(bytes(SigningSecret.objects.get().sealed)) == secret


@pytest.mark.parametrize("authorized", [{}, {"authorizedEvents": None}, {"authorizedEvents": EVERYTHING}])
def test_a_url_alone_means_everything(woo: Plugin, authorized: dict[str, Any]) -> None:
    """Shopware's plugin sends nothing else, and no secret."""
    made = woo.post(path(woo), {"url": HOOK} | authorized)
    assert made["authorizedEvents"] == {"everything": True, "specificEvents": []}
    assert made["secret"]
    assert Endpoint.objects.get().events == needed_events(None)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "url"),
        ({"url": "http://10.0.0.1/hook"}, "url"),
        ({"url": "ftp://shop.example/"}, "url"),
        ({"url": 5}, "url"),
        ({"url": HOOK, "secret": "a\x00"}, "secret"),
        ({"url": HOOK, "secret": "x" * 256}, "secret"),
        ({"url": HOOK, "enabled": "yes"}, "enabled"),
        ({"url": HOOK, "authorizedEvents": "all"}, "authorizedEvents"),
        ({"url": HOOK, "authorizedEvents": {"specificEvents": "all"}}, "authorizedEvents.specificEvents"),
        ({"url": HOOK, "authorizedEvents": {"specificEvents": [{}]}}, "authorizedEvents.specificEvents"),
        ({"url": HOOK, "authorizedEvents": {"specificEvents": ["x"] * 41}}, "authorizedEvents.specificEvents"),
        ({"url": HOOK, "authorizedEvents": {"specificEvents": ["a b"]}}, "authorizedEvents.specificEvents"),
    ],
)
def test_what_cannot_be_a_webhook_is_422(woo: Plugin, body: dict[str, Any], named: str) -> None:
    status, [told] = woo.refusal("POST", path(woo), body)
    assert (status, told["path"]) == (422, named)
    assert not Endpoint.objects.exists()


def test_a_change_keeps_the_secret_unless_it_gives_one(woo: Plugin) -> None:
    made = register(woo, secret="first")
    body = {"enabled": False, "automaticRedelivery": True, "url": HOOK + "2", "authorizedEvents": SPECIFIC}
    changed = woo.put(path(woo, made["id"]), body | {"secret": None})
    assert (changed["enabled"], changed["url"], changed["authorizedEvents"]) == (False, HOOK + "2", SPECIFIC)
    assert woo.get(path(woo, made["id"])) == changed
    assert unseal(bytes(SigningSecret.objects.get().sealed)) == "first"
    woo.put(path(woo, made["id"]), body | {"secret": "second"})
    assert unseal(bytes(SigningSecret.objects.get().sealed)) == "second"


def test_a_shop_that_is_connected_again_gets_its_endpoint_with_another_secret(woo: Plugin) -> None:
    first, second = register(woo, secret="first"), register(woo)
    assert second["id"] == first["id"]
    assert second["secret"] not in {"", "first"}
    assert unseal(bytes(SigningSecret.objects.get().sealed)) == second["secret"]


def test_deleting_answers_200_and_leaves_an_ordinary_url_behind(woo: Plugin) -> None:
    made = register(woo)
    assert woo.send("DELETE", path(woo, made["id"])).status_code == 200
    assert woo.refusal("GET", path(woo, made["id"]))[0] == 404
    endpoint = Endpoint.objects.get()
    assert (endpoint.format, endpoint.dialect, endpoint.public_id) == ("florin", None, None)
    assert not SigningSecret.objects.exists()


def test_ordinary_endpoints_are_no_webhooks_of_plugins(woo: Plugin) -> None:
    ours = client_of(woo.merchant, Mode.TEST)
    there = ours.post("/webhook_endpoints", {"url": HOOK}).body
    assert woo.get(path(woo)) == []
    for name in (there["id"], "whe_default"):
        for method in ("GET", "PUT", "DELETE"):
            body = {"url": HOOK} if method == "PUT" else None
            assert woo.refusal(method, path(woo, name), body)[1]["code"] == "webhook-not-found"
    status, [told] = woo.refusal("POST", path(woo), {"url": HOOK})
    assert (status, told["path"]) == (422, "url")
    assert Endpoint.objects.get().format == "florin"


def test_what_a_plugin_does_to_its_webhook_is_audited_with_its_key(woo: Plugin) -> None:
    made = register(woo)
    woo.send("DELETE", path(woo, made["id"]))
    actions = AuditEntry.objects.filter(action__startswith="webhook_endpoint.").order_by("pk")
    assert list(actions.values_list("action", flat=True)) == ["webhook_endpoint.added", "webhook_endpoint.deleted"]


def test_another_secret_is_audited_and_the_same_one_is_not(woo: Plugin) -> None:
    """WooCommerce's plugin sends its secret with each change."""
    make_member(woo.merchant)
    made = register(woo, secret="k1-of-the-shop")
    woo.put(path(woo, made["id"]), {"url": HOOK, "secret": "k1-of-the-shop"})
    rotated = AuditEntry.objects.filter(action="webhook_endpoint.secret_rotated", object_id=made["id"])
    assert not rotated.exists()
    woo.put(path(woo, made["id"]), {"url": HOOK, "secret": "k2-of-the-shop"})
    assert rotated.count() == 1
    register(woo)
    assert rotated.count() == 2
    assert "-of-the-shop" not in str(list(rotated.values()))


def test_each_step_of_a_payment_is_told_once_in_their_words(live_woo: Plugin) -> None:
    register(live_woo)
    invoice = live_woo.order()["id"]
    pay(invoice)
    assert [one for one, _ in kinds()][-1] == "InvoiceSettled"
    settled = heard()[-1]
    assert {name: settled[name] for name in ("type", "invoiceId", "storeId", "manuallyMarked", "overPaid")} == {
        "type": "InvoiceSettled",
        "invoiceId": invoice,
        "storeId": live_woo.merchant.public_id,
        "manuallyMarked": False,
        "overPaid": False,
    }
    assert settled["metadata"]["orderId"] == "1001"
    assert type(settled["timestamp"]) is int
    delivery = Delivery.objects.get(event__type="checkout.completed")
    assert settled["deliveryId"] == settled["originalDeliveryId"] == delivery.public_id
    assert (settled["webhookId"], settled["isRedelivery"]) == (delivery.endpoint.public_id, False)


def test_a_settled_invoice_that_got_too_much_says_so(live_woo: Plugin) -> None:
    register(live_woo)
    pay(live_woo.order()["id"], 200)
    settled = heard()[-1]
    assert (settled["type"], settled["overPaid"], settled["manuallyMarked"]) == ("InvoiceSettled", True, False)


def test_the_facade_stores_two_tables_and_what_an_endpoints_bodies_need(woo: Plugin) -> None:
    register(woo, authorizedEvents=SPECIFIC)
    assert {model.__name__ for model in apps.get_app_config("greenfield").get_models()} == {
        "Connection",
        "InvoiceOptions",
    }
    assert Endpoint.objects.get().dialect == {
        "store": woo.merchant.public_id,
        "events": WOO_EVENTS,
        "makes_orders": False,
    }


def test_metadata_as_deep_as_a_request_may_be_are_told(live_woo: Plugin) -> None:
    """Else each try would fail, and count against the shop's endpoint."""
    register(live_woo)
    # The body and its metadata are two levels.
    deep = "[" * (MAX_DEPTH - 2) + "]" * (MAX_DEPTH - 2)
    invoice = live_woo.order(metadata={"orderId": "1001", "deep": json.loads(deep)})["id"]
    pay(invoice)
    settled = heard()[-1]
    assert (settled["type"], json.dumps(settled["metadata"]["deep"])) == ("InvoiceSettled", deep)


def test_money_that_is_not_final_is_processing(live_woo: Plugin) -> None:
    register(live_woo)
    invoice = live_woo.order()["id"]
    pay(invoice, 200, final=False)
    [processing] = heard()
    assert (processing["type"], processing["invoiceId"], processing["overPaid"]) == ("InvoiceProcessing", invoice, True)


def test_the_end_of_an_unpaid_a_partly_paid_and_a_cancelled_invoice(live_woo: Plugin) -> None:
    register(live_woo)
    for order, share in (("1", 0), ("2", 40)):
        invoice = live_woo.order(order)["id"]
        if share:
            pay(invoice, share)
        expire(invoice)
    cancelled = live_woo.order("3")["id"]
    live_woo.post(f"{live_woo.store}/invoices/{cancelled}/status", {"status": "Invalid"})
    ends = [one for one in heard() if one["type"] in {"InvoiceExpired", "InvoiceInvalid"}]
    assert [(one["type"], one.get("partiallyPaid"), one.get("manuallyMarked")) for one in ends] == [
        ("InvoiceExpired", False, None),
        ("InvoiceExpired", True, None),
        ("InvoiceInvalid", None, True),
    ]


def paid_late(woo: Plugin) -> tuple[str, Transfer]:
    """An order's invoice that expired, and the money that came afterwards and was accepted."""
    invoice = woo.order()["id"]
    expire(invoice)
    transfer = pay(invoice)
    with transaction.atomic():
        accept_late(InboxItem.objects.get(), now=timezone.now())
    return invoice, transfer


def test_accepted_late_money_is_told_as_a_payment_of_the_expired_invoice(live_woo: Plugin) -> None:
    """WooCommerce's plugin then reads the invoice, and finds it paid late."""
    register(live_woo)
    invoice, transfer = paid_late(live_woo)
    late = heard()[-1]
    assert (late["type"], late["invoiceId"], late["afterExpiration"]) == ("InvoicePaymentSettled", invoice, True)
    assert (late["paymentMethodId"], late["payment"]["id"]) == ("USDC-BASE", f"{transfer.tx_hash}-{transfer.position}")
    assert {told for _, told in kinds()} == {invoice}


def test_money_that_the_network_takes_back_makes_the_invoice_invalid_and_settled_once_it_is_back(
    live_woo: Plugin,
) -> None:
    register(live_woo, authorizedEvents=SPECIFIC)
    invoice = live_woo.order()["id"]
    transfer = pay(invoice)
    reverse(transfer)
    taken = heard()[-1]
    assert (taken["type"], taken["invoiceId"], taken["manuallyMarked"]) == ("InvoiceInvalid", invoice, False)
    assert taken["metadata"]["orderId"] == "1001"
    restore(transfer)
    back = heard()[-1]
    assert (back["type"], back["invoiceId"], back["overPaid"]) == ("InvoiceSettled", invoice, False)


def test_late_money_that_the_network_takes_back_is_told_of_the_invoice_that_the_shop_knows(live_woo: Plugin) -> None:
    register(live_woo)
    invoice, transfer = paid_late(live_woo)
    reverse(transfer)
    assert kinds()[-1] == ("InvoiceInvalid", invoice)
    restore(transfer)
    assert kinds()[-1] == ("InvoicePaymentSettled", invoice)


def claimed_late() -> list[Claimed]:
    """The deliveries of which no try has arrived until now, as the sender claims all of them."""
    endpoint, now = Endpoint.objects.get(), timezone.now()
    take_endpoints("one", now=now, lease=timedelta(minutes=5))
    return due_deliveries("one", {endpoint.pk: Room(100, idle=True)}, held=[], now=now)


def told_late() -> list[str]:
    """What a plugin hears if no try has arrived until now."""
    return [json.loads(body)["type"] for body in map(body_of, claimed_late()) if body]


def test_what_a_later_event_contradicts_is_not_told_by_a_try_that_comes_late(live_woo: Plugin) -> None:
    """WooCommerce's plugin believes the type: it would put a paid order on hold, or deliver what the network took back."""
    register(live_woo, authorizedEvents=SPECIFIC)
    transfer = pay(live_woo.order()["id"], final=False)
    assert told_late() == ["InvoiceProcessing"]
    restore(transfer)
    assert told_late() == ["InvoicePaymentSettled", "InvoiceSettled"]
    reverse(transfer)
    assert told_late() == ["InvoicePaymentSettled", "InvoiceInvalid"]
    restore(transfer)
    assert told_late() == ["InvoicePaymentSettled", "InvoiceSettled"]


PAID_AT_ONCE = ["InvoicePaymentSettled", "InvoiceSettled"]


def test_prestashops_plugin_hears_late_that_money_came(local_nodes: None) -> None:
    """It reads the invoice, and may make its order only then."""
    shop = make_live_plugin(PRESTASHOP)
    register(shop)
    restore(pay(shop.order()["id"], final=False))
    assert told_late() == ["InvoiceProcessing", *PAID_AT_ONCE]


def test_prestashops_plugin_makes_no_order_of_money_that_is_gone(local_nodes: None) -> None:
    shop = make_live_plugin(PRESTASHOP)
    register(shop)
    invoice = shop.order()["id"]
    reverse(pay(invoice, final=False))
    expire(invoice)
    assert told_late() == ["InvoiceExpired"]


def test_shopwares_plugin_does_not_hear_late_that_money_came(local_nodes: None) -> None:
    """It believes the type, and would put a paid order back in progress."""
    shop = make_live_plugin(SHOPWARE)
    shop.post(path(shop), {"url": HOOK})
    transfer = pay(shop.order()["id"], final=False)
    assert told_late() == ["InvoiceProcessing"]
    restore(transfer)
    assert told_late() == PAID_AT_ONCE


@pytest.mark.parametrize(
    ("permissions", "heard"),
    [(PRESTASHOP, ["InvoiceProcessing", *PAID_AT_ONCE]), (WOO, PAID_AT_ONCE), (SHOPWARE, PAID_AT_ONCE)],
)
def test_money_that_is_final_when_it_is_seen_is_told_to_who_makes_orders_of_it(
    local_nodes: None, permissions: tuple[str, ...], heard: list[str]
) -> None:
    """PrestaShop's plugin makes its order at InvoiceProcessing in one of its modes. The invoice that it reads then is settled."""
    shop = make_live_plugin(permissions)
    register(shop)
    invoice = shop.order()["id"]
    pay(invoice)
    assert told_late() == heard
    assert shop.get(f"{shop.store}/invoices/{invoice}")["status"] == "Settled"


def test_what_is_told_of_one_payment_has_an_id_each_that_stays(local_nodes: None) -> None:
    shop = make_live_plugin(PRESTASHOP)
    register(shop)
    pay(shop.order()["id"])
    tries = [[json.loads(body_of(replace(one, tries=tries)) or b"") for one in claimed_late()] for tries in (0, 1)]
    first, second = ([one["deliveryId"] for one in told] for told in tries)
    assert first == second
    assert len(set(first)) == 3


def test_a_shop_in_test_mode_hears_of_a_simulated_payment_what_it_hears_of_a_real_one() -> None:
    shop = make_plugin(permissions=PRESTASHOP)
    register(shop)
    shop.order()
    play_due_steps(now=timezone.now() + timedelta(minutes=1))
    assert told_late() == ["InvoiceProcessing", *PAID_AT_ONCE]


def test_a_webhook_that_is_changed_is_still_of_a_plugin_that_makes_orders(local_nodes: None) -> None:
    shop = make_live_plugin(PRESTASHOP)
    made = register(shop)
    shop.put(path(shop, made["id"]), {"url": HOOK, "authorizedEvents": EVERYTHING})
    pay(shop.order()["id"])
    assert told_late()[0] == "InvoiceProcessing"


@pytest.mark.parametrize(
    ("authorized", "is_told"),
    [(EVERYTHING, True), ({"everything": False, "specificEvents": ["InvoiceProcessing"]}, False)],
)
@pytest.mark.parametrize("is_changed", [False, True])
def test_an_endpoint_from_before_is_one_that_makes_orders_where_it_takes_everything(
    live_woo: Plugin, authorized: dict[str, Any], is_told: bool, is_changed: bool
) -> None:
    """The release before did not store which plugins make orders, and told them."""
    made = register(live_woo, authorizedEvents=authorized)
    endpoint = Endpoint.objects.get()
    endpoint.dialect = {name: value for name, value in (endpoint.dialect or {}).items() if name != "makes_orders"}
    endpoint.save()
    if is_changed:
        live_woo.put(path(live_woo, made["id"]), {"url": HOOK, "authorizedEvents": authorized})
        assert (Endpoint.objects.get().dialect or {})["makes_orders"] is is_told
    pay(live_woo.order()["id"])
    assert ("InvoiceProcessing" in told_late()) is is_told


@pytest.mark.parametrize(
    ("authorized", "heard"), [(SPECIFIC, ["InvoiceSettled"]), (EVERYTHING, ["InvoicePaymentSettled", "InvoiceSettled"])]
)
def test_a_payment_is_not_told_again_after_it_settled_the_invoice_to_a_plugin_that_chose_its_types(
    live_woo: Plugin, authorized: dict[str, Any], heard: list[str]
) -> None:
    """OpenCart's would put the settled order back to paid. PrestaShop's, which takes everything, records the payment."""
    register(live_woo, authorizedEvents=authorized)
    pay(live_woo.order()["id"])
    again = [body_of(replace(one, tries=1)) for one in claimed_late()]
    assert [json.loads(body)["type"] for body in again if body] == heard


def test_types_that_a_shop_did_not_choose_are_not_told(live_woo: Plugin) -> None:
    register(live_woo, authorizedEvents={"everything": False, "specificEvents": ["InvoiceInvalid"]})
    paid, gone, cancelled = (live_woo.order(order)["id"] for order in "123")
    pay(paid)
    expire(gone)
    live_woo.post(f"{live_woo.store}/invoices/{cancelled}/status", {"status": "Invalid"})
    assert kinds() == [("InvoiceInvalid", cancelled)]


def test_types_that_are_never_sent_may_be_chosen(woo: Plugin) -> None:
    chosen = {"everything": False, "specificEvents": ["InvoiceCreated", "PaymentRequestCreated"]}
    assert register(woo, authorizedEvents=chosen)["authorizedEvents"] == chosen
    assert Endpoint.objects.get().events == []


def test_every_type_of_theirs_comes_from_types_of_ours(settings: Any) -> None:
    assert {source for sources in SOURCES.values() for source in sources} <= set(settings.WEBHOOK_EVENT_TYPES)


BODY = '{"type":"InvoiceSettled","metadata":{"é":"ü"}}'.encode()
VECTORS = [
    ("secret", BODY),
    ("", b""),
    ("ключ", b'{"a":1.10}'),
    ("whsec_dGVzdA==", b"{}"),
    # RFC 4231, test case 2.
    ("Jefe", b"what do ya want for nothing?"),
]


@pytest.mark.parametrize(("secret", "body"), VECTORS)
def test_the_signature_is_the_one_that_plugins_compute(secret: str, body: bytes) -> None:
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    assert sign_as_btcpay(body, secret) == expected


def test_a_published_vector_is_met() -> None:
    assert sign_as_btcpay(b"what do ya want for nothing?", "Jefe") == (
        "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


def test_a_request_is_signed_by_the_newest_secret_and_tells_the_same_at_each_try(live_woo: Plugin) -> None:
    register(live_woo)
    pay(live_woo.order()["id"])
    delivery = Delivery.objects.select_related("event", "endpoint").get(event__type="checkout.completed")
    first, later = (
        request_of(Work(claimed_of(delivery, delivery.event, tries), ["new", "old"]), NOON) for tries in (0, 3)
    )
    assert first is not None
    assert later is not None
    assert first.headers["BTCPay-Sig"] == sign_as_btcpay(first.body, "new")
    assert set(first.headers) == {"Content-Type", "BTCPay-Sig"}
    assert json.loads(first.body) | {"isRedelivery": True} == json.loads(later.body)
    assert most_tries(Format.BTCPAY) == MAX_TRIES


@pytest.mark.django_db(transaction=True)
def test_a_shop_is_told_signed_and_what_it_need_not_know_ends_untold(local_nodes: None, receiver: Receiver) -> None:
    plugin = make_live_plugin()
    made = register(plugin, receiver.url, authorizedEvents={"specificEvents": ["InvoiceSettled", "InvoiceInvalid"]})
    paid, gone = plugin.order("1")["id"], plugin.order("2")["id"]
    with sending():
        expire(gone)
        pay(paid)
        wait_until(lambda: not Delivery.objects.filter(status=DeliveryStatus.PENDING).exists())
    [got] = receiver.got
    told = json.loads(got.body)
    assert (told["type"], told["invoiceId"]) == ("InvoiceSettled", paid)
    assert got.headers["BTCPay-Sig"] == sign_as_btcpay(got.body, made["secret"])
    statuses = dict(Delivery.objects.values_list("event__type", "status"))
    assert statuses == {"checkout.expired": "cancelled", "checkout.completed": "delivered"}
    # Nothing was sent, so nothing is known of the shop.
    assert Attempt.objects.count() == 1
    assert Endpoint.objects.get().consecutive_failures == 0


def test_a_plugin_in_test_mode_hears_nothing_of_live_money(live_woo: Plugin) -> None:
    tester = make_plugin(live_woo.merchant)
    register(tester)
    pay(live_woo.order()["id"])
    assert not Delivery.objects.exists()
