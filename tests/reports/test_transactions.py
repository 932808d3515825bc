"""`GET /transactions/{tx_hash}`: what became of money, told from its rows as the services wrote them."""

import base64
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import base58
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.states import Mode
from checkouts.inbox.service import apply_decisions
from checkouts.models import InboxItem
from checkouts.rescue import service as rescue
from checkouts.states import InboxAct
from checkouts.testmode import play_due_steps
from payouts.lifecycle.service import Terms, request_refund
from payouts.lifecycle.sources import Source
from reports import transactions
from tests.checkouts.inboxes import DONE, decide, extra_item, give_back, late_item, other_checkout
from tests.checkouts.watcher import DOLLAR, Watcher, attribute, pay
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, make_checkout, make_transfer
from tests.payouts.factories import BUYER, approved, pay_out, take_back
from tests.x402.calls import Claim, ask
from tests.x402.recorded import PAYER, make_machine_transfer, make_seller, verify_it
from wallets.models import ChainCursor, Transfer, WatchedMovement
from wallets.states import TransferState

pytestmark = pytest.mark.django_db

UNKNOWN = "0x" + "5a" * 32


@pytest.fixture(autouse=True)
def no_node_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records suffice in these tests."""

    def look_up(*_: object, **__: object) -> None:
        raise AssertionError("a node was asked")

    monkeypatch.setattr(rescue, "look_up", look_up)


def explained(client: ApiClient, tx_hash: str, **query: Any) -> dict[str, Any]:
    answer = client.get(f"/transactions/{quote(tx_hash)}", query)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.body
    return found


def told(client: ApiClient, transfer: Transfer) -> dict[str, Any]:
    """The movement of a transaction that has one."""
    body = explained(client, transfer.tx_hash)
    assert (body["source"], body["unasked_chains"]) == ("records", [])
    [found] = body["transactions"]
    [movement] = found["movements"]
    assert isinstance(movement, dict)
    return movement


def test_a_credited_transfer_names_its_checkout(shop: ApiClient) -> None:
    checkout = make_checkout(shop.merchant)
    transfer = pay(checkout)
    body = explained(shop, transfer.tx_hash)
    assert body["livemode"] is True
    [found] = body["transactions"]
    movements = found.pop("movements")
    assert found == {
        "chain": "base",
        "tx_hash": transfer.tx_hash,
        "status": "mined",
        "block_time": "2026-11-20T12:01:00.000000Z",
        "explorer_url": f"https://basescan.org/tx/{transfer.tx_hash}",
    }
    explanation = movements[0].pop("explanation")
    assert explanation.startswith("Credited: ")
    assert explanation.endswith(".")
    assert movements == [
        {
            "id": transfer.public_id,
            "tx_hash": transfer.tx_hash,
            "position": 0,
            "token": "USDC",
            "token_address": transfer.token_address,
            "amount": "25.000000",
            "sender_address": transfer.sender,
            "recipient_address": transfer.recipient,
            "status": "confirmed",
            "in_doubt": False,
            "outcome": "credited",
            "checkout_id": checkout.public_id,
            "replaces": None,
            "x402_payment_id": None,
            "refund_tx": None,
            "inbox_items": [],
        }
    ]


def test_what_was_only_seen_is_undecided(shop: ApiClient) -> None:
    movement = told(shop, Watcher().sees(make_checkout(shop.merchant)))
    assert (movement["status"], movement["outcome"]) == ("detected", "undecided")


def test_what_waits_for_a_person_says_why(shop: ApiClient) -> None:
    for item, words in (
        (late_item(merchant=shop.merchant), "Arrived after its checkout had ended. 31 min after it expired."),
        (extra_item(merchant=shop.merchant), "Its checkout was already paid."),
    ):
        movement = told(shop, item.transfer)
        assert (movement["outcome"], movement["checkout_id"], movement["explanation"]) == ("inbox", None, words)
        [mention] = movement["inbox_items"]
        assert (mention["reason"], mention["status"], mention["outcome"]) == (item.reason, "open", None)
        assert shop.get(f"/inbox/{mention['id']}").body["transfer"]["id"] == movement["id"]


def test_each_decision_has_its_outcome(shop: ApiClient) -> None:
    credited, refunded, dismissed = (extra_item(merchant=shop.merchant) for _ in range(3))
    late, other = late_item(merchant=shop.merchant), make_checkout(shop.merchant)
    assert late.checkout is not None
    decide(credited, InboxAct.CREDIT, checkout=other)
    sent_back = give_back(refunded)
    decide(dismissed, InboxAct.DISMISS)
    decide(late, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    movement = told(shop, credited.transfer)
    assert (movement["outcome"], movement["checkout_id"]) == ("credited", other.public_id)
    assert movement["explanation"] == "Credited: credited by a person."
    movement = told(shop, refunded.transfer)
    assert (movement["outcome"], movement["refund_tx"]) == ("refunded", sent_back)
    # Found on the chain: nobody's word for it.
    assert movement["explanation"] == "A refund sent money of it back."
    assert told(shop, dismissed.transfer)["outcome"] == "dismissed"
    movement = told(shop, late.transfer)
    assert (movement["outcome"], movement["replaces"]) == ("accepted_late", late.checkout.public_id)
    assert shop.get(f"/checkouts/{movement['checkout_id']}").body["replaces"] == late.checkout.public_id


def test_a_refund_that_the_network_took_back_is_named_as_no_refund(shop: ApiClient) -> None:
    item = extra_item(merchant=shop.merchant)
    take_back(WatchedMovement.objects.get(tx_hash=give_back(item)))
    movement = told(shop, item.transfer)
    assert (movement["outcome"], movement["refund_tx"]) == ("refunded", None)
    assert "the network reversed that refund" in movement["explanation"]


def test_dust_is_dismissed_by_itself(shop: ApiClient) -> None:
    assert told(shop, pay(make_checkout(shop.merchant), DOLLAR // 200))["outcome"] == "dismissed"


def test_what_a_reorganisation_took_is_reversed_and_names_its_alarm(shop: ApiClient) -> None:
    checkout, watcher = make_checkout(shop.merchant), Watcher()
    transfer = pay(checkout, watcher=watcher)
    watcher.loses(transfer)
    attribute()
    movement = told(shop, transfer)
    assert (movement["status"], movement["outcome"]) == ("orphaned", "reversed")
    assert movement["checkout_id"] == checkout.public_id
    assert [mention["reason"] for mention in movement["inbox_items"]] == ["reversed"]
    assert explained(shop, transfer.tx_hash)["transactions"][0]["status"] == "removed"


def test_what_a_halted_chain_may_not_have_is_in_doubt(shop: ApiClient) -> None:
    transfer = pay(make_checkout(shop.merchant))
    ChainCursor.objects.update_or_create(
        chain="base", defaults={"halted_reason": "another genesis block", "doubted_above": transfer.block_height - 1}
    )
    assert told(shop, transfer)["in_doubt"] is True


def test_a_machines_payment_is_unclaimed_until_it_is_verified(shop: ApiClient, settings: Any) -> None:
    assert shop.merchant is not None
    transfer = make_machine_transfer(shop.merchant, make_seller(shop.merchant, settings))
    assert told(shop, transfer)["outcome"] == "unclaimed"
    payment_id = verify_it(transfer)["paymentId"]
    movement = told(shop, transfer)
    assert (movement["outcome"], movement["x402_payment_id"]) == ("x402", payment_id)


def test_money_of_a_machine_is_unclaimed_until_it_is_sent_back(shop: ApiClient, settings: Any) -> None:
    assert shop.merchant is not None
    final: dict[str, Any] = {"state": TransferState.CONFIRMED, "confirmed_at": NOON, "block_time": NOON}
    transfer = make_machine_transfer(shop.merchant, make_seller(shop.merchant, settings), **final)
    source = Source(chain=transfer.chain, tx_hash=transfer.tx_hash)
    terms = Terms(address=BUYER)
    asked = request_refund(shop.merchant, mode=Mode.LIVE, source=source, terms=terms, now=NOON)
    assert told(shop, transfer)["outcome"] == "unclaimed"
    paid_by = pay_out(approved(asked.payout))
    movement = told(shop, transfer)
    assert (movement["outcome"], movement["refund_tx"]) == ("refunded", paid_by.tx_hash)


def test_a_simulated_payment_of_a_machine_is_known_although_no_chain_has_it(tester: ApiClient) -> None:
    to = tester.get("/x402/config").body["payTo"]["base"]
    answer = ask(tester, Claim("base", "USDC", UNKNOWN, PAYER, to))
    assert answer.body["valid"]
    [found] = explained(tester, UNKNOWN)["transactions"]
    [movement] = found["movements"]
    assert (movement["outcome"], movement["x402_payment_id"]) == ("x402", answer.body["paymentId"])
    assert (movement["amount"], movement["recipient_address"], movement["id"]) == ("0.500000", to, None)


def test_test_mode_knows_its_simulated_transactions_and_asks_no_node(tester: ApiClient) -> None:
    checkout = tester.created()
    play_due_steps(now=timezone.now() + timedelta(minutes=1))
    transfer = Transfer.objects.get()
    movement = told(tester, transfer)
    assert (movement["outcome"], movement["checkout_id"]) == ("credited", checkout["id"])
    assert explained(tester, transfer.tx_hash)["transactions"][0]["explorer_url"] is None
    unknown = tester.get(f"/transactions/{UNKNOWN}")
    assert unknown.refusal == (404, "resource_missing", "tx_hash")
    assert unknown.error["message"] == (f"Your test records have no transaction {UNKNOWN}. Test mode asks no node.")


DIGITS = "fb" * 32
SIGNATURE = base58.b58encode(bytes(range(100, 164))).decode()
# Of bytes whose base64 has the characters in which the two alphabets differ.
AWKWARD = bytes.fromhex("fbefbeff" * 8)


@pytest.mark.parametrize(
    ("chain", "tx_hash", "asked"),
    [
        *(("base", f"0x{DIGITS}", text) for text in (f"0x{DIGITS}", DIGITS, DIGITS.upper())),
        ("polygon", f"0x{DIGITS}", f"https://polygonscan.com/tx/0x{DIGITS}"),
        ("ethereum", f"0x{DIGITS}", DIGITS),
        *(("tron", DIGITS, text) for text in (DIGITS, f"0x{DIGITS}")),
        ("solana", SIGNATURE, SIGNATURE),
        *(
            ("ton", AWKWARD.hex(), text)
            for text in (
                AWKWARD.hex(),
                base64.b64encode(AWKWARD).decode(),
                base64.urlsafe_b64encode(AWKWARD).decode().rstrip("="),
            )
        ),
    ],
)
def test_a_hash_is_read_in_each_form_of_its_chain(shop: ApiClient, chain: str, tx_hash: str, asked: str) -> None:
    make_transfer(make_checkout(shop.merchant), chain=chain, tx_hash=tx_hash)
    [found] = explained(shop, asked)["transactions"]
    assert (found["chain"], found["tx_hash"]) == (chain, tx_hash)
    assert len(explained(shop, asked, chain=chain)["transactions"]) == 1


def test_a_hash_may_be_of_several_chains(shop: ApiClient) -> None:
    for chain in ("base", "polygon"):
        make_transfer(make_checkout(shop.merchant), chain=chain, tx_hash=f"0x{DIGITS}")
    assert [found["chain"] for found in explained(shop, DIGITS)["transactions"]] == ["base", "polygon"]
    assert [found["chain"] for found in explained(shop, DIGITS, chain="polygon")["transactions"]] == ["polygon"]
    assert len(explained(shop, DIGITS, chain="")["transactions"]) == 2


def test_a_transaction_that_pays_several_times_is_told_movement_by_movement(shop: ApiClient) -> None:
    checkouts = [make_checkout(shop.merchant) for _ in range(3)]
    for position, checkout in enumerate(checkouts):
        make_transfer(checkout, tx_hash=f"0x{DIGITS}", position=position)
    attribute()
    [found] = explained(shop, DIGITS)["transactions"]
    assert [each["checkout_id"] for each in found["movements"]] == [each.public_id for each in checkouts]


@pytest.mark.parametrize(
    ("path", "query", "param", "code"),
    [
        ("x", {}, "tx_hash", "parameter_invalid"),
        (f"{UNKNOWN[:-1]}", {}, "tx_hash", "parameter_invalid"),
        (f"{UNKNOWN} and 0x{DIGITS}", {}, "tx_hash", "parameter_invalid"),
        ("a" * 1_001, {}, "tx_hash", "parameter_invalid"),
        (UNKNOWN, {"chain": "bitcoin"}, "chain", "chain_unsupported"),
        (UNKNOWN, {"chain": "solana"}, "tx_hash", "parameter_invalid"),
    ],
)
def test_what_cannot_be_read_is_named(shop: ApiClient, path: str, query: dict[str, str], param: str, code: str) -> None:
    assert shop.get(f"/transactions/{quote(path)}", query).refusal == (400, code, param)


def test_thirty_are_told_a_minute(shop: ApiClient) -> None:
    assert shop.get("/transactions/x").headers["X-RateLimit-Limit"] == "30"


def test_asking_writes_nothing_and_takes_as_many_queries_for_many_movements(shop: ApiClient) -> None:
    items = [extra_item(merchant=shop.merchant) for _ in range(3)]
    counts = []
    for number, item in enumerate(items):
        Transfer.objects.filter(pk=item.transfer_id).update(tx_hash=f"0x{DIGITS}", position=number)
        explained(shop, DIGITS)
        with CaptureQueriesContext(connection) as asked:
            [found] = explained(shop, DIGITS)["transactions"]
        assert len(found["movements"]) == number + 1
        assert all(each["sql"].lstrip().startswith("SELECT") for each in asked)
        counts.append(len(asked))
    assert len(set(counts)) == 1


def test_one_program_at_a_time_asks_nodes(shop: ApiClient) -> None:
    with transactions._one_at_a_time():
        assert shop.get(f"/transactions/{UNKNOWN}").status == 429


def test_anothers_records_and_the_other_modes_are_not_there(shop: ApiClient) -> None:
    transfer = pay(make_checkout(shop.merchant))
    for stranger in (client_of(), client_of(shop.merchant, Mode.TEST)):
        assert stranger.get(f"/transactions/{transfer.tx_hash}").code == "resource_missing"
    assert InboxItem.objects.count() == 0


def test_an_items_other_checkout_is_not_confused_with_its_own(shop: ApiClient) -> None:
    item = extra_item(merchant=shop.merchant)
    other_checkout(item)
    assert told(shop, item.transfer)["checkout_id"] is None
