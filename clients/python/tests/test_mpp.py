"""MPP beside x402 on one address: what is asked, who comes in, and that no answer makes a payer pay twice for one thing."""

import base64
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from florin_x402 import Asked, Price
from florin_x402.mpp import challenges, desk
from florin_x402.mpp.challenges import LIFE
from florin_x402.mpp.desk import LATE
from florin_x402.mpp.nonces import nonces_of
from florin_x402.wire import decode_url, encode_url
from proofs import SOURCE, by_hash, challenges_in, credential, first_version, second_version, transaction, transfer_for
from shops import STYLES, OpenShop, Reply, Shop
from standin import CONFIG, PAY_TO, PAYER, USDC, StandIn, Told
from test_settling import CALLERS, PENDING, Forgetful, at_once

SECRET = "the first secret of thirty-two characters"
MPP = {"mpp_secrets": [SECRET], "base_url": "https://shop.example"}
PROBLEMS = "https://paymentauth.org/problems/"
NO_PAYMENT = b'{"success": false, "errorReason": "insufficient_funds", "transaction": ""}'


@pytest.fixture(params=STYLES)
def shop(request: pytest.FixtureRequest, open_shop: OpenShop) -> Shop:
    """A shop in each style that takes MPP, too."""
    return open_shop(request.param, **MPP)


def paid_by_transfer(reply: Reply, **changes: Any) -> dict[str, str]:
    """A credential for the first challenge of a 402."""
    (challenge, *_) = challenges_in(reply)
    return credential(challenge, transfer_for(challenge, **changes))


def paid_by_hash(reply: Reply, **changes: Any) -> dict[str, str]:
    """The same of a payer that sent its own transaction."""
    return credential(challenges_in(reply)[0], transaction(**changes))


def test_one_402_asks_by_both_protocols_and_is_a_problem_document(shop: Shop) -> None:
    reply = shop.get()
    (challenge,) = challenges_in(reply)
    assert (challenge["realm"], challenge["method"], challenge["intent"]) == ("shop.example", "evm", "charge")
    assert decode_url(challenge["request"]) == {
        "amount": "10000",
        "currency": USDC,
        "recipient": PAY_TO,
        "methodDetails": {"chainId": 8453, "credentialTypes": ["authorization", "hash"], "decimals": 6},
    }
    left = datetime.fromisoformat(challenge["expires"]) - datetime.now(UTC)
    assert timedelta() < left <= LIFE
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["cache-control"] == "no-store, private"
    problem = {"type": f"{PROBLEMS}payment-required", "title": "Payment Required", "status": 402}
    assert problem.items() <= reply.told.items()
    # The payers of x402 read the same answer.
    assert reply.told["accepts"][0]["maxAmountRequired"] == "10000"
    assert reply.header("PAYMENT-REQUIRED")["accepts"][0]["amount"] == "10000"
    assert reply.header("X-PAYMENT-REQUIRED")["maxAmountRequired"] == "0.01"
    assert challenges_in(shop.get())[0]["id"] != challenge["id"]


def test_the_request_is_written_as_canonical_json(open_shop: OpenShop) -> None:
    request = challenges_in(open_shop(**MPP).get())[0]["request"]
    text = (
        f'{{"amount":"10000","currency":"{USDC}","methodDetails":{{"chainId":8453,'
        f'"credentialTypes":["authorization","hash"],"decimals":6}},"recipient":"{PAY_TO}"}}'
    )
    assert json.dumps(decode_url(request), separators=(",", ":")) == text
    assert "=" not in request


def test_without_a_secret_nothing_is_asked_or_read_by_mpp(gated_shop: Shop, open_shop: OpenShop) -> None:
    reply = gated_shop.get()
    assert "www-authenticate" not in reply.headers
    assert reply.headers["content-type"] == "application/json"
    shown = paid_by_transfer(open_shop(**MPP).get())
    assert (gated_shop.get(**shown).status, gated_shop.served) == (402, [])


@pytest.mark.parametrize("header", ["AUTHORIZATION", "PAYMENT_AUTHORIZATION"])
@pytest.mark.parametrize("form", [0, 1])
def test_a_signed_transfer_is_settled_as_one_of_the_standard(
    shop: Shop, facilitator: StandIn, header: str, form: int
) -> None:
    (challenge,) = challenges_in(shop.get())
    nonce = sorted(nonces_of(challenge["id"], challenge["realm"]))[form]
    signed = transfer_for(challenge, nonce=nonce)
    reply = shop.get(**credential(challenge, signed, header=header))
    assert (reply.status, reply.body) == (200, b"the resource")
    assert reply.headers["cache-control"] == "no-store, private"
    told = reply.receipt()
    assert datetime.fromisoformat(told.pop("timestamp")) <= datetime.now(UTC)
    assert told == {
        "status": "success",
        "method": "evm",
        "reference": nonce,
        "challengeId": challenge["id"],
        "chainId": 8453,
    }
    (settled,) = facilitator.at("/settle")
    wanted = settled.body["paymentRequirements"]
    assert (wanted["payTo"], wanted["amount"], wanted["asset"]) == (PAY_TO, "10000", USDC)
    told = settled.body["paymentPayload"]
    assert told["resource"] == {"url": "https://shop.example/report"}
    fields = {name: signed[name] for name in signed if name not in {"type", "signature"}}
    assert told["payload"] == {"authorization": fields, "signature": signed["signature"]}
    (paid,) = shop.served
    assert paid is not None
    assert (paid.protocol, paid.network, paid.payer, paid.amount) == ("exact", "base", PAYER, Decimal("0.01"))


def test_a_transaction_of_the_payers_own_is_used_up_for_its_challenge(shop: Shop, facilitator: StandIn) -> None:
    (challenge,) = challenges_in(shop.get())
    shown = transaction()
    reply = shop.get(**credential(challenge, shown))
    assert (reply.status, reply.body) == (200, b"the resource")
    assert reply.receipt()["reference"] == shown["hash"]
    (verified,) = facilitator.at("/verify")
    assert verified.body == {
        "payment": {
            "txHash": shown["hash"],
            "chain": "base",
            "token": "USDC",
            "amount": "0.01",
            "payerAddress": PAYER,
            "payTo": PAY_TO,
        },
        "requirements": {
            "scheme": "exact",
            "network": "base",
            "maxAmountRequired": "0.01",
            "asset": "USDC",
            "resource": f"/report#{challenge['id']}",
        },
    }
    (paid,) = shop.served
    assert paid is not None
    assert (paid.protocol, paid.transaction, paid.settled) == ("hash", shown["hash"], True)


def test_all_protocols_are_paid_at_one_address(shop: Shop) -> None:
    proofs = [by_hash(), first_version(), second_version(), paid_by_transfer(shop.get()), paid_by_hash(shop.get())]
    assert [shop.get(**proof).status for proof in proofs] == [200] * len(proofs)
    assert [paid and paid.protocol for paid in shop.served] == ["hash", "exact", "exact", "exact", "hash"]


CHEAPER = "a request for one unit"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("request", CHEAPER),
        ("realm", "other.example"),
        ("expires", "2099-01-01T00:00:00Z"),
        ("opaque", encode_url({"resource": "x", "salt": ""})),
        ("digest", "sha-256=:x:"),
        ("method", "evm|charge"),
        ("id", "\ud800"),
        ("realm", "\ud800"),
        ("id", ""),
    ],
)
def test_a_challenge_that_was_changed_is_not_ours(
    open_shop: OpenShop, facilitator: StandIn, name: str, value: str
) -> None:
    shop = open_shop(**MPP)
    (challenge,) = challenges_in(shop.get())
    cheaper = encode_url(decode_url(challenge["request"]) | {"amount": "1"})
    changed = challenge | {name: cheaper if value is CHEAPER else value}
    told = json.dumps({"challenge": changed, "payload": transfer_for(challenge), "source": SOURCE})
    reply = shop.get(AUTHORIZATION=f"Payment {base64.urlsafe_b64encode(told.encode()).decode()}")
    assert (reply.status, reply.told["type"]) == (402, f"{PROBLEMS}invalid-challenge")
    assert challenges_in(reply)[0]["id"] != challenge["id"]
    assert (shop.served, facilitator.at("/verify"), facilitator.at("/settle")) == ([], [], [])


@pytest.mark.parametrize("make", [paid_by_transfer, paid_by_hash])
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/report/2"), ("GET", "/report/1?page=2"), ("POST", "/report/1"), ("GET", "/dear")]
)
def test_a_challenge_shown_for_another_resource_is_refused_and_costs_nothing(
    open_shop: OpenShop, facilitator: StandIn, make: Callable[[Reply], dict[str, str]], method: str, path: str
) -> None:
    shop = open_shop(prices={"/report/*": "0.01", "/dear": "0.01"}, **MPP)
    shown = make(shop.get("/report/1"))
    reply = shop.get(path, method, **shown)
    assert (reply.status, reply.told["type"]) == (402, f"{PROBLEMS}invalid-challenge")
    assert (shop.served, facilitator.at("/verify"), facilitator.at("/settle")) == ([], [], [])
    assert shop.get("/report/1", **shown).status == 200


def test_without_the_digest_of_the_resource_a_challenge_would_pay_for_another(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(challenges, "_resource_of", lambda asked: "any")
    shop = open_shop(prices={"/report/*": "0.01"}, **MPP)
    assert shop.get("/report/2", **paid_by_transfer(shop.get("/report/1"))).status == 200


def test_without_the_hmac_a_payer_would_name_its_own_price(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("florin_x402.mpp.challenges.hmac.compare_digest", lambda told, ours: True)
    shop = open_shop(**MPP)
    (challenge,) = challenges_in(shop.get())
    cheaper = challenge | {"request": encode_url(decode_url(challenge["request"]) | {"amount": "1"})}
    assert shop.get(**credential(cheaper, transfer_for(cheaper))).status == 200


def test_a_challenge_of_another_shop_is_refused(open_shop: OpenShop, facilitator: StandIn) -> None:
    shown = paid_by_transfer(open_shop(**{**MPP, "base_url": "https://other.example"}).get())
    reply = open_shop(**MPP).get(**shown)
    assert (reply.status, reply.told["type"]) == (402, f"{PROBLEMS}invalid-challenge")
    assert facilitator.at("/verify") == []


def test_the_price_of_a_head_request_is_that_of_its_get(open_shop: OpenShop) -> None:
    shop = open_shop(**MPP)
    reply = shop.get(method="HEAD")
    assert reply.status == 402
    shown = paid_by_transfer(reply)
    assert [shop.get(method="HEAD", **shown).status, shop.get(**shown).status] == [402, 200]


def test_a_secret_that_was_replaced_still_counts(open_shop: OpenShop) -> None:
    newer = {**MPP, "mpp_secrets": ["the second secret of thirty-two characters", SECRET]}
    shown = paid_by_transfer(open_shop(**MPP).get())
    assert open_shop(**newer).get(**shown).status == 200
    alone = {**MPP, "mpp_secrets": newer["mpp_secrets"][:1]}
    refused = open_shop(**alone).get(**paid_by_transfer(open_shop(**MPP).get()))
    assert refused.told["type"] == f"{PROBLEMS}invalid-challenge"


@pytest.mark.parametrize(
    "change",
    [
        {"to": PAYER},
        {"value": "9999"},
        {"nonce": "0x" + "00" * 32},
        {"validBefore": "99999999999"},
        {"from": "0x" + "c3" * 20},
    ],
)
def test_a_transfer_that_is_not_the_challenges_is_refused_before_anything_is_asked(
    open_shop: OpenShop, facilitator: StandIn, change: dict[str, str]
) -> None:
    shop = open_shop(**MPP)
    reply = shop.get(**paid_by_transfer(shop.get(), **change))
    assert (reply.status, reply.told["type"]) == (402, f"{PROBLEMS}verification-failed")
    assert challenges_in(reply)
    assert (facilitator.at("/verify"), facilitator.at("/settle")) == ([], [])


@pytest.mark.parametrize("name", ["from", "to", "value", "validAfter", "validBefore", "nonce", "signature"])
@pytest.mark.parametrize("value", [None, 1, "", "x", [], "0x" + "g" * 64, "١", "1" * 79, "0x" + "1b" * 4097])
def test_a_transfer_of_another_form_is_refused(open_shop: OpenShop, name: str, value: object) -> None:
    shop = open_shop(**MPP)
    reply = shop.get(**paid_by_transfer(shop.get(), **{name: value}))
    assert reply.status == 402
    assert reply.told["type"] in {f"{PROBLEMS}malformed-credential", f"{PROBLEMS}verification-failed"}
    assert shop.served == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "e",
        "ä",
        "!!!!",
        "bnVsbA",
        "W10",
        "e30",
        "eyJjaGFsbGVuZ2UiOjF9",
        "a" * 20_000,
        "W1tb" * 400,
        "e30, Payment e30",
    ],
)
def test_a_credential_that_cannot_be_read_is_refused_with_a_fresh_challenge(shop: Shop, text: str) -> None:
    reply = shop.get(AUTHORIZATION=f"Payment {text}")
    assert (reply.status, reply.told["type"]) == (402, f"{PROBLEMS}malformed-credential")
    assert challenges_in(reply)


@pytest.mark.parametrize(
    "more", [{"PAYMENT_AUTHORIZATION": "Payment e30"}, {"X_PAYMENT": "e30="}, {"PAYMENT_SIGNATURE": "e30="}]
)
def test_two_payments_of_one_request_are_refused(
    open_shop: OpenShop, facilitator: StandIn, more: dict[str, str]
) -> None:
    shop = open_shop(**MPP)
    reply = shop.get(**paid_by_transfer(shop.get()), **more)
    assert (reply.status, reply.told["reason"]) == (402, "malformed_credential")
    assert facilitator.at("/verify") == []


def test_a_payer_with_a_login_of_its_own_is_asked_for_another_header(open_shop: OpenShop) -> None:
    shop = open_shop(**MPP)
    assert "header" not in challenges_in(shop.get())[0]
    login = {"AUTHORIZATION": "Bearer of-the-shop"}
    (challenge,) = challenges_in(shop.get(**login))
    assert challenge["header"] == "Payment-Authorization"
    shown = credential(challenge, transfer_for(challenge), header="PAYMENT_AUTHORIZATION")
    assert shop.get(**login, **shown).status == 200


@pytest.mark.parametrize("kind", ["permit2", "transaction", "", None, 1, []])
def test_a_kind_that_was_not_offered_is_not_supported_and_asks_for_no_other_payment(
    open_shop: OpenShop, kind: object
) -> None:
    shop = open_shop(**MPP)
    reply = shop.get(**paid_by_transfer(shop.get(), type=kind))
    assert (reply.status, reply.told["type"]) == (400, f"{PROBLEMS}method-unsupported")
    assert "www-authenticate" not in reply.headers


def test_where_the_gateway_wants_signatures_no_hash_is_offered(open_shop: OpenShop, facilitator: StandIn) -> None:
    facilitator.overrides["/config"] = lambda _: Told(raw=json.dumps(CONFIG | {"requiresSignature": True}).encode())
    shop = open_shop(**MPP)
    reply = shop.get()
    assert decode_url(challenges_in(reply)[0]["request"])["methodDetails"]["credentialTypes"] == ["authorization"]
    assert shop.get(**paid_by_hash(reply)).status == 400
    assert facilitator.at("/verify") == []


def test_a_chain_without_the_standard_is_offered_by_hash_alone(open_shop: OpenShop, facilitator: StandIn) -> None:
    facilitator.overrides["/supported"] = lambda _: Told(raw=b'{"kinds": []}')
    shop = open_shop(**MPP)
    reply = shop.get()
    assert decode_url(challenges_in(reply)[0]["request"])["methodDetails"]["credentialTypes"] == ["hash"]
    assert shop.get(**paid_by_hash(reply)).status == 200


def test_a_price_that_no_evm_chain_takes_is_asked_for_by_x402_alone(open_shop: OpenShop) -> None:
    reply = open_shop(price=Price("0.01", networks=("polygon",)), **MPP).get()
    assert (reply.status, reply.headers["content-type"]) == (402, "application/json")
    assert "www-authenticate" not in reply.headers


def test_a_hash_without_its_payer_is_used_once_it_names_one(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop(**MPP)
    (challenge,) = challenges_in(shop.get())
    shown = transaction()
    reply = shop.get(**credential(challenge, shown, source=""))
    # A 402 with a fresh challenge would make a client pay a second time.
    assert (reply.status, "www-authenticate" in reply.headers) == (400, False)
    assert facilitator.at("/verify") == []
    for source in (f"did:pkh:eip155:1:{PAYER}", "did:key:z6Mk", f"{SOURCE}\n"):
        assert shop.get(**credential(challenge, shown, source=source)).status == 400
    assert shop.get(**credential(challenge, shown)).status == 200


def no(reason: str, wait: int | None) -> Told:
    """A refusal by the facilitator of a proof by hash."""
    return Told(raw=json.dumps({"valid": False, "reason": reason, "message": "No.", "retryAfter": wait}).encode())


def test_a_transaction_that_is_not_deep_enough_is_waited_for_and_not_paid_again(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    shop = open_shop(**MPP)
    shown = paid_by_hash(shop.get())
    facilitator.tell("/verify", no("not_confirmed", 7))
    reply = shop.get(**shown)
    assert (reply.status, reply.headers["retry-after"]) == (503, "7")
    assert reply.headers["content-type"] == "application/problem+json"
    assert "www-authenticate" not in reply.headers
    assert shop.get(**shown).status == 200
    again = shop.get(**shown)
    # Its payer has paid: no fresh challenge invites it to pay again.
    assert (again.status, again.told["reason"]) == (403, "already_used")
    assert "www-authenticate" not in again.headers
    assert len(shop.served) == 1


@pytest.mark.parametrize(
    ("path", "reason"), [("/verify", "unexpected_verify_error"), ("/settle", "unexpected_settle_error")]
)
def test_a_facilitator_that_could_not_look_is_asked_again_about_the_same_transfer(
    open_shop: OpenShop, facilitator: StandIn, path: str, reason: str
) -> None:
    shop = open_shop(**MPP)
    shown = paid_by_transfer(shop.get())
    told = {"isValid": False, "invalidReason": reason, "success": False, "errorReason": reason, "transaction": ""}
    facilitator.tell(path, Told(raw=json.dumps(told).encode()))
    reply = shop.get(**shown)
    assert (reply.status, reply.headers["retry-after"]) == (503, "5")
    assert "www-authenticate" not in reply.headers
    assert shop.get(**shown).status == 200


def test_a_hash_of_a_failed_transaction_may_be_paid_anew(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop(**MPP)
    facilitator.tell("/verify", no("failed_transaction", None))
    reply = shop.get(**paid_by_hash(shop.get()))
    assert (reply.status, reply.told["type"]) == (402, f"{PROBLEMS}verification-failed")
    assert shop.get(**paid_by_hash(reply)).status == 200


@pytest.mark.parametrize("settle", ["before", "after"])
def test_a_settlement_with_an_unknown_outcome_is_continued_and_never_asked_for_again(
    open_shop: OpenShop, facilitator: StandIn, settle: Any
) -> None:
    shop = open_shop("wsgi", Price("0.01", settle=settle), **MPP)
    shown = paid_by_transfer(shop.get())
    facilitator.tell("/settle", PENDING, PENDING)
    waiting = shop.get(**shown)
    assert (waiting.status, "www-authenticate" in waiting.headers) == (503, False)
    assert waiting.told["status"] == 503
    key = facilitator.at("/settle")[0].key
    assert shop.get(**shown).status == 200
    assert {one.key for one in facilitator.at("/settle")} == {key}
    again = shop.get(**shown)
    assert (again.status, "www-authenticate" in again.headers) == (403, False)


def test_a_lost_answer_of_the_facilitator_costs_the_payer_of_a_hash_nothing(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    shop = open_shop(**MPP)
    shown = paid_by_hash(shop.get())
    facilitator.tell("/verify", *[Told(raw=None)] * 4)
    assert shop.get(**shown).status == 503
    facilitator.overrides.clear()
    assert shop.get(**shown).status == 200
    assert len({one.key for one in facilitator.at("/verify")}) == 1


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("make", [paid_by_transfer, paid_by_hash])
def test_a_payer_that_the_handler_failed_is_served_without_paying_again(
    open_shop: OpenShop, facilitator: StandIn, style: str, make: Callable[[Reply], dict[str, str]]
) -> None:
    shop = open_shop(style, Price("0.01", settle="before"), **MPP)
    shown = make(shop.get())
    shop.status = 500
    failed = shop.get(**shown)
    assert (failed.status, "payment-receipt" in failed.headers) == (500, False)
    shop.status = 200
    assert shop.get(**shown).status == 200
    calls = [*facilitator.at("/settle"), *(one for one in facilitator.at("/verify") if one.key)]
    assert (len(calls), len({one.key for one in calls})) == (2, 1)


@pytest.mark.parametrize("style", STYLES)
def test_what_is_not_settled_in_the_end_is_withheld_and_may_be_paid_anew(
    open_shop: OpenShop, facilitator: StandIn, style: str
) -> None:
    shop = open_shop(style, **MPP)
    facilitator.tell("/settle", Told(raw=NO_PAYMENT))
    reply = shop.get(**paid_by_transfer(shop.get()))
    assert (reply.status, b"the resource" in reply.body) == (402, False)
    assert reply.told["type"] == f"{PROBLEMS}verification-failed"
    assert shop.get(**paid_by_transfer(reply)).status == 200


def test_the_price_of_a_challenge_holds_until_it_ends(open_shop: OpenShop, facilitator: StandIn) -> None:
    prices = iter(["0.01", "0.02", "0.02", "0.02"])
    shop = open_shop(prices={"/report": lambda _: next(prices)}, **MPP)
    shown = paid_by_hash(shop.get())
    assert shop.get(**shown).status == 200
    assert facilitator.at("/verify")[0].body["requirements"]["maxAmountRequired"] == "0.01"
    (paid,) = shop.served
    assert paid is not None
    assert paid.amount == Decimal("0.01")
    assert decode_url(challenges_in(shop.get())[0]["request"])["amount"] == "20000"


def later(by: timedelta) -> Any:
    """A clock that is ahead."""

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + by

    return Later


def test_a_challenge_counts_for_an_hour_after_its_end_and_no_longer(
    open_shop: OpenShop, facilitator: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_shop(**MPP)
    first, second = paid_by_hash(shop.get()), paid_by_hash(shop.get())
    # Its transaction needed blocks.
    monkeypatch.setattr(desk, "datetime", later(LIFE + LATE - timedelta(minutes=1)))
    assert shop.get(**first).status == 200
    monkeypatch.setattr(desk, "datetime", later(LIFE + LATE + timedelta(minutes=1)))
    reply = shop.get(**second)
    assert (reply.status, reply.told["type"]) == (402, f"{PROBLEMS}payment-expired")
    assert len(facilitator.at("/verify")) == 1


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("settle", ["before", "after"])
@pytest.mark.parametrize("make", [paid_by_transfer, paid_by_hash])
def test_one_credential_shown_many_times_at_once_buys_one_resource(
    open_shop: OpenShop, style: str, settle: Any, make: Callable[[Reply], dict[str, str]]
) -> None:
    shop = open_shop(style, Price("0.01", settle=settle), **MPP)
    shown = make(shop.get())
    replies: list[Reply] = []
    at_once(lambda: _noted(replies, shop.get(**shown)))
    at_once(lambda: _noted(replies, shop.get(**shown)))
    assert sorted(reply.status for reply in replies) == [200] + [403] * (2 * CALLERS - 1)
    assert not any("www-authenticate" in reply.headers for reply in replies)


def _noted(replies: list[Reply], reply: Reply) -> int:
    replies.append(reply)
    return reply.status


def _status(shop: Shop, shown: dict[str, str]) -> int:
    return shop.get(**shown).status


def test_without_claims_one_credential_would_buy_as_often_as_it_is_shown(open_shop: OpenShop) -> None:
    gathered = Barrier(CALLERS)
    found = []
    for claims in ({"claims": Forgetful()}, {}):
        shop = open_shop("wsgi", **claims, **MPP)
        shop.before_answering = lambda: gathered.wait(60)
        shown = paid_by_transfer(shop.get())
        found.append(sorted(at_once(partial(_status, shop, shown))))
    assert found == [[200] * CALLERS, [200] + [403] * (CALLERS - 1)]


@pytest.mark.parametrize("make", [paid_by_transfer, paid_by_hash])
@pytest.mark.parametrize("told", [Told(status=500), Told(raw=b"[]"), Told(raw=None), no("wrong_payer", None)])
def test_no_log_and_no_answer_has_a_credential(
    open_shop: OpenShop,
    facilitator: StandIn,
    caplog: pytest.LogCaptureFixture,
    make: Callable[[Reply], dict[str, str]],
    told: Told,
) -> None:
    caplog.set_level(logging.DEBUG)
    shop = open_shop("django", **MPP)
    shown = make(shop.get())
    facilitator.tell("/verify", *[told] * 4)
    reply = shop.get(**shown)
    text = shown["AUTHORIZATION"].removeprefix("Payment ")
    payload = decode_url(text)["payload"]
    assert reply.status != 200
    for secret in (text, SECRET, payload.get("signature"), payload.get("hash")):
        assert secret is None or (secret not in caplog.text and secret.encode() not in reply.body)
    asked = Asked("GET", ("/report",), "", authorization=shown["AUTHORIZATION"])
    assert text not in repr(asked)
