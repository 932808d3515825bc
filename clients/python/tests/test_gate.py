"""The gate in all three styles: what is asked for, who comes in, and what the facilitator is asked."""

import base64
import json
from decimal import Decimal

import pytest

from florin_x402 import Price
from florin_x402.answers import PRIVATE, merged
from florin_x402.wire import encode
from proofs import by_hash, first_version, payment, second_version
from shops import STYLES, OpenShop, Shop
from standin import KEY, PAY_TO, PAYER, USDC, StandIn, Told


def test_one_402_asks_in_all_three_forms_at_once(gated_shop: Shop) -> None:
    reply = gated_shop.get()
    assert reply.status == 402
    assert reply.header("X-PAYMENT-REQUIRED") == {
        "payTo": PAY_TO,
        "maxAmountRequired": "0.01",
        "asset": "USDC",
        "network": "base",
    }
    second = reply.header("PAYMENT-REQUIRED")
    assert (second["x402Version"], len(second["accepts"])) == (2, 1)
    assert second["resource"]["url"].endswith("/report")
    assert second["accepts"][0] == {
        "scheme": "exact",
        "network": "eip155:8453",
        "amount": "10000",
        "asset": USDC,
        "payTo": PAY_TO,
        "maxTimeoutSeconds": 60,
        "extra": {"name": "USD Coin", "version": "2"},
    }
    first = reply.told
    assert first["x402Version"] == 1
    assert first["accepts"][0]["network"] == "base"
    assert first["accepts"][0]["maxAmountRequired"] == "10000"
    assert gated_shop.served == []


def test_what_is_paid_for_is_for_nobody_else(gated_shop: Shop) -> None:
    for reply in (gated_shop.get(), gated_shop.get(**by_hash())):
        assert reply.headers["cache-control"] == "no-store, private"
        assert "PAYMENT-REQUIRED" in reply.headers["access-control-expose-headers"]


@pytest.mark.parametrize(
    "name",
    [
        *("Cache-Control", "Expires", "Pragma"),
        *("CDN-Cache-Control", "Cloudflare-CDN-Cache-Control", "Surrogate-Control", "Edge-Control", "X-Accel-Expires"),
    ],
)
def test_no_cache_is_told_by_the_application_to_keep_what_is_paid_for(name: str) -> None:
    told = merged([("Content-Type", "text/plain"), (name, "max-age=600")], [*PRIVATE])
    assert dict(told)["Cache-Control"] == "no-store, private"
    assert [one for one, _ in told] == ["Content-Type", "Cache-Control", "Access-Control-Expose-Headers"]


def test_a_path_without_a_price_is_not_touched(gated_shop: Shop, facilitator: StandIn) -> None:
    reply = gated_shop.get("/other")
    assert (reply.status, reply.body) == (200, b"the resource")
    assert reply.headers["cache-control"].startswith("public")
    assert gated_shop.served == [None]
    assert facilitator.heard == []


def test_a_proof_by_hash_is_used_up_once_and_shown_to_the_handler(gated_shop: Shop, facilitator: StandIn) -> None:
    proof = payment()
    headers = {"X_PAYMENT": encode(proof)}
    reply = gated_shop.send("POST", "/report", {"X-PAYMENT": headers["X_PAYMENT"]}, b"untouched")
    assert (reply.status, reply.body) == (200, b"the resource")
    assert reply.header("X-PAYMENT-RESPONSE")["transaction"] == proof["txHash"]
    assert gated_shop.bodies == [b"untouched"]
    (paid,) = gated_shop.served
    assert paid is not None
    assert (paid.protocol, paid.amount, paid.payer) == ("hash", Decimal("0.01"), PAYER)
    assert facilitator.at("/verify")[0].body == {
        "payment": proof,
        "requirements": {
            "scheme": "exact",
            "network": "base",
            "maxAmountRequired": "0.01",
            "asset": "USDC",
            "resource": "/report",
        },
    }
    again = gated_shop.get(**headers)
    assert (again.status, again.told["reason"]) == (402, "already_used")
    assert len(gated_shop.served) == 1
    keys = {one.key for one in facilitator.at("/verify")}
    assert len(keys) == 2
    assert "" not in keys


@pytest.mark.parametrize("make", [first_version, second_version])
def test_a_signed_authorisation_pays_in_both_versions(
    gated_shop: Shop, facilitator: StandIn, make: type[dict[str, str]]
) -> None:
    headers = make()
    reply = gated_shop.get(**headers)
    assert (reply.status, reply.body) == (200, b"the resource")
    version = 1 if "X_PAYMENT" in headers else 2
    header = {1: "X-PAYMENT-RESPONSE", 2: "PAYMENT-RESPONSE"}[version]
    assert reply.header(header)["success"] is True
    (settled,) = facilitator.at("/settle")
    assert settled.body["x402Version"] == version
    assert settled.body["paymentRequirements"]["payTo"] == PAY_TO
    again = gated_shop.get(**headers)
    assert (again.status, again.told["reason"]) == (402, "nonce_already_used")
    assert len(gated_shop.served) == 1


@pytest.mark.parametrize(
    "spelled",
    [
        "0x" + "5A" * 32,
        "5a" * 32,
        base64.b64encode(bytes.fromhex("5a" * 32)).decode(),
        base64.urlsafe_b64encode(bytes.fromhex("5a" * 32)).decode().rstrip("="),
    ],
)
def test_the_facilitator_spells_a_hash_as_its_chain_does(
    open_shop: OpenShop, facilitator: StandIn, spelled: str
) -> None:
    shop = open_shop()
    answer = {"valid": True, "txHash": "0x" + "5a" * 32, "paymentId": "x4p_1"}
    facilitator.tell("/verify", Told(raw=json.dumps(answer).encode()))
    assert shop.get(**by_hash(txHash=spelled)).status == 200
    facilitator.tell("/verify", Told(raw=json.dumps(answer).encode()))
    assert shop.get(**by_hash(txHash="0x" + "5b" * 32)).status == 503


def test_a_payment_that_is_settled_first_has_the_facilitators_id(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop(price=Price("0.01", settle="before"))
    answer = {"success": True, "transaction": "0x1", "extra": {"paymentId": "x4p_1"}}
    facilitator.tell("/settle", Told(raw=json.dumps(answer).encode()))
    assert shop.get(**second_version()).status == 200
    (paid,) = shop.served
    assert paid is not None
    assert (paid.payment_id, paid.transaction) == ("x4p_1", "0x1")


def test_a_proof_on_another_chain_that_is_offered_is_asked_about_there(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    shop = open_shop()
    assert shop.get(**by_hash(chain="polygon", token="USDT")).status == 200
    wanted = facilitator.at("/verify")[0].body["requirements"]
    assert (wanted["network"], wanted["asset"]) == ("polygon", "USDT")


def test_a_proof_that_is_good_in_a_moment_says_when(gated_shop: Shop, facilitator: StandIn) -> None:
    waits = b'{"valid": false, "txHash": "0x", "reason": "not_confirmed", "message": "1 of 3.", "retryAfter": 4}'
    facilitator.tell("/verify", Told(raw=waits))
    reply = gated_shop.get(**by_hash())
    assert (reply.status, reply.told["reason"]) == (402, "not_confirmed")
    assert (reply.headers["retry-after"], reply.told["retryAfter"]) == ("4", 4)
    assert gated_shop.served == []


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_who_asks_without_wanting_the_resource_neither_pays_nor_gets_it(
    gated_shop: Shop, facilitator: StandIn, method: str
) -> None:
    reply = gated_shop.get(method=method, **by_hash())
    assert (reply.status, reply.body) == ({"HEAD": 402, "OPTIONS": 204}[method], b"")
    assert gated_shop.served == []
    assert facilitator.at("/verify") == []


HOSTILE = {
    "no Base64": "%%%",
    "no JSON": "bm8=",
    "no object": encode({})[:0] + "W10=",
    "empty": "",
    "a constant": "eyJhIjogTmFOfQ==",
    "a name twice": "eyJ0eEhhc2giOiAiMSIsICJ0eEhhc2giOiAiMiJ9",
    "nested": "W1tbW1tb" * 400,
    "too long": "e30K" * 5_000,
    "a number for a text": encode(payment(amount=0.01)),
    "an empty text": encode(payment(payTo="")),
    "both protocols": encode(payment(x402Version=1)),
    "another version": encode({"x402Version": 2, "payload": {}}),
    "a Boolean version": encode({"x402Version": True, "payload": {}}),
    "a version alone": encode({"x402Version": 1}),
    "two proofs in one header": ", ".join([encode(payment())] * 2),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("style", STYLES)
def test_hostile_proofs_are_refused_and_nobody_is_asked(
    open_shop: OpenShop, facilitator: StandIn, name: str, style: str
) -> None:
    shop = open_shop(style)
    reply = shop.get(X_PAYMENT=HOSTILE[name])
    assert reply.status == 402
    assert reply.told["reason"] in {"invalid_payload", "invalid_x402_version"}
    assert shop.served == []
    assert facilitator.at("/verify") == facilitator.at("/settle") == []


@pytest.mark.parametrize(
    "headers",
    [
        {**by_hash(), **second_version()},
        {"PAYMENT_SIGNATURE": by_hash()["X_PAYMENT"]},
        {"PAYMENT_SIGNATURE": first_version()["X_PAYMENT"]},
        {"X_PAYMENT": second_version()["PAYMENT_SIGNATURE"]},
        second_version(units="1"),
        second_version(accepted="everything"),
        first_version(network="base-sepolia"),
        first_version(scheme="upto"),
    ],
)
def test_a_proof_in_the_wrong_header_or_for_something_else_pays_nothing(
    open_shop: OpenShop, facilitator: StandIn, headers: dict[str, str]
) -> None:
    shop = open_shop()
    assert shop.get(**headers).status == 402
    assert shop.served == []
    assert facilitator.at("/verify") == []


def test_the_facilitator_is_asked_once_where_to_pay(gated_shop: Shop, facilitator: StandIn) -> None:
    for _ in range(3):
        assert gated_shop.get().status == 402
    asked = [one.path.rpartition("/")[2] for one in facilitator.heard]
    assert asked == ["config", "supported", "chains"]


def test_the_key_is_never_written_down(
    gated_shop: Shop, facilitator: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    facilitator.tell("/verify", *[Told(raw=None)] * 3)
    assert gated_shop.get(**by_hash()).status == 503
    facilitator.tell("/verify", Told(status=401))
    assert gated_shop.get(**by_hash()).status == 503
    assert "the facilitator answered 401" in caplog.text
    assert KEY not in caplog.text
    assert KEY not in repr(facilitator.config({"/": "1"}))
