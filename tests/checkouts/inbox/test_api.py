"""`GET /inbox`: what a program hears of money that waits for a person, and of what became of it."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.audit.actors import Actor
from accounts.states import Mode
from checkouts.inbox.rows import REASONS
from checkouts.inbox.service import apply_decisions, undo_decision
from checkouts.models import InboxItem
from checkouts.states import InboxAct, InboxReason
from tests.checkouts.arrivals import Till
from tests.checkouts.inboxes import DONE, LATER, decide, extra_item, late_for, late_item, other_checkout
from tests.checkouts.watcher import DOLLAR, Watcher, attribute, pay
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, make_checkout, make_user

pytestmark = pytest.mark.django_db

INBOX = "/inbox"


def listed(client: ApiClient, **query: Any) -> list[dict[str, Any]]:
    answer = client.get(INBOX, query)
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.body["data"]
    return found


def reasons(client: ApiClient, **query: Any) -> list[str]:
    return [item["reason"] for item in listed(client, **query)]


def test_an_item_has_what_its_page_shows(shop: ApiClient) -> None:
    item = extra_item(merchant=shop.merchant, order_ref="order-1001")
    transfer, checkout = item.transfer, item.checkout
    assert checkout is not None
    words = REASONS[InboxReason.EXTRA]
    [shown] = listed(shop)
    assert re.fullmatch(r"inb_[0-9a-f]{32}-extra", shown["id"])
    assert shown["transfer"].pop("block_time").startswith("2026-11-20T12:01")
    assert shown == {
        "id": shown["id"],
        "livemode": True,
        "status": "open",
        "reason": "extra",
        "title": words.short,
        "meaning": words.meaning,
        "explanation": None,
        "transfer": {
            "id": transfer.public_id,
            "chain": "base",
            "token": "USDC",
            "amount": "25.000000",
            "tx_hash": transfer.tx_hash,
            "position": 0,
            "sender_address": transfer.sender,
            "recipient_address": transfer.recipient,
            "status": "confirmed",
            "labels": [],
            "detected_at": "2026-11-20T12:01:00.000000Z",
            "confirmed_at": "2026-11-20T12:01:00.000000Z",
            "explorer_url": f"https://basescan.org/tx/{transfer.tx_hash}",
        },
        "checkout": {
            "id": checkout.public_id,
            "order_ref": "order-1001",
            "status": "completed",
            "amount": "25.00",
            "amount_remaining": "0.000000",
        },
        "candidates": [],
        "decision": None,
        "outcome": None,
        "created_at": "2026-11-20T12:01:00.000000Z",
        "closed_at": None,
    }
    assert shop.get(f"{INBOX}/{shown['id']}").body["id"] == shown["id"]


def test_the_evidence_is_a_sentence(shop: ApiClient) -> None:
    late_item(merchant=shop.merchant)
    assert [item["explanation"] for item in listed(shop)] == ["31 min after it expired."]


def test_candidates_say_what_they_still_need_and_why_they_were_not_credited(till: Till) -> None:
    first, second = till.checkout(suffix=1), till.checkout(suffix=2)
    till.sees(25 * DOLLAR, labels=("an order of mine",))
    till.confirms()
    attribute()
    [shown] = listed(client_of(till.merchant, Mode.LIVE))
    assert (shown["reason"], shown["checkout"]) == ("ambiguous", None)
    assert shown["transfer"]["labels"] == ["an order of mine"]
    assert {each["id"] for each in shown["candidates"]} == {first.public_id, second.public_id}
    for each in shown["candidates"]:
        assert (each["status"], each["amount_remaining"]) == ("pending", "25.000000")
        assert each["why_not"].endswith(".")


def test_a_decision_is_told_before_it_takes_effect_and_after(shop: ApiClient) -> None:
    item = extra_item(merchant=shop.merchant)
    decision = decide(item, InboxAct.DISMISS)
    [waiting] = listed(shop, status="open")
    assert waiting["decision"] == {
        "act": "dismiss",
        "checkout_id": None,
        "refund_tx": None,
        "decided_at": "2026-11-20T13:01:00.000000Z",
        "takes_effect_at": "2026-11-20T13:01:30.000000Z",
        "took_effect_at": None,
    }
    undo_decision(decision, now=LATER, actor=Actor(make_user()))
    assert listed(shop)[0]["decision"] is None
    decide(item, InboxAct.DISMISS)
    apply_decisions(now=DONE)
    [closed] = listed(shop, status="dismissed")
    assert (closed["outcome"], closed["closed_at"]) == ("dismissed", "2026-11-20T13:01:30.000000Z")
    assert closed["decision"]["took_effect_at"] == "2026-11-20T13:01:30.000000Z"


def test_nobody_of_the_team_is_named(shop: ApiClient) -> None:
    decision = decide(extra_item(merchant=shop.merchant), InboxAct.DISMISS)
    assert decision.actor is not None
    assert decision.actor.email.encode() not in shop.get(INBOX).raw


def test_each_outcome_has_its_word(shop: ApiClient) -> None:
    credited, dismissed = (extra_item(merchant=shop.merchant) for _ in range(2))
    late = late_item(merchant=shop.merchant, late=10 * DOLLAR)
    assert late.checkout is not None
    late_for(late.checkout, 15 * DOLLAR)
    decide(credited, InboxAct.CREDIT, checkout=other_checkout(credited))
    decide(dismissed, InboxAct.DISMISS)
    decide(late, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    found = {item["transfer"]["id"]: item["outcome"] for item in listed(shop)}
    assert found.pop(credited.transfer.public_id) == "credited"
    assert found.pop(dismissed.transfer.public_id) == "dismissed"
    # The other late payment of the checkout was accepted with the one that a person chose.
    assert list(found.values()) == ["accepted_late"] * 2


def test_an_alarm_ends_by_itself_as_restored(shop: ApiClient) -> None:
    checkout, watcher = make_checkout(shop.merchant), Watcher()
    transfer = pay(checkout, watcher=watcher)
    watcher.loses(transfer)
    attribute()
    [alarm] = listed(shop)
    assert (alarm["reason"], alarm["status"], alarm["transfer"]["status"]) == ("reversed", "open", "orphaned")
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    [ended] = listed(shop)
    assert (ended["id"], ended["status"], ended["outcome"]) == (alarm["id"], "credited", "restored")


def test_filters_leave_what_they_name(shop: ApiClient) -> None:
    extra = extra_item(merchant=shop.merchant)
    late = late_item(merchant=shop.merchant)
    decide(late, InboxAct.DISMISS)
    apply_decisions(now=DONE)
    assert extra.checkout is not None
    assert reasons(shop) == ["late", "extra"]
    assert reasons(shop, status="open") == ["extra"]
    assert reasons(shop, status="dismissed") == ["late"]
    assert reasons(shop, reason="late") == ["late"]
    assert reasons(shop, chain="base") == ["late", "extra"]
    assert reasons(shop, chain="polygon") == []
    assert reasons(shop, checkout_id=extra.checkout.public_id) == ["extra"]
    assert reasons(shop, checkout_id="chk_live_nobody") == []
    assert reasons(shop, status="", reason="", chain="", checkout_id="", limit="") == ["late", "extra"]


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ({"status": "done"}, "status", "parameter_invalid"),
        ({"reason": "x"}, "reason", "parameter_invalid"),
        ({"chain": "bitcoin"}, "chain", "chain_unsupported"),
        ({"checkout_id": "a\x00"}, "checkout_id", "parameter_invalid"),
        ({"limit": "101"}, "limit", "parameter_invalid"),
        ({"starting_after": "inb_nobody"}, "starting_after", "parameter_invalid"),
    ],
)
def test_what_cannot_be_read_is_named(shop: ApiClient, query: dict[str, str], param: str, code: str) -> None:
    assert shop.get(INBOX, query).refusal == (400, code, param)


def test_pages_by_key_pass_over_nothing_and_repeat_nothing(shop: ApiClient) -> None:
    for _ in range(3):
        extra_item(merchant=shop.merchant)
    ids = [item["id"] for item in listed(shop)]
    first = shop.get(INBOX, {"limit": 2}).body
    assert (first["total"], first["limit"], first["offset"]) == (3, 2, 0)
    rest = shop.get(INBOX, {"starting_after": first["data"][-1]["id"], "include_total": "false"}).body
    assert "total" not in rest
    assert [item["id"] for item in first["data"] + rest["data"]] == ids
    assert [item["id"] for item in listed(shop, offset=1, limit=1)] == ids[1:2]


def test_another_merchants_item_is_no_place_to_start_and_is_not_there(shop: ApiClient) -> None:
    theirs = client_of(mode=Mode.LIVE)
    extra_item(merchant=theirs.merchant)
    [item] = listed(theirs)
    assert shop.get(INBOX, {"starting_after": item["id"]}).refusal[0] == 400
    assert shop.get(f"{INBOX}/{item['id']}").refusal == (404, "resource_missing", "item_id")
    assert listed(client_of(theirs.merchant, Mode.TEST)) == []


@pytest.mark.parametrize("text", ["x", "inb_", "inb_x-extra", f"inb_{'0' * 32}-nothing", f"inb_{'0' * 32}-extra"])
def test_what_is_nobodys_id_is_not_there(shop: ApiClient, text: str) -> None:
    assert shop.get(f"{INBOX}/{text}").refusal == (404, "resource_missing", "item_id")


def test_one_transfer_may_have_an_item_for_each_reason(shop: ApiClient) -> None:
    item = extra_item(merchant=shop.merchant)
    InboxItem.objects.create(
        merchant=item.merchant, mode=item.mode, transfer=item.transfer, reason=InboxReason.RIVAL, created_at=NOON
    )
    ids = [each["id"] for each in listed(shop)]
    assert len(set(ids)) == 2
    assert [shop.get(f"{INBOX}/{each}").body["id"] for each in ids] == ids


def queries_of_the_list(client: ApiClient) -> int:
    client.get(INBOX)
    with CaptureQueriesContext(connection) as asked:
        assert client.get(INBOX).status == 200
    return len(asked)


def test_a_page_takes_as_many_queries_for_many_items_as_for_one(till: Till) -> None:
    client = client_of(till.merchant, Mode.LIVE)
    for price in ("25.00", "30.00", "35.00", "40.00"):
        for suffix in (1, 2):
            till.checkout(price, suffix=suffix)
    counts = []
    for units in (25, 30, 35, 40):
        till.sees(units * DOLLAR)
        till.confirms()
        attribute()
        counts.append(queries_of_the_list(client))
    decide(InboxItem.objects.filter(merchant=till.merchant).earliest("pk"), InboxAct.DISMISS)
    counts.append(queries_of_the_list(client))
    assert reasons(client) == ["ambiguous"] * 4
    assert len(set(counts)) == 1
    # Items with their decisions, candidates, and the count.
    assert counts[0] <= 4
