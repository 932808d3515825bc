"""Escrow of checkouts: what is offered, what holds the money, who releases it, what the API and events say."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from checkouts.creation.service import begin_again
from checkouts.inbox.service import apply_decisions
from checkouts.lifecycle.signed_receipts import receipt_status
from checkouts.models import Checkout
from checkouts.page.news import read_news
from checkouts.page.receipts import receipt_words
from checkouts.states import CheckoutStatus, InboxAct
from gateway.core.signing import claims_of
from settlements.models import Hold
from settlements.sweeps.outflows import note_outflows
from tests.checkouts.inboxes import DONE, decide, late_item
from tests.checkouts.watcher import DOLLAR, Watcher, attribute, last_body, make_outflow, shown
from tests.checkouts.watcher import pay as paid
from tests.contract.client import ApiClient, client_of
from tests.contract.payments import BRING_TO, expire, pay
from tests.factories import NOON, make_checkout, make_live_chain, make_wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes", "still_clock")]


def said(body: dict[str, Any]) -> tuple[bool, str | None, str | None]:
    """What a checkout's object says about its escrow."""
    return body["escrow"], body["escrow_status"], body["escrow_released_by"]


def merchant_of(client: ApiClient) -> Merchant:
    assert client.merchant is not None
    return client.merchant


def release(client: ApiClient, checkout_id: str) -> Any:
    return client.post(f"/checkouts/{checkout_id}/release", b"")


def told() -> list[tuple[str, str]]:
    """Who released what, as the audit log has it."""
    entries = AuditEntry.objects.filter(action="escrow.released").order_by("pk")
    return list(entries.values_list("object_id", "actor_label"))


@pytest.mark.parametrize("mode", Mode)
def test_a_checkout_in_escrow_is_made_with_its_hold(mode: Mode, seller: ApiClient) -> None:
    body = client_of(seller.merchant, mode).created(escrow=True)
    assert said(body) == (True, "held", None)
    checkout = Checkout.objects.get(public_id=body["id"])
    hold = Hold.objects.get()
    assert (hold.subject_id, hold.mode) == (checkout.public_id, mode)
    assert bytes(hold.nonce) == bytes(checkout.deposit_nonce)
    assert (hold.merchant, hold.created_at) == (checkout.merchant, checkout.created_at)


def test_a_checkout_without_escrow_has_no_hold(seller: ApiClient) -> None:
    for body in (seller.created(), seller.created(escrow=False)):
        assert said(body) == (False, None, None)
    assert not Hold.objects.exists()


def test_only_chains_with_forwarders_are_offered(seller: ApiClient) -> None:
    make_live_chain("ethereum")
    make_wallet(merchant_of(seller), "ethereum")
    plain, held = seller.created(), seller.created(escrow=True)
    names = [{option["chain"] for option in body["available_chains"]} for body in (plain, held)]
    assert names == [{"base", "polygon", "ethereum"}, {"base", "polygon"}]


def test_escrow_is_refused_where_no_forwarder_can_be_offered(still_clock: Any, seller: ApiClient) -> None:
    client = client_of(mode=Mode.LIVE)
    make_live_chain("ethereum")
    make_wallet(merchant_of(client), "ethereum")
    client.created()
    answer = client.create(escrow=True)
    assert (answer.status, answer.code) == (409, "receiving_wallet_missing")
    assert "Base or Polygon" in answer.error["message"]
    assert not Hold.objects.exists()


@pytest.mark.parametrize("value", ["true", 1, 0, [], {}])
def test_escrow_is_a_boolean(value: Any, seller: ApiClient) -> None:
    assert seller.create(escrow=value).refusal == (400, "parameter_invalid", "escrow")


def test_a_repeat_answers_the_checkout_there_is_and_holds_nothing_more(seller: ApiClient) -> None:
    first = seller.created(order_ref="o", escrow=True)
    for escrow in (True, False):
        again = seller.create(order_ref="o", escrow=escrow)
        assert (again.status, again.body["id"]) == (200, first["id"])
        assert said(again.body) == (True, "held", None)
    plain = seller.created(order_ref="p")
    again = seller.create(order_ref="p", escrow=True)
    assert (again.body["id"], said(again.body)) == (plain["id"], (False, None, None))
    assert Hold.objects.count() == 1


def test_a_paid_checkout_is_released_once_by_the_key(seller: ApiClient) -> None:
    checkout_id = seller.created(escrow=True)["id"]
    pay(checkout_id)
    checkout = Checkout.objects.get(public_id=checkout_id)
    assert said(last_body(checkout)["data"]) == (True, "held", None)
    for _ in range(2):
        answer = release(seller, checkout_id)
        assert (answer.status, answer.body["status"]) == (200, "completed")
        assert said(answer.body) == (True, "released", "api")
    assert said(shown(checkout)) == (True, "released", "api")
    listed = seller.get("/checkouts").body["data"]
    assert [said(body) for body in listed] == [(True, "released", "api")]
    [(subject, who)] = told()
    assert subject == checkout_id
    assert who.startswith("API key ")
    hold = Hold.objects.get()
    assert (hold.released_by, hold.released_actor) == ("api", None)


@pytest.mark.parametrize("status", CheckoutStatus)
def test_only_ended_checkouts_are_released(status: CheckoutStatus, seller: ApiClient) -> None:
    checkout_id = seller.created(escrow=True)["id"]
    BRING_TO[status](checkout_id)
    answer = release(seller, checkout_id)
    is_final = status in {CheckoutStatus.COMPLETED, CheckoutStatus.EXPIRED}
    assert answer.status == (200 if is_final else 409)
    assert is_final or answer.code == "state_conflict"
    assert Hold.objects.filter(released_at=None).exists() is not is_final
    assert len(told()) == is_final


def test_what_was_never_held_is_not_released(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id)
    answer = release(seller, checkout_id)
    assert (answer.status, answer.code) == (409, "state_conflict")


def test_nobody_releases_another_merchants_or_the_other_modes(seller: ApiClient) -> None:
    checkout_id = seller.created(escrow=True)["id"]
    pay(checkout_id)
    strangers = client_of(mode=Mode.LIVE), client_of(seller.merchant, Mode.TEST)
    for client in strangers:
        answer = release(client, checkout_id)
        assert answer.refusal == (404, "resource_missing", "checkout_id")
    assert Hold.objects.get().released_at is None


def test_what_a_stranger_flushed_is_released_for_everybody(seller: ApiClient) -> None:
    checkout_id = seller.created(escrow=True)["id"]
    pay(checkout_id)
    Hold.objects.update(released_at=NOON, released_by="external")
    answer = release(seller, checkout_id)
    assert said(answer.body) == (True, "released", "external")
    assert told() == []


def test_a_checkout_made_afresh_has_a_hold_of_its_own(seller: ApiClient) -> None:
    checkout_id = seller.created(escrow=True)["id"]
    expire(checkout_id)
    expired = Checkout.objects.get(public_id=checkout_id)
    fresh = begin_again(expired, now=expired.expires_at)
    assert fresh.escrow
    assert set(Hold.objects.values_list("subject_id", flat=True)) == {checkout_id, fresh.public_id}


def test_late_money_stays_held_until_either_checkout_is_released() -> None:
    item = late_item(escrow=True)
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    expired = item.checkout
    assert expired is not None
    successor = Checkout.objects.get(replaces=expired)
    # Its money is in the expired one's forwarder: one hold is on both.
    assert Hold.objects.get().subject_id == expired.public_id
    assert said(last_body(successor)["data"]) == (True, "held", None)
    client = client_of(item.merchant, Mode.LIVE)
    assert said(release(client, successor.public_id).body) == (True, "released", "api")
    assert said(release(client, expired.public_id).body) == (True, "released", "api")
    assert [subject for subject, _ in told()] == [successor.public_id]
    assert bytes(Hold.objects.get().nonce) == bytes(expired.deposit_nonce)


def test_an_open_page_of_the_buyer_says_that_the_money_is_held_until_it_is_released(seller: ApiClient) -> None:
    checkout_id = seller.created(escrow=True)["id"]
    checkout = Checkout.objects.get(public_id=checkout_id)
    browser, path = Client(), f"/c/{checkout.code}"
    # Nothing is held yet.
    assert "held until" not in buyers(browser, path)
    pay(checkout_id)
    for rest in ("", "/receipt"):
        assert re.search(r"(?i)\bheld\b.{1,40}\buntil Halden Roasters releases it", buyers(browser, path + rest))
    seen = browser.get(f"{path}/status")
    held = {"If-None-Match": seen["ETag"]}
    assert "Your payment is held until Halden Roasters releases it." in seen.json()["panel"]
    assert browser.get(f"{path}/status", headers=held).status_code == 304
    release(seller, checkout_id)
    told = browser.get(f"{path}/status", headers=held).json()["panel"]
    assert "Halden Roasters has your payment." in told
    assert "held until" not in told


def buyers(browser: Client, path: str) -> str:
    """A page of the buyer's, its tags and runs of white space left out."""
    return " ".join(re.sub(r"<[^>]*>", " ", browser.get(path).text).split())


def test_the_mailed_receipt_says_that_the_money_is_held() -> None:
    for checkout in (make_checkout(escrow=True), make_checkout()):
        paid(checkout)
        words = receipt_words(checkout.public_id)
        assert words is not None
        assert ("Held: until Halden Roasters releases it" in words.text) is checkout.escrow


def test_a_signed_receipt_says_that_the_money_is_held_and_the_next_one_that_it_was_released(seller: ApiClient) -> None:
    checkout_id = seller.created(escrow=True)["id"]
    pay(checkout_id)
    held = receipt_of(seller, checkout_id)
    assert (held["escrow"], "replaces" in held) == ("held", False)
    assert receipt_of(seller, checkout_id) == held
    release(seller, checkout_id)
    released = receipt_of(seller, checkout_id)
    assert (released["escrow"], released["replaces"]) == ("released", held["jti"])
    assert receipt_of(seller, checkout_id) == released
    # The payment itself is as it was.
    assert {receipt_status(one["jti"], now=NOON)["status"] for one in (held, released)} == {"paid"}


def receipt_of(client: ApiClient, checkout_id: str) -> dict[str, Any]:
    """The claims of a checkout's signed receipt."""
    answer = client.get(f"/checkouts/{checkout_id}/receipt")
    assert answer.status == 200, answer.raw
    return claims_of(answer.raw)


def test_a_successors_page_says_what_its_predecessors_hold_says() -> None:
    item = late_item(escrow=True)
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    successor = Checkout.objects.get(replaces=item.checkout)
    assert read_news(successor).is_held
    Hold.objects.update(released_at=NOON, released_by="external")
    assert not read_news(successor).is_held


def test_reading_asks_about_holds_only_where_there_is_escrow(django_assert_num_queries: Any) -> None:
    plain, held = make_checkout(), make_checkout(escrow=True)
    with django_assert_num_queries(1):
        shown(plain)
    with django_assert_num_queries(2):
        shown(held)


def flushed(checkout: Checkout, units: int, *, chain: str = "base") -> None:
    """A third party sends so much of a checkout's forwarder on to the merchant, and settlements write it down."""
    make_outflow(checkout, units, chain=chain)
    assert note_outflows(chain, now=NOON) == 1


@pytest.mark.parametrize("dust", [1, 10_000])
def test_dust_that_a_stranger_flushes_before_the_buyer_pays_ends_no_hold(dust: int) -> None:
    checkout, watcher = make_checkout(escrow=True), Watcher()
    # Less than a cent goes to the inbox, and a cent counts as a part of the price.
    watcher.sees(checkout, dust)
    watcher.confirms()
    attribute()
    flushed(checkout, dust)
    assert said(shown(checkout)) == (True, "held", None)
    paid(checkout, watcher=watcher)
    assert said(last_body(checkout)["data"]) == (True, "held", None)
    assert said(shown(checkout)) == (True, "held", None)
    assert read_news(checkout).is_held
    # All of it reached the merchant.
    flushed(checkout, 25 * DOLLAR)
    assert said(shown(checkout)) == (True, "released", "external")


def test_dust_that_a_stranger_flushes_after_the_end_holds_late_money_all_the_same() -> None:
    item = late_item(escrow=True)
    expired = item.checkout
    assert expired is not None
    flushed(expired, int(item.transfer.units))
    assert said(shown(expired)) == (True, "held", None)
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    successor = Checkout.objects.get(replaces=expired)
    # Now that it is paid, it says where its money is.
    assert said(last_body(successor)["data"]) == (True, "released", "external")
    assert said(shown(expired)) == (True, "released", "external")


def test_what_was_flushed_before_its_checkout_completed_is_released_as_it_completes() -> None:
    checkout, watcher = make_checkout(escrow=True), Watcher()
    watcher.sees(checkout)
    watcher.confirms()
    flushed(checkout, 25 * DOLLAR)
    assert said(shown(checkout)) == (True, "held", None)
    attribute()
    assert said(last_body(checkout)["data"]) == (True, "released", "external")
    assert Hold.objects.get().released_at == NOON


def test_dust_that_is_flushed_while_a_payment_is_reversed_lets_the_payment_be_held_again() -> None:
    checkout, watcher = make_checkout(escrow=True), Watcher()
    transfer = paid(checkout, watcher=watcher)
    watcher.loses(transfer)
    attribute()
    flushed(checkout, 1)
    assert said(shown(checkout)) == (True, "held", None)
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    assert last_body(checkout)["type"] == "checkout.restored"
    assert said(shown(checkout)) == (True, "held", None)
