"""Whatever goes wrong between the gate and the facilitator, nobody gets a resource for it, and nobody pays twice."""

import json
from typing import Any

import pytest

from florin_x402 import Price
from florin_x402.claims import MemoryClaims
from florin_x402.transport import Transport
from proofs import by_hash, second_version
from shops import STYLES, OpenShop, Shop
from standin import KINDS, PAYER, StandIn, Told

LOST = (Told(raw=None),) * 3
MALFORMED = {
    "nothing": b"",
    "no JSON": b"<html>",
    "a list": b"[]",
    "an empty object": b"{}",
    "a text for a Boolean": b'{"valid": "true", "isValid": "true"}',
    "a number for a Boolean": b'{"valid": 1, "isValid": 1}',
    "another transaction": b'{"valid": true, "txHash": "0x1", "isValid": null}',
    "nested": b'{"valid":' + b"[" * 5_000,
    "too long": b" " * 1_100_000,
}
REFUSING = [301, 302, 401, 403, 404, 409, 429, 500, 502, 503]


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("make", [by_hash, second_version])
def test_a_malformed_verdict_serves_nothing(open_shop: OpenShop, facilitator: StandIn, name: str, make: Any) -> None:
    shop = open_shop()
    facilitator.tell("/verify", *[Told(raw=MALFORMED[name])] * 2)
    assert shop.get(**make()).status == 503
    assert shop.served == []


@pytest.mark.parametrize("status", REFUSING)
@pytest.mark.parametrize("make", [by_hash, second_version])
def test_a_status_other_than_200_serves_nothing_and_redirects_are_not_followed(
    open_shop: OpenShop, facilitator: StandIn, status: int, make: Any
) -> None:
    shop = open_shop()
    good = json.dumps({"valid": True, "isValid": True}).encode()
    elsewhere = (("Location", "/api/v1/x402/config"), ("Retry-After", "7"))
    facilitator.tell("/verify", Told(status, good, elsewhere))
    reply = shop.get(**make())
    assert (reply.status, reply.headers["retry-after"]) == (503, "7")
    assert len(facilitator.at("/config")) == 1
    assert shop.served == []


@pytest.mark.parametrize("path", ["/config", "/supported"])
def test_without_knowing_where_to_pay_nothing_is_served(gated_shop: Shop, facilitator: StandIn, path: str) -> None:
    facilitator.overrides[path] = lambda before: Told(500)
    assert gated_shop.get(**by_hash()).status == 503
    assert gated_shop.get().status == 503
    assert gated_shop.served == []
    # Each refusal is not another question to somebody who is in trouble.
    assert len(facilitator.at(path)) == 1


def test_an_old_answer_does_while_the_facilitator_is_away(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop(refresh=0.0)
    assert shop.get().status == 402
    facilitator.overrides["/config"] = lambda before: Told(500)
    assert shop.get().status == 402
    assert len(facilitator.at("/config")) == 2


def test_a_facilitator_that_is_gone_serves_nothing(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop(prices={"/report": "0.01", "/other": "0.02"})
    facilitator.url = "http://127.0.0.1:9/api/v1/x402"
    gone = open_shop(prices={"/report": "0.01"})
    assert gone.get(**by_hash()).status == 503
    assert gone.served == []
    assert shop.get(**by_hash()).status == 200


def test_an_endless_answer_ends(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop(seconds=1.0)
    assert shop.get().status == 402
    # More is promised than comes.
    late = Told(raw=b"{}", headers=(("Content-Length", "900000"),))
    facilitator.tell("/verify", *[late] * 2)
    assert shop.get(**by_hash()).status == 503
    assert shop.served == []


def test_an_answer_that_is_lost_is_asked_for_again_under_the_same_key(gated_shop: Shop, facilitator: StandIn) -> None:
    assert gated_shop.get().status == 402
    # The facilitator used the payment up; a kept connection was closed as well.
    facilitator.tell("/verify", *LOST[:2])
    assert gated_shop.get(**by_hash()).status == 200
    asked = facilitator.at("/verify")
    assert len({one.key for one in asked}) == 1
    assert len(gated_shop.served) == 1


@pytest.mark.parametrize("style", STYLES)
def test_a_payer_whose_answer_was_lost_repeats_the_proof_and_is_served_once(
    open_shop: OpenShop, facilitator: StandIn, style: str
) -> None:
    shop, proof = open_shop(style), by_hash()
    facilitator.tell("/verify", *LOST)
    assert shop.get(**proof).status == 503
    assert shop.get(**proof).status == 200
    assert shop.get(**proof).told["reason"] == "already_used"
    assert len(shop.served) == 1


def test_a_lost_answer_is_asked_for_under_its_key_until_it_is_told(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop, proof = open_shop(), by_hash()
    facilitator.tell("/verify", *LOST)
    assert shop.get(**proof).status == 503
    # The facilitator's other process does not see the payment deep enough yet, which the first one uses up meanwhile.
    not_yet = b'{"valid": false, "txHash": "0x", "reason": "not_confirmed", "message": "2 of 3.", "retryAfter": 1}'
    facilitator.tell("/verify", Told(raw=not_yet))
    assert shop.get(**proof).told["reason"] == "not_confirmed"
    assert shop.get(**proof).status == 200
    assert shop.get(**proof).told["reason"] == "already_used"
    assert len(shop.served) == 1


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("make", [by_hash, second_version])
def test_a_payer_whose_handler_failed_may_try_again_but_not_for_ever(
    open_shop: OpenShop, style: str, make: Any
) -> None:
    claims = MemoryClaims()
    price = {"/report": "5"}
    shop = open_shop(style, prices=price, claims=claims)
    proof = make() if make is by_hash else make(units="5000000")
    shop.status = 500
    assert [shop.get(**proof).status for _ in range(3)] == [500] * 3
    shop.status = 200
    assert shop.get(**proof).status == 200
    assert shop.get(**proof).status == 402
    assert len(shop.served) == 4


@pytest.mark.parametrize("style", ["asgi", "wsgi"])
def test_a_handler_that_breaks_down_leaves_the_payment_usable(open_shop: OpenShop, style: str) -> None:
    shop, proof = open_shop(style), by_hash()
    shop.status = 0
    with pytest.raises(ZeroDivisionError):
        shop.get(**proof)
    shop.status = 200
    assert shop.get(**proof).status == 200


@pytest.mark.parametrize("style", ["django", "wsgi"])
def test_a_worker_that_ends_within_its_handler_leaves_the_payment_usable(open_shop: OpenShop, style: str) -> None:
    shop, proof = open_shop(style), by_hash()

    def end() -> None:
        raise SystemExit

    shop.before_answering = end
    with pytest.raises(SystemExit):
        shop.get(**proof)
    shop.before_answering = lambda: None
    assert shop.get(**proof).status == 200
    assert shop.get(**proof).status == 402


@pytest.mark.parametrize("style", ["django", "wsgi"])
@pytest.mark.parametrize(("make", "path"), [(by_hash, "/verify"), (second_version, "/settle")])
def test_a_worker_that_ends_before_it_reads_the_answer_leaves_the_payment_usable(
    open_shop: OpenShop, facilitator: StandIn, monkeypatch: pytest.MonkeyPatch, style: str, make: Any, path: str
) -> None:
    shop, proof, exchange = open_shop(style), make(), Transport.exchange

    def end(transport: Transport, method: str, asked: str, **told: Any) -> Any:
        reply = exchange(transport, method, asked, **told)
        if asked.endswith(path):
            raise SystemExit
        return reply

    with monkeypatch.context() as patch:
        patch.setattr(Transport, "exchange", end)
        with pytest.raises(SystemExit):
            shop.get(**proof)
    assert shop.get(**proof).status == 200
    assert shop.get(**proof).status == 402
    first, second = facilitator.at(path)[:2]
    assert first.key == second.key


class Failing(MemoryClaims):
    """Claims whose storage fails once something was paid."""

    def add(self, name: str, value: str, *, seconds: int) -> bool:
        """Note nothing of what was paid."""
        if name.startswith("paid:"):
            raise ConnectionError
        return super().add(name, value, seconds=seconds)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("settle", ["before", "after"])
def test_who_has_paid_is_served_though_it_cannot_be_noted(
    open_shop: OpenShop, facilitator: StandIn, style: str, settle: Any
) -> None:
    told = {"success": True, "transaction": "0x1", "payer": PAYER, "extra": {"paymentId": "x4p_1"}}
    facilitator.tell("/settle", Told(raw=json.dumps(told).encode()))
    reply = open_shop(style, Price("0.01", settle=settle), claims=Failing()).get(**second_version())
    assert (reply.status, reply.body) == (200, b"the resource")


def test_nothing_is_served_unnoted_where_a_payment_may_get_two_successes(open_shop: OpenShop) -> None:
    """As with facilitators other than Florin, which name no payment."""
    shop = open_shop(claims=Failing())
    with pytest.raises(ConnectionError):
        shop.get(**second_version())


def test_a_handler_that_fails_while_its_proof_is_sent_again_leaves_the_payment_usable(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    shop, proof = open_shop("wsgi"), by_hash()

    def send_again() -> None:
        shop.before_answering = lambda: None
        facilitator.tell("/verify", Told(429))
        assert shop.get(**proof).status == 503

    shop.before_answering, shop.status = send_again, 500
    assert shop.get(**proof).status == 500
    shop.status = 200
    # Under the key that the payment was used up with, not under that of the request in between.
    assert shop.get(**proof).status == 200
    assert shop.get(**proof).status == 402


def test_a_facilitator_without_the_standard_still_sells_by_hash(open_shop: OpenShop, facilitator: StandIn) -> None:
    facilitator.overrides["/supported"] = lambda before: Told(404)
    shop = open_shop()
    reply = shop.get()
    assert reply.told["accepts"] == reply.header("PAYMENT-REQUIRED")["accepts"] == []
    assert shop.get(**by_hash()).status == 200
    assert shop.get(**second_version()).status == 402


def test_ways_to_pay_that_are_not_understood_are_not_offered(open_shop: OpenShop, facilitator: StandIn) -> None:
    kinds = [
        {**KINDS[1], "scheme": "upto"},
        {**KINDS[1], "x402Version": 3},
        {**KINDS[1], "network": "eip155:1"},
        {**KINDS[1], "network": None},
    ]
    told = Told(raw=json.dumps({"kinds": kinds}).encode())
    facilitator.overrides["/supported"] = lambda before: told
    assert open_shop().get().told["accepts"] == []
