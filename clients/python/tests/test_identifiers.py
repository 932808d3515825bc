"""Payment identifiers: a repeated request gets the answer that was kept, and neither the facilitator nor the handler hears of it."""

import asyncio
import itertools
import secrets
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from florin_x402 import Price, SettingsError
from florin_x402.asgi import X402Asgi
from florin_x402.django import CacheAnswers, CacheClaims, config_from_settings
from florin_x402.identifiers import LONGEST_ANSWER, Identifiers, Named
from florin_x402.kept import MemoryAnswers
from florin_x402.wsgi import X402Wsgi
from proofs import by_hash, first_version, identified, second_version
from shops import STYLES, OpenShop, Shop
from standin import StandIn, Told
from test_settling import at_once


def new_id() -> str:
    return f"pay_{secrets.token_hex(16)}"


def test_the_402_says_that_an_id_may_be_sent(gated_shop: Shop) -> None:
    reply = gated_shop.get()
    (name, told), *others = reply.header("PAYMENT-REQUIRED")["extensions"].items()
    assert (name, others) == ("payment-identifier", [])
    assert told["info"] == {"required": False}
    assert told["schema"]["properties"]["id"]["maxLength"] == 128
    # The first version has no extensions.
    assert "extensions" not in reply.told


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("settle", ["before", "after"])
def test_a_repeated_request_gets_the_same_answer_and_nothing_else_happens(
    open_shop: OpenShop, facilitator: StandIn, style: str, settle: Any
) -> None:
    shop, proof = open_shop(style, Price("0.01", settle=settle)), identified(new_id())
    first = shop.get(**proof)
    heard = len(facilitator.heard)
    shop.content = b"another day"
    again = shop.get(**proof)
    assert (first.status, first.body) == (again.status, again.body) == (200, b"the resource")
    assert again.headers["content-type"] == first.headers["content-type"]
    assert again.headers["cache-control"] == "no-store, private"
    assert again.header("PAYMENT-RESPONSE") == first.header("PAYMENT-RESPONSE")
    assert (len(facilitator.heard), len(shop.served)) == (heard, 1)
    assert len(facilitator.at("/settle")) == 1


@pytest.mark.parametrize("style", STYLES)
def test_an_id_of_another_payment_or_request_is_a_conflict_and_costs_nothing(
    open_shop: OpenShop, facilitator: StandIn, style: str
) -> None:
    payment_id = new_id()
    shop, proof = open_shop(style, prices={"/report/*": "0.01"}), identified(payment_id)
    assert shop.get("/report/1", **proof).status == 200
    heard = len(facilitator.heard)
    headers = {"PAYMENT-SIGNATURE": proof["PAYMENT_SIGNATURE"]}
    conflicts = [
        shop.get("/report/1", **identified(payment_id)),
        shop.get("/report/2", **proof),
        shop.get("/report/1?page=2", **proof),
        shop.send("POST", "/report/1", headers, b""),
    ]
    assert [(one.status, one.told["reason"]) for one in conflicts] == [(409, "payment_identifier_conflict")] * 4
    assert len(facilitator.heard) == heard
    assert len(shop.served) == 1


def test_a_shop_that_requires_ids_takes_no_payment_without(open_shop: OpenShop, facilitator: StandIn) -> None:
    shop = open_shop(identifiers="required")
    told = shop.get().header("PAYMENT-REQUIRED")["extensions"]["payment-identifier"]
    assert told["info"] == {"required": True}
    for proof in (second_version(), second_version(extensions={"payment-identifier": told})):
        reply = shop.get(**proof)
        assert (reply.status, reply.told["reason"]) == (400, "payment_identifier_required")
    assert facilitator.at("/verify") == []
    assert shop.get(**identified(new_id())).status == 200
    # Neither of these has a place for an id.
    assert [shop.get(**proof).status for proof in (by_hash(), first_version())] == [200, 200]


@pytest.mark.parametrize(
    "payment_id", ["", "a" * 15, "a" * 129, "pay 1234567890123456", "ä" * 20, 7, [], "a" * 20 + "\n"]
)
def test_an_id_of_another_form_is_refused_before_it_is_paid_for(
    open_shop: OpenShop, facilitator: StandIn, payment_id: object
) -> None:
    reply = open_shop().get(**identified(payment_id))
    assert (reply.status, reply.told["reason"]) == (400, "invalid_payment_identifier")
    assert facilitator.at("/verify") == []


@pytest.mark.parametrize(
    "extensions", [None, [], "x", {"payment-identifier": None}, {"payment-identifier": {"info": 1}}]
)
def test_extensions_of_another_form_hold_no_id(open_shop: OpenShop, extensions: object) -> None:
    shop = open_shop()
    assert shop.get(**second_version(extensions=extensions)).status == 200


def test_a_shop_without_ids_says_nothing_of_them_and_keeps_nothing(open_shop: OpenShop) -> None:
    shop, proof = open_shop(identifiers="off"), identified(new_id())
    assert "extensions" not in shop.get().header("PAYMENT-REQUIRED")
    assert [shop.get(**proof).status for _ in range(2)] == [200, 402]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("settle", ["before", "after"])
def test_an_answer_of_a_handler_that_failed_is_not_kept(open_shop: OpenShop, style: str, settle: Any) -> None:
    shop, proof = open_shop(style, Price("0.01", settle=settle)), identified(new_id())
    shop.status = 500
    assert shop.get(**proof).status == 500
    shop.status = 200
    assert [shop.get(**proof).status for _ in range(2)] == [200, 200]
    assert len(shop.served) == 2


@pytest.mark.parametrize("style", STYLES)
def test_an_answer_that_is_longer_than_a_megabyte_is_not_kept(open_shop: OpenShop, style: str) -> None:
    shop = open_shop(style)
    for length, second in ((LONGEST_ANSWER, 200), (LONGEST_ANSWER + 1, 402)):
        proof = identified(new_id())
        shop.content = bytes(length)
        first = shop.get(**proof)
        assert (first.status, len(first.body)) == (200, length)
        assert shop.get(**proof).status == second


def test_copies_at_once_settle_one_payment_once_and_all_may_have_its_answer(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    shop, proof = open_shop("wsgi", Price("0.01", settle="before")), identified(new_id())
    found = at_once(lambda: shop.get(**proof).status)
    assert set(found) <= {200, 402}
    assert len(shop.served) == 1
    settled = len(facilitator.at("/settle"))
    assert at_once(lambda: shop.get(**proof).status) == [200] * len(found)
    assert (len(facilitator.at("/settle")), len(shop.served)) == (settled, 1)


def test_a_copy_that_is_refused_gets_the_answer_that_was_kept_while_it_was_served(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    shop, proof = open_shop("wsgi"), identified(new_id())
    turns = itertools.count()

    def meanwhile() -> None:
        # The payer gave up its first request, and its second one ends before that.
        if next(turns) == 0:
            assert shop.get(**proof).status == 200

    shop.before_answering = meanwhile
    reply = shop.get(**proof)
    assert (reply.status, reply.body) == (200, b"the resource")
    keys = {one.key for one in facilitator.at("/settle")}
    assert (len(shop.served), len(keys)) == (2, 2)


def kept_waiting(shop: Shop, payment_id: str) -> list[int]:
    """Ask, and meanwhile again under the same id with another signature; return the statuses, the later request's first."""
    found: list[int] = []

    def again() -> None:
        shop.before_answering = lambda: None
        found.append(shop.get(**identified(payment_id)).status)

    shop.before_answering = again
    return [shop.get(**identified(payment_id)).status, *found]


@pytest.mark.parametrize("settle", ["before", "after"])
def test_a_payer_that_signs_anew_under_its_id_while_it_waits_is_charged_once(
    open_shop: OpenShop, facilitator: StandIn, settle: Any
) -> None:
    shop = open_shop("wsgi", Price("0.01", settle=settle))
    assert kept_waiting(shop, new_id()) == [200, 409]
    assert (len(shop.served), len(facilitator.at("/settle"))) == (1, 1)


class Unreserved(MemoryAnswers):
    """A store that gives an id to everybody."""

    def add(self, name: str, value: bytes, *, seconds: int) -> bool:
        """Say that there was none."""
        return super().add(name, value, seconds=seconds) or name.startswith("id:")


def test_without_the_reservation_a_payer_that_signs_anew_is_charged_twice(
    open_shop: OpenShop, facilitator: StandIn
) -> None:
    """The negative control of the test above."""
    shop = open_shop("wsgi", Price("0.01", settle="before"), answers=Unreserved())
    assert kept_waiting(shop, new_id()) == [200, 200]
    assert len(facilitator.at("/settle")) == 2


REFUSED = b'{"isValid": false, "invalidReason": "insufficient_funds"}'
UNSETTLED = b'{"success": false, "errorReason": "insufficient_funds", "transaction": ""}'


@pytest.mark.parametrize("settle", ["before", "after"])
@pytest.mark.parametrize(
    ("path", "told", "status"),
    [("/verify", Told(raw=REFUSED), 402), ("/verify", Told(status=500), 503), ("/settle", Told(raw=UNSETTLED), 402)],
)
def test_an_id_under_which_nothing_was_paid_is_free_for_another_payment(
    open_shop: OpenShop, facilitator: StandIn, settle: Any, path: str, told: Told, status: int
) -> None:
    shop, payment_id = open_shop("wsgi", Price("0.01", settle=settle)), new_id()
    facilitator.tell(path, told)
    assert [shop.get(**identified(payment_id)).status for _ in range(2)] == [status, 200]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("settle", "second"), [("after", 200), ("before", 409)])
def test_an_id_is_free_after_a_handler_that_failed_unless_it_was_paid(
    shared_cache: str, open_shop: OpenShop, style: str, settle: Any, second: int
) -> None:
    shop, payment_id = open_shop(style, Price("0.01", settle=settle), answers=CacheAnswers(shared_cache)), new_id()
    first = identified(payment_id)
    shop.status = 500
    assert shop.get(**first).status == 500
    shop.status = 200
    assert shop.get(**identified(payment_id)).status == second
    # The payer whose money moved is served for it.
    assert shop.get(**first).status == (409 if second == 200 else 200)


@pytest.mark.parametrize("settle", ["before", "after"])
def test_an_id_whose_payment_is_unclear_is_not_free(open_shop: OpenShop, facilitator: StandIn, settle: Any) -> None:
    shop, payment_id = open_shop("wsgi", Price("0.01", settle=settle)), new_id()
    first = identified(payment_id)
    facilitator.tell("/settle", Told(status=500))
    assert shop.get(**first).status == 503
    assert shop.get(**identified(payment_id)).status == 409
    assert shop.get(**first).status == 200


def test_a_copy_that_is_refused_does_not_free_the_id_of_the_request_that_runs(open_shop: OpenShop) -> None:
    shop, payment_id = open_shop("wsgi", Price("0.01", settle="before")), new_id()
    first = identified(payment_id)
    found: list[int] = []

    def meanwhile() -> None:
        found.extend(shop.get(**proof).status for proof in (first, identified(payment_id)))

    shop.before_answering = meanwhile
    assert shop.get(**first).status == 200
    assert found == [402, 409]


class Stuck(MemoryAnswers):
    """A store that removes nothing."""

    def remove(self, name: str) -> None:
        """Fail."""
        raise ConnectionError("gone")


@pytest.mark.parametrize("style", STYLES)
def test_an_id_that_cannot_be_freed_changes_no_answer(
    open_shop: OpenShop, caplog: pytest.LogCaptureFixture, style: str
) -> None:
    shop = open_shop(style, answers=Stuck())
    shop.status = 404
    assert shop.get(**identified(new_id())).status == 404
    assert "was not freed" in caplog.text


class Full(MemoryAnswers):
    """A store that takes no answers, as a cache whose server has gone."""

    def add(self, name: str, value: bytes, *, seconds: int) -> bool:
        """Fail, but not before the payment."""
        if name.startswith("answer:"):
            raise ConnectionError("gone")
        return super().add(name, value, seconds=seconds)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("settle", ["before", "after"])
def test_an_answer_that_cannot_be_kept_is_served_all_the_same(
    open_shop: OpenShop, facilitator: StandIn, caplog: pytest.LogCaptureFixture, style: str, settle: Any
) -> None:
    shop = open_shop(style, Price("0.01", settle=settle), answers=Full())
    reply = shop.get(**identified(new_id()))
    assert (reply.status, reply.body) == (200, b"the resource")
    assert len(facilitator.at("/settle")) == 1
    assert "an answer was not kept" in caplog.text


def test_gates_that_share_a_cache_share_the_answers(shared_cache: str, open_shop: OpenShop) -> None:
    shared = {"claims": CacheClaims(shared_cache), "answers": CacheAnswers(shared_cache)}
    one, other = (open_shop(style, **shared) for style in ("wsgi", "django"))
    proof = identified(new_id())
    assert (one.get(**proof).status, other.get(**proof).status) == (200, 200)
    assert (len(one.served), len(other.served)) == (1, 0)


def test_a_connection_that_broke_within_the_last_part_loses_no_answer(facilitator: StandIn) -> None:
    def app(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "9")])
        return iter([b"in ", b"parts", b"!"])

    wrapped = X402Wsgi(app, facilitator.config({"/report": "0.01"}))
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/report",
        "HTTP_PAYMENT_SIGNATURE": identified(new_id())["PAYMENT_SIGNATURE"],
    }
    begun: list[str] = []

    def start_response(status: str, _headers: Any, _info: Any = None) -> Any:
        begun.append(status)

    parts = iter(wrapped(dict(environ), start_response))
    assert [next(parts) for _ in range(3)] == [b"in ", b"parts", b"!"]
    # The server goes on no further.
    assert b"".join(wrapped(dict(environ), start_response)) == b"in parts!"
    assert begun == ["200 OK", "200 OK"]
    assert len(facilitator.at("/settle")) == 1
    wrapped.gate.close()


@pytest.mark.parametrize("kind", ["http.response.pathsend", "http.response.zerocopysend"])
def test_a_file_that_the_server_sends_is_not_kept(facilitator: StandIn, kind: str) -> None:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": kind})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    config = facilitator.config({"/report": "0.01"})
    wrapped = X402Asgi(app, config)
    header = identified(new_id())["PAYMENT_SIGNATURE"].encode()
    scope = {"type": "http", "method": "GET", "path": "/report", "headers": [(b"payment-signature", header)]}
    statuses: list[int] = []

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    for _ in range(2):
        asyncio.run(wrapped(dict(scope), None, send))  # type: ignore[arg-type]
    assert statuses == [200, 402]
    wrapped.gate.close()


def test_what_belongs_to_one_response_is_not_kept() -> None:
    identifiers, named = Identifiers(MemoryAnswers(), "optional"), Named("1", "digest")
    headers = [
        *(("Content-Type", "text/plain"), ("Set-Cookie", "session=1"), ("X-Request-Id", "7")),
        *(("Cache-Control", "no-store, private"), ("Location", "/there"), ("PAYMENT-RESPONSE", "e30=")),
    ]
    keeper = identifiers.keeper(named, status=201, headers=headers)
    keeper.add(b"made")
    keeper.end()
    kept = identifiers.answer_to(named)
    assert kept is not None
    assert (kept.status, kept.body) == (201, b"made")
    told = dict(kept.headers)
    assert told.pop("Access-Control-Expose-Headers")
    assert told == {
        "Content-Type": "text/plain",
        "Location": "/there",
        "PAYMENT-RESPONSE": "e30=",
        "Cache-Control": "no-store, private",
        "Content-Length": "4",
    }


@pytest.mark.parametrize(("declared", "kept"), [("4", True), ("5", False), ("3", False)])
def test_an_answer_of_another_length_than_it_declares_is_not_kept(declared: str, kept: bool) -> None:
    identifiers, named = Identifiers(MemoryAnswers(), "optional"), Named("1", "digest")
    keeper = identifiers.keeper(named, status=200, headers=[("Content-Length", declared)])
    keeper.add(b"made")
    keeper.end()
    assert (identifiers.answer_to(named) is not None) is kept


def test_answers_of_one_process_end_and_have_a_bound() -> None:
    answers = MemoryAnswers(most=10)
    answers.add("ended", b"1", seconds=0)
    assert answers.get("ended") is None
    answers.add("ended", b"22", seconds=60)
    answers.add("ended", b"333", seconds=60)
    assert answers.get("ended") == b"22"
    answers.add("long", b"x" * 11, seconds=60)
    answers.add("other", b"x" * 9, seconds=60)
    assert [answers.get(name) for name in ("ended", "long", "other")] == [None, None, b"x" * 9]


def test_ids_are_off_optional_or_required(facilitator: StandIn) -> None:
    with pytest.raises(SettingsError, match="identifiers"):
        facilitator.config({"/report": "0.01"}, identifiers="sometimes")
    fields = {"url": facilitator.url, "key": "sk_live_1", "prices": {"/report": "0.01"}, "cache": "default"}
    with override_settings(FLORIN_X402=fields | {"identifiers": "required"}):
        assert isinstance(config_from_settings().answers, CacheAnswers)
    with override_settings(FLORIN_X402=fields | {"identifiers": "never"}), pytest.raises(ImproperlyConfigured):
        config_from_settings()


def test_without_the_digest_another_payment_would_get_the_answer(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test of conflicts."""
    monkeypatch.setattr("florin_x402.identifiers.digest_of", lambda *_: "the same")
    shop, payment_id = open_shop(), new_id()
    assert shop.get(**identified(payment_id)).status == 200
    stranger = identified(payment_id, payload={"nonce": "0x00"})
    assert (shop.get(**stranger).status, len(shop.served)) == (200, 1)
