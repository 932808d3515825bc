"""The provider for django-payments in a running Django shop. Florin is played: what changes a payment, and what does not."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest

from clients.conformance.server import Script, playing
from florin import testing
from tests.clients.django_shop import Shop, checkout, event, selling

pytestmark = pytest.mark.slow

SECRET: Final = "whsec_" + "A" * 43 + "="
OTHER: Final = "whsec_" + "B" * 43 + "="
CALLERS: Final = 4


@dataclass(frozen=True)
class Desk:
    """A shop, and the server that plays its Florin."""

    shop: Shop
    server: Script

    def will_answer(self, *answers: dict[str, Any]) -> None:
        """What Florin answers next, in order. What was left of an earlier test is passed over."""
        told = self.server.scenarios[0]["answers"]
        told[len(self.server.seen[0]) :] = answers

    def asked(self, since: int) -> list[Any]:
        """The requests after the first so many: method, path and body."""
        return [
            (one["method"], one["path"], json.loads(one["body"]) if one["body"] else None)
            for one in self.server.seen[0][since:]
        ]

    @property
    def count(self) -> int:
        """How many requests came so far."""
        return len(self.server.seen[0])

    def ordered(self) -> str:
        """An order that waits for its payment."""
        # Only the request knows the order's token, and the shop reads nothing of it in the answer.
        self.will_answer({"status": 201, "json": checkout("")})
        order, answer = self.shop.order()
        assert answer.status_code == 302, answer.text
        return order

    def told(self, order: str, secret: str = SECRET, **changes: Any) -> int:
        """Say that an order's checkout is so now; return the status of the answer to the webhook."""
        state = {"json": checkout(order, **changes)}
        self.will_answer(state)
        body = event(state["json"]["id"])
        return self.shop.hook(order, body, testing.sign(body, secret))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One shop for the tests of this module."""
    with (
        playing([{"answers": []}]) as server,
        selling(tmp_path_factory.mktemp("shop"), f"{server.url}/s0", "sk_test_1", SECRET) as shop,
    ):
        yield Desk(shop, server)


def test_a_buyer_gets_the_checkout_of_the_order_and_the_same_again(desk: Desk) -> None:
    since = desk.count
    order = desk.ordered()
    desk.will_answer({"json": checkout(order)})
    again = httpx.get(f"{desk.shop.url}/orders/{order}/pay/")
    assert again.headers["Location"] == "https://pay.example/c/1"
    here = desk.shop.hook_url(order)
    wanted = {
        "amount": "25",
        "currency": "USD",
        "order_ref": order,
        "description": "Two cups of tea",
        "redirect_url": here,
        "webhook_url": here,
    }
    assert desk.asked(since) == [("POST", "/checkouts", wanted)] * 2
    assert desk.shop.facts(order) == {
        "status": "waiting",
        "fraud_status": "unknown",
        "captured": "0.00",
        "checkout": "chk_test_1",
        "changes": [],
    }


def test_a_buyer_who_has_paid_is_sent_to_the_shop_and_nothing_is_asked(desk: Desk) -> None:
    order = desk.ordered()
    desk.told(order, status="completed")
    since = desk.count
    again = httpx.get(f"{desk.shop.url}/orders/{order}/pay/")
    assert (again.status_code, again.headers["Location"]) == (302, f"/orders/{order}/")
    assert desk.asked(since) == []


def test_a_decided_payment_keeps_the_checkout_that_decided_it(desk: Desk) -> None:
    order = desk.ordered()
    desk.told(order, status="completed", id="chk_test_2")
    desk.told(order, status="completed", id="chk_test_2", exception="reversed")
    # The checkout that was made for the order is the expired one for ever.
    desk.will_answer({"json": checkout(order, status="expired")})
    again = httpx.get(f"{desk.shop.url}/orders/{order}/pay/")
    assert again.headers["Location"] == "https://pay.example/c/1"
    assert desk.shop.facts(order)["checkout"] == "chk_test_2"


def test_a_completed_checkout_confirms_the_payment_once(desk: Desk) -> None:
    order = desk.ordered()
    assert [desk.told(order, status="completed") for _ in range(3)] == [204] * 3
    facts = desk.shop.facts(order)
    assert (facts["status"], facts["captured"], facts["changes"]) == ("confirmed", "25.00", ["confirmed"])


def test_webhooks_at_once_confirm_once(desk: Desk) -> None:
    order = desk.ordered()
    desk.will_answer(*[{"json": checkout(order, status="completed")}] * CALLERS)
    body = event("chk_test_1")
    headers = testing.sign(body, SECRET)
    with ThreadPoolExecutor(CALLERS) as pool:
        found = list(pool.map(lambda _: desk.shop.hook(order, body, headers), range(CALLERS)))
    assert found == [204] * CALLERS
    assert desk.shop.facts(order)["changes"] == ["confirmed"]


@pytest.mark.parametrize(
    ("secret", "livemode", "status"), [(OTHER, False, 400), (SECRET, True, 200)], ids=["forged", "of the other mode"]
)
def test_an_event_that_is_not_ours_changes_nothing_and_nothing_is_asked(
    desk: Desk, secret: str, livemode: bool, status: int
) -> None:
    order = desk.ordered()
    since = desk.count
    body = event("chk_test_1", livemode=livemode)
    assert desk.shop.hook(order, body, testing.sign(body, secret)) == status
    assert desk.asked(since) == []
    assert desk.shop.facts(order)["status"] == "waiting"


def test_the_checkout_of_another_order_pays_nothing(desk: Desk) -> None:
    order, other = desk.ordered(), desk.ordered()
    desk.will_answer({"json": checkout(other, status="completed")})
    body = event("chk_test_1")
    assert desk.shop.hook(order, body, testing.sign(body, SECRET)) == 400
    assert desk.shop.facts(order)["status"] == "waiting"


@pytest.mark.parametrize("changes", [{"amount": "24.00"}, {"currency": "EUR"}], ids=["amount", "currency"])
def test_another_price_is_looked_at_by_a_person(desk: Desk, changes: dict[str, str]) -> None:
    order = desk.ordered()
    assert desk.told(order, status="completed", **changes) == 204
    facts = desk.shop.facts(order)
    assert (facts["status"], facts["fraud_status"], facts["changes"]) == ("waiting", "review", [])


def test_what_the_network_takes_back_is_an_error_until_it_is_back(desk: Desk) -> None:
    order = desk.ordered()
    desk.told(order, status="completed")
    desk.told(order, status="completed", exception="reversed")
    facts = desk.shop.facts(order)
    assert (facts["status"], facts["captured"]) == ("error", "0.00")
    desk.told(order, status="completed")
    assert desk.shop.facts(order)["changes"] == ["confirmed", "error", "confirmed"]


def test_money_on_its_way_changes_nothing_and_an_expired_checkout_rejects(desk: Desk) -> None:
    order = desk.ordered()
    for status in ("processing", "underpaid"):
        desk.told(order, status=status)
        assert desk.shop.facts(order)["status"] == "waiting"
    desk.told(order, status="expired")
    desk.told(order, status="expired")
    assert desk.shop.facts(order)["changes"] == ["rejected"]


def test_late_money_that_is_accepted_confirms_by_the_checkout_that_took_it(desk: Desk) -> None:
    order = desk.ordered()
    desk.told(order, status="expired")
    desk.told(order, status="completed", id="chk_test_2")
    # A late try of the first event.
    desk.told(order, status="expired")
    facts = desk.shop.facts(order)
    assert (facts["changes"], facts["checkout"]) == (["rejected", "confirmed"], "chk_test_2")


def test_without_an_answer_of_florin_the_webhook_is_sent_again(desk: Desk) -> None:
    order = desk.ordered()
    since = desk.count
    desk.will_answer(*[{"status": 503, "json": {}}] * 3)
    body = event("chk_test_1")
    assert desk.shop.hook(order, body, testing.sign(body, SECRET)) == 503
    # Once: the payment's row is locked meanwhile.
    assert len(desk.asked(since)) == 1
    assert desk.shop.facts(order)["status"] == "waiting"
    assert desk.told(order, status="completed") == 204


def test_the_address_that_a_buyer_comes_back_by_proves_nothing(desk: Desk) -> None:
    order = desk.ordered()
    desk.will_answer({"json": checkout(order)})
    query = "checkout_id=chk_test_9&status=completed"
    back = httpx.get(f"{desk.shop.hook_url(order)}?{query}")
    assert (back.status_code, back.headers["Location"]) == (302, f"/orders/{order}/")
    assert desk.asked(desk.count - 1) == [("GET", "/checkouts/chk_test_1", None)]
    assert desk.shop.facts(order)["status"] == "waiting"


def test_a_buyer_who_comes_back_has_the_payment_confirmed_and_then_nothing_is_asked(desk: Desk) -> None:
    order = desk.ordered()
    since = desk.count
    # The first is read before the row is locked, the second while it is.
    desk.will_answer(*[{"json": checkout(order, status="completed")}] * 2)
    for _ in range(3):
        assert httpx.get(desk.shop.hook_url(order)).headers["Location"] == f"/orders/{order}/"
    assert desk.asked(since) == [("GET", "/checkouts/chk_test_1", None)] * 2
    assert desk.shop.facts(order)["changes"] == ["confirmed"]


def test_a_buyer_who_comes_back_waits_for_one_answer_of_florin(desk: Desk) -> None:
    order = desk.ordered()
    since = desk.count
    desk.will_answer(*[{"status": 503, "json": {}}] * 3)
    assert httpx.get(desk.shop.hook_url(order)).status_code == 302
    assert len(desk.asked(since)) == 1


def test_one_endpoint_for_all_orders_finds_the_order_by_its_reference(desk: Desk) -> None:
    order = desk.ordered()

    def sent(body: bytes) -> int:
        url = f"{desk.shop.url}/payments/process/florin/"
        return httpx.post(url, content=body, headers=testing.sign(body, SECRET)).status_code

    assert sent(event("chk_test_1", order="of no one")) == 404
    # Sending it again would not help.
    assert sent(event("")) == 200
    desk.will_answer({"json": checkout(order, status="completed")})
    assert sent(event("chk_test_1", order=order)) == 204
    assert desk.shop.facts(order)["status"] == "confirmed"


MADE: Final = {"id": "pay_1", "status": "open", "claim_url": "https://pay.example/r/1"}


def test_a_refund_of_another_amount_is_another_refund(desk: Desk) -> None:
    order = desk.ordered()
    desk.told(order, status="completed")
    since = desk.count
    desk.will_answer(*[{"trouble": "close"}] * 3)
    assert desk.shop.refund(order, "5").returncode == 1
    desk.will_answer({"status": 201, "json": MADE})
    assert desk.shop.refund(order).returncode == 0
    references = [body["reference"] for _, _, body in desk.asked(since)]
    assert references == [f"{order}-25.00-5"] * 3 + [f"{order}-25.00-all"]


def test_what_was_refunded_is_not_captured_again_when_the_network_gives_a_payment_back(desk: Desk) -> None:
    order = desk.ordered()
    desk.told(order, status="completed")
    desk.will_answer({"status": 201, "json": MADE})
    refunded = desk.shop.refund(order, "5.00")
    assert refunded.returncode == 0, refunded.stderr
    captured = [desk.shop.facts(order)["captured"]]
    for exception in ("reversed", None):
        desk.told(order, status="completed", exception=exception)
        captured.append(desk.shop.facts(order)["captured"])
    assert captured == ["20.00", "0.00", "20.00"]
    assert desk.shop.facts(order)["status"] == "confirmed"


def test_a_refund_is_asked_for_by_the_same_name_after_its_answer_was_lost(desk: Desk) -> None:
    order = desk.ordered()
    desk.told(order, status="completed")
    since = desk.count
    desk.will_answer(*[{"trouble": "close"}] * 3)
    assert desk.shop.refund(order).returncode == 1
    assert desk.shop.facts(order)["status"] == "confirmed"
    desk.will_answer({"json": MADE | {"status": "cancelled", "claim_url": None}})
    ended = desk.shop.refund(order)
    assert (ended.returncode, "has ended" in ended.stderr) == (1, True)
    desk.will_answer({"status": 201, "json": MADE})
    assert desk.shop.refund(order).stdout == "https://pay.example/r/1\n"
    wanted = {"source": {"checkout": "chk_test_1"}, "reference": f"{order}-25.00-all"}
    assert desk.asked(since) == [("POST", "/refunds", wanted)] * 5
    facts = desk.shop.facts(order)
    assert (facts["status"], facts["captured"]) == ("refunded", "0.00")
