"""The API of refunds and payouts: what it takes, what it shows, and what only people do."""

from decimal import Decimal
from typing import Any

import pytest

from accounts.keys.scopes import PRESETS
from accounts.models import FeeEntry, Merchant
from accounts.states import SCOPES_OF_0_25, Mode, Preset
from checkouts.inbox.serializers import item_id
from checkouts.inbox.service import apply_decisions
from checkouts.models import Checkout, Payment
from checkouts.states import InboxAct, InboxReason
from gateway.core.api.scopes import Scope
from mails.models import OutgoingMail
from payouts.lifecycle.claims import claimed_payout
from payouts.lifecycle.payers import prove_payer, start_payer_proof
from payouts.lifecycle.service import conclude_payout, set_address
from payouts.models import Payout
from payouts.states import AddressBy, PayoutStatus
from tests.checkouts.inboxes import DONE, decide, extra_item, late_item
from tests.contract.client import ApiClient, client_of
from tests.contract.payments import pay
from tests.contract.refunding import BUYER, PAYOUT, paid
from tests.factories import NOON, WALLET, make_checkout, make_key, make_transfer
from tests.payouts.factories import OTHER_BUYER, approved, make_approver, make_paid, outflow_for, promised
from tests.routes import operations
from tests.wallets.signing import Signer
from wallets.models import ChainCursor, Transfer, TransferClaim
from wallets.receiving.proofs import message_of
from wallets.states import ClaimKind, TransferState
from x402.models import X402Payment

pytestmark = pytest.mark.django_db


def ask(client: ApiClient, checkout_id: str | None = None, **fields: Any) -> dict[str, Any]:
    """A new refund as the answer has it."""
    answer = client.post("/refunds", {"source": {"checkout": checkout_id or paid(client)}} | fields)
    assert answer.status == 201, answer.body
    body: dict[str, Any] = answer.body
    return body


def refusal(client: ApiClient, path: str, body: object) -> tuple[int, str | None, str | None]:
    return client.post(path, body).refusal


def test_a_refund_shows_what_it_sends_back_and_to_whom(seller: ApiClient) -> None:
    checkout_id = paid(seller)
    body = ask(seller, checkout_id, amount="5", address=BUYER, reason="broken", reference="rma-17", metadata={"a": 1})
    shown = {name: body[name] for name in ("kind", "status", "amount", "token", "chain", "address", "livemode")}
    assert shown == {
        "kind": "refund",
        "status": "requested",
        "amount": "5.000000",
        "token": "USDC",
        "chain": "base",
        "address": BUYER,
        "livemode": True,
    }
    assert (body["source"]["checkout"], body["source"]["x402_payment"]) == (checkout_id, None)
    assert [each["amount"] for each in body["source"]["transfers"]] == ["5.000000"]
    assert body["approvals"] == {"have": 0, "need": 1, "revision": 1}
    assert (body["claim_url"], body["transaction"], body["exception"]) == (None, None, None)
    assert (body["reason"], body["reference"], body["metadata"]) == ("broken", "rma-17", {"a": 1})
    for path in ("/refunds", "/payouts"):
        assert seller.get(f"{path}/{body['id']}").body == body
        assert seller.get(path).body["data"] == [body]


def test_a_new_link_is_mailed_to_the_address_that_is_given(seller: ApiClient) -> None:
    wanted = {"source": {"checkout": paid(seller)}, "email": "ann@buyer.example", "reference": "rma-17"}
    created, again = (seller.post("/refunds", wanted).body for _ in range(2))
    assert created == again
    [mail] = OutgoingMail.objects.all()
    assert (mail.recipient, mail.key) == ("ann@buyer.example", f"claim:{created['id']}")
    seller.post("/payouts", PAYOUT | {"email": "bob@buyer.example"})
    assert OutgoingMail.objects.count() == 1


def test_in_test_mode_links_are_mailed_to_the_team_alone(seller: ApiClient) -> None:
    tester = client_of(seller.merchant, Mode.TEST)
    wanted = {"source": {"checkout": paid(tester)}, "email": "ann@buyer.example"}
    assert refusal(tester, "/refunds", wanted) == (400, "parameter_invalid", "email")
    assert not Payout.objects.exists()


def test_the_claim_link_is_for_keys_that_may_ask(seller: ApiClient) -> None:
    body = ask(seller)
    found = claimed_payout(body["claim_url"].rpartition("/")[2])
    assert found is not None
    assert found.public_id == body["id"]
    assert seller.merchant is not None
    reader = ApiClient(key=make_key(seller.merchant, Mode.LIVE, Scope.PAYOUTS_READ)[1])
    assert reader.get(f"/refunds/{body['id']}").body == body | {"claim_url": None}
    assert reader.get("/refunds").body["data"][0]["claim_url"] is None


def test_the_same_reference_gets_the_first_with_200(seller: ApiClient) -> None:
    wanted = {"source": {"checkout": paid(seller)}, "amount": "5.00", "reference": "rma-17"}
    first, again = seller.post("/refunds", wanted), seller.post("/refunds", wanted)
    assert (first.status, again.status, again.body) == (201, 200, first.body)
    assert refusal(seller, "/refunds", wanted | {"amount": "6"}) == (409, "duplicate", "reference")
    assert refusal(seller, "/payouts", PAYOUT | {"reference": "rma-17"}) == (409, "duplicate", "reference")


def test_an_idempotency_key_gets_the_first_too(seller: ApiClient) -> None:
    body = {"source": {"checkout": paid(seller)}, "amount": "5"}
    first, again = (seller.send("POST", "/refunds", body, HTTP_IDEMPOTENCY_KEY="k") for _ in range(2))
    assert (first.status, again.raw) == (201, first.raw)
    assert Payout.objects.count() == 1


def test_more_than_is_left_is_refused_with_what_is_left(seller: ApiClient) -> None:
    checkout_id = paid(seller)
    ask(seller, checkout_id, amount="20")
    refused = seller.post("/refunds", {"source": {"checkout": checkout_id}, "amount": "6"})
    assert refused.refusal == (409, "amount_not_refundable", "amount")
    assert refused.error["refundable"] == "5.000000"


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({}, ("parameter_missing", "source")),
        ({"source": "chk"}, ("parameter_invalid", "source")),
        ({"source": {}}, ("parameter_invalid", "source")),
        ({"source": {"checkout": "a", "x402_payment": "b"}}, ("parameter_invalid", "source")),
        ({"source": {"checkout": ""}}, ("parameter_missing", "source")),
        ({"source": {"checkout": 1}}, ("parameter_invalid", "checkout")),
        ({"source": {"transfer": []}}, ("parameter_invalid", "source")),
        ({"source": {"transfer": {"chain": "base"}}}, ("parameter_missing", "source")),
        (
            {"source": {"transfer": {"chain": "base", "tx_hash": "x", "position": True}}},
            ("parameter_invalid", "source"),
        ),
        ({"source": {"transfer": {"chain": "base", "tx_hash": "x"}}}, ("parameter_invalid", "source")),
        ({"amount": 5}, ("amount_not_string", "amount")),
        ({"amount": "5e1"}, ("amount_invalid", "amount")),
        ({"amount": "-5"}, ("amount_invalid", "amount")),
        ({"amount": "0"}, ("amount_out_of_range", "amount")),
        ({"amount": "9" * 21}, ("amount_out_of_range", "amount")),
        ({"amount": "9" * 400 + ".5"}, ("amount_out_of_range", "amount")),
        ({"amount": "0.0000001"}, ("amount_invalid", "amount")),
        ({"chain": "mars"}, ("chain_unsupported", "chain")),
        ({"token": "DOGE"}, ("token_unsupported", "token")),
        ({"address": "0x12"}, ("address_invalid", "address")),
        ({"email": "nobody"}, ("parameter_invalid", "email")),
        ({"expires_in": 3599}, ("expires_in_out_of_range", "expires_in")),
        ({"expires_in": "3600"}, ("parameter_invalid", "expires_in")),
        ({"reason": "x" * 201}, ("parameter_too_long", "reason")),
        ({"reference": "x" * 129}, ("parameter_too_long", "reference")),
        ({"metadata": []}, ("parameter_invalid", "metadata")),
    ],
)
def test_a_body_that_says_something_wrong_is_refused(
    seller: ApiClient, body: dict[str, Any], refused: tuple[str, str]
) -> None:
    source = {"source": {"checkout": paid(seller)}} if body and "source" not in body else {}
    assert refusal(seller, "/refunds", source | body) == (400, *refused)
    assert not Payout.objects.exists()


def test_money_that_is_not_final_waits(seller: ApiClient) -> None:
    checkout_id = seller.created()["id"]
    pay(checkout_id, final=False)
    assert refusal(seller, "/refunds", {"source": {"checkout": checkout_id}}) == (409, "state_conflict", "source")


def test_an_address_is_given_changed_and_then_stays(seller: ApiClient) -> None:
    body = ask(seller)
    path = f"/refunds/{body['id']}"
    assert seller.post(f"{path}/address", {"address": BUYER}).body["status"] == "requested"
    changed = seller.post(f"{path}/address", {"address": OTHER_BUYER}).body
    assert (changed["address"], changed["approvals"]["revision"]) == (OTHER_BUYER, 2)
    approved(Payout.objects.get())
    shown = seller.get(path).body
    assert (shown["status"], shown["approvals"]) == ("approved", {"have": 1, "need": 1, "revision": 2})
    assert refusal(seller, f"{path}/address", {"address": BUYER}) == (409, "state_conflict", None)


def test_a_cancelled_refund_frees_its_money(seller: ApiClient) -> None:
    checkout_id = paid(seller)
    body = ask(seller, checkout_id)
    for _ in range(2):
        cancelled = seller.post(f"/refunds/{body['id']}/cancel", b"")
        assert (cancelled.status, cancelled.body["status"]) == (200, "cancelled")
    assert ask(seller, checkout_id)["amount"] == "25.000000"


def test_what_the_chain_paid_is_shown_with_its_transaction_and_on_the_checkout(seller: ApiClient) -> None:
    checkout_id = paid(seller)
    before = seller.get(f"/checkouts/{checkout_id}").body
    body = ask(seller, checkout_id, amount="5", address=BUYER)
    assert seller.get(f"/checkouts/{checkout_id}").body == before
    payout = Payout.objects.select_related("merchant").get()
    outflow = outflow_for(payout)
    ChainCursor.objects.filter(chain="base").update(head=104)
    conclude_payout(approved(payout), outflow, now=NOON)
    shown = seller.get(f"/refunds/{body['id']}").body
    assert (shown["status"], shown["paid_at"]) == ("paid", "2026-11-20T12:00:00.000000Z")
    transaction = shown["transaction"]
    assert (transaction["tx_hash"], transaction["from"]) == (outflow.tx_hash, outflow.wallet.address)
    assert transaction["confirmations"] == transaction["required_confirmations"] == 12
    assert (before["amount_refunded"], seller.get(f"/checkouts/{checkout_id}").body["amount_refunded"]) == (
        "0.000000",
        "5.000000",
    )


def test_the_fee_of_a_checkout_is_not_given_back_by_a_refund(seller: ApiClient) -> None:
    checkout_id = paid(seller)
    charged = list(FeeEntry.objects.values())
    assert [(one["subject_id"], one["amount"] > 0) for one in charged] == [(checkout_id, True)]
    ask(seller, checkout_id, address=BUYER)
    payout = approved(Payout.objects.select_related("merchant").get())
    assert conclude_payout(payout, outflow_for(payout), now=NOON).status == PayoutStatus.PAID
    assert list(FeeEntry.objects.values()) == charged


def test_money_that_moved_to_a_successor_is_refunded_there_alone(shop: ApiClient) -> None:
    item = late_item(merchant=shop.merchant)
    assert item.checkout is not None
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    refused = shop.post("/refunds", {"source": {"checkout": item.checkout.public_id}})
    assert refused.refusal == (409, "state_conflict", "source")
    assert "is with the checkout that replaced it" in refused.error["message"]
    successor = Checkout.objects.get(replaces=item.checkout).public_id
    assert ask(shop, successor)["amount"] == "25.000000"


def test_an_expired_checkout_lists_the_refunds_of_its_successor(seller: ApiClient) -> None:
    """Its money is the successor's, and its `amount_refunded` counts them."""
    successor, expired = paid(seller), seller.created()["id"]
    Payment.objects.filter(checkout__public_id=successor).update(handed_by=Checkout.objects.get(public_id=expired))
    refund = ask(seller, successor)["id"]
    for checkout_id in (expired, successor):
        listed = seller.get("/refunds", {"checkout_id": checkout_id}).body
        assert ([each["id"] for each in listed["data"]], listed["total"]) == ([refund], 1)


def test_lists_are_narrowed(seller: ApiClient) -> None:
    checkout_id = paid(seller)
    refund = ask(seller, checkout_id, amount="5", reference="rma-17")["id"]
    payout = seller.post("/payouts", PAYOUT).body["id"]

    def ids(path: str, **query: str) -> list[str]:
        answer = seller.get(path, query)
        assert answer.body["total"] == len(answer.body["data"])
        return [each["id"] for each in answer.body["data"]]

    assert (ids("/payouts"), ids("/refunds")) == ([payout, refund], [refund])
    assert (ids("/payouts", kind="payout"), ids("/payouts", kind="refund")) == ([payout], [refund])
    assert (ids("/payouts", status="open"), ids("/payouts", status="requested")) == ([refund], [payout])
    assert (ids("/payouts", checkout_id=checkout_id), ids("/refunds", checkout_id="chk")) == ([refund], [])
    assert (ids("/payouts", reference="rma-17"), ids("/refunds", reference="x")) == ([refund], [])
    assert ids("/payouts", created_after="2100-01-01T00:00:00Z") == []
    assert ids("/payouts", created_before="2100-01-01T00:00:00Z") == [payout, refund]
    assert ids("/refunds", status="open", checkout_id=checkout_id) == [refund]
    after = seller.get("/payouts", {"starting_after": payout, "include_total": "false"}).body
    assert [each["id"] for each in after["data"]] == [refund]
    assert seller.get("/payouts", {"starting_after": "po_live_x"}).refusal[:2] == (400, "parameter_invalid")
    assert seller.get("/payouts", {"kind": "gift"}).refusal == (400, "parameter_invalid", "kind")


def test_lists_are_narrowed_by_what_is_sent_back(shop: ApiClient) -> None:
    item = extra_item(merchant=shop.merchant)
    assert item.checkout is not None
    checkout_id, credited = item.checkout.public_id, item.checkout.payments.get().transfer
    machine = machines_payment(shop.merchant)
    sources: list[Any] = [{"transfer": named(one)} for one in (credited, item.transfer)]
    sources.append({"x402_payment": machine.public_id})
    of_credited, of_item, of_machine = (
        shop.post("/refunds", {"source": source, "amount": "5.00"}).body["id"] for source in sources
    )

    def ids(**query: str) -> list[str]:
        answers = [shop.get(path, query).body for path in ("/refunds", "/payouts")]
        assert answers[0] == answers[1]
        assert answers[0]["total"] == len(answers[0]["data"])
        return [each["id"] for each in answers[0]["data"]]

    of_credit = {"transfer_id": credited.public_id}
    of_inbox = {"inbox_item_id": item_id(item.transfer.public_id, item.reason)}
    of_x402 = {"x402_payment_id": machine.public_id}
    assert (ids(**of_credit), ids(transfer_id=item.transfer.public_id)) == ([of_credited], [of_item])
    assert (ids(**of_inbox), ids(**of_x402)) == ([of_item], [of_machine])
    assert ids(transfer_id=Transfer.objects.get(x402_payment=machine).public_id) == [of_machine]
    nothing = {"transfer_id": "trf_x", "inbox_item_id": "inb_x", "x402_payment_id": "x4p_x"}
    assert [ids(**{name: value}) for name, value in nothing.items()] == [[], [], []]
    assert ids(inbox_item_id=item_id(item.transfer.public_id, InboxReason.LATE)) == []
    assert ids(checkout_id=checkout_id, **of_credit) == [of_credited]
    assert ids(checkout_id=checkout_id, **of_x402) == []
    # The rest of both, by one refund.
    both = shop.post("/refunds", {"source": {"checkout": checkout_id}}).body["id"]
    assert ids(**of_credit, **of_inbox) == [both]
    stranger = client_of(mode=Mode.LIVE)
    for query in (of_credit, of_inbox, of_x402):
        assert stranger.get("/refunds", query).body["total"] == 0


def named(transfer: Transfer) -> dict[str, Any]:
    """A transfer as a source names it."""
    return {"chain": transfer.chain, "tx_hash": transfer.tx_hash, "position": transfer.position}


def machines_payment(merchant: Merchant | None) -> X402Payment:
    """A final payment by a machine."""
    transfer = make_transfer(make_checkout(merchant))
    Transfer.objects.filter(pk=transfer.pk).update(state=TransferState.CONFIRMED, confirmed_at=NOON)
    TransferClaim.objects.create(transfer=transfer, kind=ClaimKind.X402, claimed_at=NOON)
    return X402Payment.objects.create(
        merchant=transfer.merchant,
        mode=Mode.LIVE,
        protocol="hash",
        chain="base",
        tx_hash=transfer.tx_hash,
        position=0,
        token="USDC",
        units=transfer.units,
        required_units=transfer.units,
        payer=BUYER,
        pay_to=WALLET,
        verified_at=NOON,
        transfer=transfer,
    )


def test_a_payout_is_no_refund(seller: ApiClient) -> None:
    payout = seller.post("/payouts", PAYOUT).body
    assert (payout["kind"], payout["source"], payout["amount"]) == ("payout", None, "250.000000")
    for path in (f"/refunds/{payout['id']}", "/payouts/po_live_x"):
        assert seller.get(path).refusal == (404, "resource_missing", "payout_id")
    assert seller.get("/payouts/%00").status == 404


def test_test_keys_refund_test_money_alone(seller: ApiClient) -> None:
    tester = client_of(seller.merchant, Mode.TEST)
    tested = ask(tester, paid(tester), address=BUYER)
    assert (tested["livemode"], tested["id"][:8]) == (False, "po_test_")
    assert seller.get(f"/refunds/{tested['id']}").code == "resource_missing"
    assert seller.get("/refunds").body["total"] == 0


def test_a_refund_may_go_only_to_an_address_that_paid(seller: ApiClient) -> None:
    checkout_id = paid(seller)
    signer = Signer("base")
    Transfer.objects.update(sender=signer.address)
    wanted = {"source": {"checkout": checkout_id}, "amount": "5", "requires_payer_proof": True}
    assert refusal(seller, "/refunds", wanted | {"address": BUYER}) == (
        400,
        "parameter_invalid",
        "requires_payer_proof",
    )
    assert refusal(seller, "/refunds", wanted | {"requires_payer_proof": "yes"})[0] == 400
    body = seller.post("/refunds", wanted).body
    assert (body["requires_payer_proof"], body["address_proved"], body["status"]) == (True, False, "open")
    path = f"/refunds/{body['id']}"
    assert refusal(seller, f"{path}/address", {"address": BUYER})[:2] == (409, "state_conflict")
    payout = Payout.objects.get()
    proof = start_payer_proof(payout, address=signer.address, now=NOON)
    prove_payer(payout, nonce=proof.nonce, signature=signer.sign(message_of(proof)), now=NOON)
    shown = seller.get(path).body
    assert (shown["address"], shown["address_proved"], shown["status"]) == (signer.address, True, "requested")
    assert ask(seller)["requires_payer_proof"] is False


def test_a_page_of_many_takes_as_many_queries_as_one(seller: ApiClient, django_assert_max_num_queries: Any) -> None:
    for number in range(3):
        ask(seller, address=BUYER, reference=str(number))
    with django_assert_max_num_queries(12):
        assert len(seller.get("/refunds").body["data"]) == 3


def test_a_key_asks_and_no_scope_approves_or_signs() -> None:
    routes = {(method, route) for method, route in operations() if route.split("/")[0] in {"refunds", "payouts"}}
    assert {route.rpartition("/")[2] for method, route in routes if method == "POST"} == {
        "refunds",
        "payouts",
        "address",
        "cancel",
    }
    assert {scope for scope in Scope if scope.startswith("payouts:")} == {Scope.PAYOUTS_READ, Scope.PAYOUTS_REQUEST}


def test_no_key_of_before_has_the_scopes_and_a_new_key_of_a_shop_does() -> None:
    assert not {Scope.PAYOUTS_READ, Scope.PAYOUTS_REQUEST} & set(SCOPES_OF_0_25)
    having = {preset for preset, scopes in PRESETS.items() if Scope.PAYOUTS_REQUEST in scopes}
    assert having == {Preset.SHOP, Preset.SHOP_PLUGIN}
    assert Scope.PAYOUTS_READ in PRESETS[Preset.ACCOUNTANT]


def test_a_team_that_wants_two_approvals_sees_how_many_there_are(seller: ApiClient) -> None:
    Merchant.objects.update(payout_approvals=2, payout_second_above=Decimal(100))
    body = seller.post("/payouts", PAYOUT).body
    assert body["approvals"]["need"] == 2
    payout = Payout.objects.select_related("merchant").get()
    approved(payout, make_approver(payout.merchant))
    shown = seller.get(f"/payouts/{body['id']}").body
    assert (shown["approvals"]["have"], shown["status"]) == (1, PayoutStatus.REQUESTED)


def test_a_transfer_of_several_is_named_by_its_position(seller: ApiClient) -> None:
    checkout_id = paid(seller)
    first = Payout.objects.count()
    transfer = pay(checkout_id)
    hash_of = {"chain": "base", "tx_hash": transfer.tx_hash}
    body = seller.post("/refunds", {"source": {"transfer": hash_of}, "address": BUYER})
    assert (body.status, body.body["source"]["transfers"][0]["id"]) == (201, transfer.public_id)
    assert Payout.objects.count() == first + 1


def test_the_recipient_chooses_from_chains_and_tokens_that_are_worth_the_same(shop: ApiClient) -> None:
    checkout = make_paid(shop.merchant)
    pairs = [{"chain": "polygon", "token": "USDT"}, {"chain": "base", "token": "USDC"}]
    body = {"source": {"checkout": checkout.public_id}, "amount": "5.00", "choices": pairs}
    made = shop.post("/refunds", body)
    assert made.status == 201, made.body
    # Its own chain and token come first, once.
    assert made.body["choices"] == [pairs[1], pairs[0]]
    payout = Payout.objects.get()
    set_address(payout, address=BUYER, chain="polygon", token="USDT", by=AddressBy.CLAIM, now=NOON)
    shown = shop.get(f"/refunds/{made.body['id']}").body
    assert (shown["chain"], shown["token"], shown["amount"]) == ("polygon", "USDT", "5.000000")


@pytest.mark.parametrize(
    ("choices", "code"),
    [
        ("polygon", "parameter_invalid"),
        ([[]], "parameter_invalid"),
        ([{"chain": "polygon"}], "parameter_missing"),
        ([{"chain": "polygon", "token": "DAI"}], "token_unsupported"),
        ([{"chain": "nowhere", "token": "USDC"}], "chain_unsupported"),
        ([{"chain": "polygon", "token": "USDC"}] * 21, "parameter_invalid"),
    ],
)
def test_what_is_no_choice_is_refused_and_reserves_nothing(choices: Any, code: str, shop: ApiClient) -> None:
    checkout = make_paid(shop.merchant)
    answer = shop.post("/refunds", {"source": {"checkout": checkout.public_id}, "choices": choices})
    assert (answer.status, answer.body["error"]["code"]) == (400, code)
    assert promised(checkout) == (0, 0)


def test_an_amount_may_be_in_the_checkouts_currency(shop: ApiClient) -> None:
    checkout = make_paid(shop.merchant)
    body = {"source": {"checkout": checkout.public_id}, "amount": "5.25", "currency": "USD"}
    assert shop.post("/refunds", body).body["amount"] == "5.250000"
    refused = shop.post("/refunds", body | {"currency": "EUR"})
    assert (refused.status, refused.body["error"]["code"]) == (400, "currency_unsupported")


def test_money_that_was_never_quoted_has_no_currency(shop: ApiClient) -> None:
    transfer = extra_item(merchant=shop.merchant).transfer
    Transfer.objects.filter(pk=transfer.pk).update(token="DAI")
    source = {"transfer": {"chain": transfer.chain, "tx_hash": transfer.tx_hash}}
    refused = shop.post("/refunds", {"source": source, "amount": "1", "currency": "USD"})
    assert (refused.status, refused.body["error"]["code"]) == (400, "currency_unsupported")
