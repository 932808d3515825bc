"""What a challenge of MPP is bound to and offered for, and that payers who sent a transaction need not send another one."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from florin_x402 import Asked, Price
from florin_x402.catalogue import Kind, Option
from florin_x402.mpp import challenges
from florin_x402.mpp.challenges import SLACK
from florin_x402.mpp.desk import MOST_BYTES, MppDesk
from florin_x402.wire import decode_url
from proofs import challenges_in, credential, transaction, transfer_for
from shops import OpenShop, Reply
from standin import CONFIG, PAY_TO, PAYER, USDC, StandIn, Told
from test_mpp import MPP, PROBLEMS, no, paid_by_hash, paid_by_transfer

MEMBER = {"AUTHORIZATION": "Bearer of-a-member"}
TRON = Option(
    "tron", "USDT", "TMuA6YqfCeX8EhbfYEg5y7S4DqzSJireY9", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", chain_id=728126428
)
BASE = Option("base", "USDC", PAY_TO, USDC, (Kind(2, "eip155:8453", {}),), chain_id=8453)
BY_HASH = replace(BASE, kinds=())


def of_members(asked: Asked) -> str:
    return "0.001" if asked.authorization == MEMBER["AUTHORIZATION"] else "0.01"


def shown_in(reply: Reply, payload: Callable[[dict[str, str]], dict[str, Any]]) -> dict[str, str]:
    """A credential in the header that leaves room for a login."""
    (challenge,) = challenges_in(reply)
    return credential(challenge, payload(challenge), header="PAYMENT_AUTHORIZATION")


@pytest.mark.parametrize("payload", [transfer_for, lambda _: transaction()])
def test_the_price_of_a_login_is_that_logins(
    open_shop: OpenShop, facilitator: StandIn, payload: Callable[[dict[str, str]], dict[str, Any]]
) -> None:
    shop = open_shop(prices={"/report": of_members}, **MPP)
    reply = shop.get(**MEMBER)
    shown = shown_in(reply, payload)
    for login in ({}, {"AUTHORIZATION": "Bearer of-another"}):
        refused = shop.get(**login, **shown)
        assert (refused.status, refused.told["type"]) == (400, f"{PROBLEMS}invalid-challenge")
        assert "www-authenticate" not in refused.headers
    assert (shop.served, facilitator.at("/verify"), facilitator.at("/settle")) == ([], [], [])
    assert shop.get(**MEMBER, **shown).status == 200


def test_without_the_digest_of_the_login_its_price_would_be_everyones(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(challenges, "_login_of", lambda key, asked, salt: "")
    shop = open_shop(prices={"/report": of_members}, **MPP)
    assert shop.get(**shown_in(shop.get(**MEMBER), transfer_for)).status == 200


def test_a_challenge_shows_no_login_and_no_two_have_one_digest(open_shop: OpenShop) -> None:
    shop = open_shop(**MPP)
    opaque = [decode_url(challenges_in(shop.get(**MEMBER))[0]["opaque"]) for _ in range(2)]
    assert len({one["login"] for one in opaque}) == 2
    assert "of-a-member" not in json.dumps(opaque)
    assert "login" not in decode_url(challenges_in(shop.get())[0]["opaque"])


def test_a_challenge_is_for_one_address_also_where_two_applications_of_a_host_have_one_secret(
    open_shop: OpenShop,
) -> None:
    first, second = (open_shop(**{**MPP, "base_url": f"https://shop.example/{name}"}) for name in "ab")
    shown = paid_by_transfer(first.get())
    reply = second.get(**shown)
    assert (reply.status, reply.told["type"]) == (402, f"{PROBLEMS}invalid-challenge")
    assert first.get(**shown).status == 200


def asked_for(facilitator: StandIn, options: list[Option], price: Price | None = None) -> list[dict[str, str]]:
    """The challenges for options; asking needs neither desk."""
    desk = MppDesk(facilitator.config({"/report": "0.01"}, **MPP), cast("Any", None), cast("Any", None))
    asked = Asked("GET", ("/report",), "https://shop.example/report")
    headers = desk.asks(asked, price or Price("0.01"), options)
    for _, value in headers:
        assert len(value) <= MOST_BYTES
    return challenges_in(Reply(402, {name.lower(): value for name, value in headers}, b"")) if headers else []


def test_a_chain_with_an_id_and_addresses_of_its_own_form_is_none_of_evm(facilitator: StandIn) -> None:
    assert asked_for(facilitator, [TRON]) == []
    assert asked_for(facilitator, [replace(BASE, pay_to=TRON.pay_to)]) == []
    (challenge,) = asked_for(facilitator, [TRON, BASE])
    assert decode_url(challenge["request"])["methodDetails"]["chainId"] == 8453


def test_what_clients_can_sign_for_is_never_cut_off_and_the_header_has_a_bound(facilitator: StandIn) -> None:
    found = asked_for(facilitator, [*[replace(BY_HASH, chain_id=number) for number in range(1, 9)], BASE])
    chains = [decode_url(one["request"])["methodDetails"]["chainId"] for one in found]
    assert chains[:2] == [8453, 1]
    assert 2 <= len(chains) < 9


def test_a_challenge_holds_longer_than_an_authorisation_must_be_good_for(open_shop: OpenShop) -> None:
    shop = open_shop(price=Price("0.01", seconds=1_800), **MPP)
    (challenge,) = challenges_in(shop.get())
    left = datetime.fromisoformat(challenge["expires"]) - datetime.now(UTC)
    assert timedelta(seconds=1_800) < left <= timedelta(seconds=1_800) + SLACK


@pytest.mark.parametrize("source", [f"did:pkh:eip155:1:{PAYER}", "did:key:z6Mk", "did:pkh:eip155:8453:0x12"])
def test_a_source_of_another_form_or_chain_may_be_mended_after_paying(open_shop: OpenShop, source: str) -> None:
    shop = open_shop(**MPP)
    (challenge,) = challenges_in(shop.get())
    shown = transaction()
    reply = shop.get(**credential(challenge, shown, source=source))
    assert (reply.status, reply.told["type"]) == (400, f"{PROBLEMS}malformed-credential")
    assert "www-authenticate" not in reply.headers
    assert shop.get(**credential(challenge, shown)).status == 200


def test_a_payment_that_the_gateway_cannot_read_may_be_mended_after_paying(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    shop = open_shop(**MPP)
    shown = paid_by_hash(shop.get())
    # As it answers to an address with a wrong checksum.
    facilitator.tell("/verify", Told(400, b'{"error": {"message": "payment.payerAddress has a wrong checksum."}}'))
    reply = shop.get(**shown)
    assert (reply.status, reply.told["error"]) == (400, "payment.payerAddress has a wrong checksum.")
    assert "www-authenticate" not in reply.headers
    assert shop.get(**shown).status == 200


def test_a_token_that_is_no_longer_sold_is_waited_for_by_who_paid_in_it(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    sold = open_shop(**MPP)
    first = sold.get()
    told = json.dumps(CONFIG | {"networks": ["polygon"]}).encode()
    facilitator.overrides["/config"] = lambda _: Told(raw=told)
    shop = open_shop(**MPP)
    reply = shop.get(**paid_by_hash(first))
    assert (reply.status, reply.headers["retry-after"], "www-authenticate" in reply.headers) == (503, "60", False)
    # Nothing moved by a signature.
    assert shop.get(**paid_by_transfer(first)).status == 402


def test_who_sent_a_transaction_without_a_signature_learns_where_it_counts(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    shop = open_shop(**MPP)
    facilitator.tell("/verify", no("wrong_payer", None))
    reply = shop.get(**paid_by_hash(shop.get()))
    assert (reply.status, "X-PAYMENT" in reply.told["error"]) == (400, True)
    facilitator.overrides["/config"] = lambda _: Told(raw=json.dumps(CONFIG | {"requiresSignature": True}).encode())
    shop = open_shop(**MPP)
    reply = shop.get(**paid_by_hash(shop.get()))
    assert (reply.status, "X-PAYMENT" in reply.told["error"]) == (400, True)
    assert "X-PAYMENT" not in shop.get(**paid_by_transfer(shop.get(), type="permit2")).told["error"]
