"""The page on which a paying wallet signs payouts, and what it gives the server."""

from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.utils import timezone
from eth_account import Account

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.smart_wallet import deploy_wallet
from payouts.batches.authorizations import authorization_of
from payouts.batches.relays import send_signed
from payouts.models import Payout, PayoutBatch, PayoutRequest, PayoutSource
from payouts.states import Method, PayoutStatus, Trouble
from tests.dashboard.people import Desk, make_desk
from tests.factories import WALLET, make_live_chain
from tests.payouts.factories import OTHER_BUYER, approved, make_paid, make_payout, outflow_for
from wallets.chains.evm.authorizations import contracts
from wallets.models import Transfer
from wallets.states import TransferState

if TYPE_CHECKING:
    from localnet.ton.node import TonNode
    from localnet.tron import TronNode

pytestmark = pytest.mark.django_db

TRON_WALLET = "TBsWdmFEvuBLPsXyweB3mwF2yJ6Fvbp4C6"


@pytest.fixture
def two(owner: Desk, usdc: str) -> list[Payout]:
    """Two approved payouts, of 5 and 7 USDC, on a chain whose USDC takes signatures."""
    del usdc
    made = [make_payout(owner.merchant), make_payout(owner.merchant, 7_000_000, address=OTHER_BUYER)]
    return [approved(payout, owner.user) for payout in made]


def pay(desk: Desk, payouts: list[Payout], **sent: str) -> Any:
    return desk.post("dashboard_pay_payouts", {"payout": [payout.public_id for payout in payouts], **sent})


def hand_out(desk: Desk, payouts: list[Payout]) -> PayoutBatch:
    pay(desk, payouts, wallet=WALLET, method=Method.AUTHORIZATION)
    return PayoutBatch.objects.get()


def signature_of(node: Anvil, payout: Payout) -> str:
    typed = authorization_of(PayoutRequest.objects.get(payout=payout)).typed()
    return "0x" + bytes(Account.sign_typed_data(node.accounts[1].key, full_message=typed).signature).hex()


def give(desk: Desk, batch: PayoutBatch, payout: Payout, signature: str) -> Any:
    sent = {"payout": payout.public_id, "signature": signature}
    return desk.post("dashboard_sign_payout", sent, batch_id=batch.public_id)


def test_it_is_the_first_choice_where_the_token_takes_it(owner: Desk, two: list[Payout], settings: Any) -> None:
    page = pay(owner, two)
    assert next(method for method, _, _ in page.context["methods"]) == Method.AUTHORIZATION
    assert page.context["form"].initial["method"] == Method.AUTHORIZATION
    settings.GAS_KEYS = []
    assert "Sign, and we send" not in pay(owner, two).text
    assert pay(owner, two, wallet=WALLET, method=Method.AUTHORIZATION).status_code == 422
    assert not PayoutBatch.objects.exists()


def test_where_no_node_answers_it_is_not_offered(owner: Desk, two: list[Payout], settings: Any) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "http://127.0.0.1:9"}
    page = pay(owner, two)
    assert page.status_code == 200
    assert Method.AUTHORIZATION not in [method for method, _, _ in page.context["methods"]]


def test_each_signature_is_taken_as_it_comes_and_the_rest_is_still_asked_for(
    owner: Desk, two: list[Payout], base_node: Anvil
) -> None:
    batch = hand_out(owner, two)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert {one["payout"] for one in page.context["authorizations"]} == {payout.public_id for payout in two}
    assert "js/payouts.js" in page.text
    assert "0 signed, 2 to sign" in page.text
    assert give(owner, batch, two[0], signature_of(base_node, two[0])).status_code == 204
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert [one["payout"] for one in page.context["authorizations"]] == [two[1].public_id]
    assert "1 signed, 1 to sign" in page.text


def test_what_is_no_signature_is_refused(owner: Desk, two: list[Payout], base_node: Anvil) -> None:
    batch = hand_out(owner, two)
    good = signature_of(base_node, two[0])
    assert give(owner, batch, two[1], good).status_code == 400
    assert give(owner, batch, two[0], "0x" + "11" * 65).status_code == 400
    assert give(owner, batch, make_payout(owner.merchant), good).status_code == 409
    assert owner.post("dashboard_sign_payout", {"payout": "\x00"}, batch_id=batch.public_id).status_code == 404
    owner.post("dashboard_cancel_payout_batch", batch_id=batch.public_id)
    assert give(owner, batch, two[0], good).status_code == 404
    assert not PayoutRequest.objects.exclude(signature=None).exists()


def test_a_contract_wallet_is_asked_about_its_signature_before_anything_is_locked(
    owner: Desk, two: list[Payout], base_node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay(owner, two, wallet=deploy_wallet(base_node, payer(base_node)), method=Method.AUTHORIZATION)
    batch = PayoutBatch.objects.get()
    # The test itself is in a transaction.
    asked: list[int] = []
    code_of, depth = contracts.code_of, len(connection.savepoint_ids)

    def noted(*given: Any) -> bytes:
        asked.append(len(connection.savepoint_ids) - depth)
        return code_of(*given)

    monkeypatch.setattr(contracts, "code_of", noted)
    good = signature_of(base_node, two[0])
    assert give(owner, batch, two[0], good).status_code == 400
    assert give(owner, batch, two[0], good + "00").status_code == 204
    assert asked == [0, 0]
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert "1 signed, 1 to sign" in page.text


def test_viewers_and_strangers_give_no_signature(
    owner: Desk, viewer: Desk, two: list[Payout], base_node: Anvil
) -> None:
    batch, good = hand_out(owner, two), signature_of(base_node, two[0])
    assert give(viewer, batch, two[0], good).status_code == 403
    assert give(make_desk(), batch, two[0], good).status_code == 404
    assert not PayoutRequest.objects.exclude(signature=None).exists()


def test_no_list_is_handed_out_beside_it(owner: Desk, two: list[Payout]) -> None:
    """Its payouts are free again when the signatures end, and a list has no end."""
    batch = hand_out(owner, two)
    for name in ("csv", "safe", "codes"):
        assert owner.get(f"dashboard_payout_batch_{name}", batch_id=batch.public_id).status_code == 404
    text = owner.get("dashboard_payout_batch", batch_id=batch.public_id).text
    assert "CSV list" not in text
    assert "after that it cannot" in text


def test_without_coin_for_gas_the_page_says_so_and_offers_ones_own_gas(
    owner: Desk, two: list[Payout], base_node: Anvil, settings: Any
) -> None:
    batch = hand_out(owner, two)
    settings.GAS_KEYS = ["0x" + "5b" * 32]
    for payout in two:
        give(owner, batch, payout, signature_of(base_node, payout))
    send_signed(now=timezone.now())
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert "Our gas account cannot pay for 2 of them now." in page.text
    assert "js/calls.js" in page.text
    calls = page.context["calls"]
    assert {call["id"] for call in calls} == {f"{batch.public_id}/{payout.public_id}" for payout in two}
    # Any wallet may send it; the token takes it once.
    sender = base_node.accounts[6]
    sent = [
        base_node.receipt(
            base_node.send(sender, to=calls[0]["to"], data=bytes.fromhex(calls[0]["data"][2:]), gas=300_000)
        )["status"]
        for _ in range(2)
    ]
    assert sent == ["0x1", "0x0"]


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (Trouble.FUNDS, "The paying wallet holds too little for 1 of them."),
        (Trouble.USED, "1 of them were sent or taken back already"),
        (Trouble.REFUSED, "The token refuses 1 of them"),
    ],
)
def test_the_page_says_why_something_waits(trouble: Trouble, words: str, owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two)
    PayoutRequest.objects.filter(payout=two[0]).update(signature=b"\x01" * 65, trouble=trouble)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert words in page.text
    assert "calls" not in page.context


def test_what_was_seen_is_not_asked_for(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two)
    Payout.objects.filter(pk=two[0].pk).update(movement=outflow_for(two[0]))
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert [one["payout"] for one in page.context["authorizations"]] == [two[1].public_id]


def test_a_cancelled_one_says_until_when_it_can_be_paid(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two)
    owner.post("dashboard_cancel_payout_batch", batch_id=batch.public_id)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert "Until then, what was signed can still be sent." in page.text
    assert "js/payouts.js" not in page.text
    assert set(Payout.objects.values_list("status", flat=True)) == {PayoutStatus.SENDING}


@pytest.mark.parametrize(("state", "halted"), [(TransferState.ORPHANED, ""), (TransferState.CONFIRMED, "a deep fork")])
def test_a_refund_whose_payment_is_gone_or_in_doubt_is_neither_signed_nor_sent_with_ones_own_gas(
    owner: Desk, two: list[Payout], base_node: Anvil, state: TransferState, halted: str
) -> None:
    batch = hand_out(owner, two)
    make_paid(owner.merchant)
    PayoutSource.objects.create(payout=two[0], transfer=Transfer.objects.get(), units=1)
    Transfer.objects.update(state=state)
    make_live_chain("base", halted_reason=halted, doubted_above=0)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert [one["payout"] for one in page.context["authorizations"]] == [two[1].public_id]
    assert give(owner, batch, two[0], signature_of(base_node, two[0])).status_code == 409
    PayoutRequest.objects.update(signature=b"\x01" * 65, trouble=Trouble.GAS)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert [call["id"] for call in page.context["calls"]] == [f"{batch.public_id}/{two[1].public_id}"]


@pytest.fixture
def on_tron(owner: Desk, tron_node: "TronNode", settings: Any) -> list[Payout]:
    """Two approved payouts of USDT on Tron."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"TRON_RPC_URLS": tron_node.url, "TRON_GRID_URLS": tron_node.grid_url}
    make_live_chain("tron")
    sent: dict[str, Any] = {"chain": "tron", "token": "USDT", "address": TRON_WALLET}
    return [approved(make_payout(owner.merchant, 5_000_000 + n, **sent), owner.user) for n in range(2)]


def hand_out_on_tron(desk: Desk, payouts: list[Payout], node: "TronNode") -> PayoutBatch:
    pay(desk, payouts, wallet=node.payer_address, method=Method.TRANSACTION)
    return PayoutBatch.objects.get()


def ask(desk: Desk, batch: PayoutBatch, *payouts: Payout) -> Any:
    sent = {"payout": [payout.public_id for payout in payouts]}
    return desk.post("dashboard_hand_out_transaction", sent, batch_id=batch.public_id)


def test_where_we_write_transactions_each_is_handed_out_for_its_payout(
    owner: Desk, on_tron: list[Payout], tron_node: "TronNode"
) -> None:
    assert [method for method, _, _ in pay(owner, on_tron).context["methods"]] == [Method.TRANSACTION, Method.LIST]
    batch = hand_out_on_tron(owner, on_tron, tron_node)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert {one["payout"] for one in page.context["transactions"]} == {payout.public_id for payout in on_tron}
    assert "js/payouts.js" in page.text
    assert "CSV list" not in page.text
    written = ask(owner, batch, on_tron[0]).json()["transaction"]
    assert written["txID"] == PayoutRequest.objects.get(payout=on_tron[0]).tx_hash
    assert give(owner, batch, on_tron[0], "11" * 65).status_code == 400
    # Signed, it is not asked for again until its end.
    PayoutRequest.objects.filter(payout=on_tron[0]).update(signature=b"\x01" * 65)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert [one["payout"] for one in page.context["transactions"]] == [on_tron[1].public_id]
    assert "1 signed or handed out in the last minutes" in page.text


def test_on_ton_one_request_is_handed_out_for_several_payouts(owner: Desk, ton_node: "TonNode", settings: Any) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"TON_RPC_URLS": ton_node.url, "TON_TOKEN_USDT": ton_node.usdt}
    make_live_chain("ton")
    sent: dict[str, Any] = {"chain": "ton", "token": "USDT", "address": ton_node.create_wallet().address}
    made = [approved(make_payout(owner.merchant, 5_000_000 + n, **sent), owner.user) for n in range(2)]
    pay(owner, made, wallet=ton_node.payer.address, method=Method.TRANSACTION)
    batch = PayoutBatch.objects.get()
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert 'data-most="254"' in page.text
    assert "one signature for several payments" in page.text
    handed = ask(owner, batch, *made).json()
    assert handed["payouts"] == [payout.public_id for payout in made]
    assert len(handed["transaction"]["messages"]) == 2
    assert ask(owner, batch, made[0]).status_code == 409


def test_a_refund_in_doubt_does_not_keep_the_others_of_its_batch_waiting(
    owner: Desk, on_tron: list[Payout], tron_node: "TronNode"
) -> None:
    batch = hand_out_on_tron(owner, on_tron, tron_node)
    make_paid(owner.merchant)
    PayoutSource.objects.create(payout=on_tron[0], transfer=Transfer.objects.get(), units=1)
    both, other = sorted(payout.public_id for payout in on_tron), [on_tron[1].public_id]
    for reason, waiting in (("a deep fork", other), ("", both)):
        make_live_chain("base", halted_reason=reason, doubted_above=0)
        page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
        assert [one["payout"] for one in page.context["transactions"]] == waiting


def test_a_transaction_is_handed_out_to_those_who_may_pay_alone(
    owner: Desk, viewer: Desk, on_tron: list[Payout], tron_node: "TronNode"
) -> None:
    batch = hand_out_on_tron(owner, on_tron, tron_node)
    assert ask(viewer, batch, on_tron[0]).status_code == 403
    assert ask(make_desk(), batch, on_tron[0]).status_code == 404
    assert ask(owner, batch, make_payout(owner.merchant)).status_code == 409
    assert ask(owner, batch, *on_tron).status_code == 400
    zero = owner.post("dashboard_hand_out_transaction", {"payout": ["a", "\x00"]}, batch_id=batch.public_id)
    assert zero.status_code == 404
    owner.post("dashboard_cancel_payout_batch", batch_id=batch.public_id)
    assert ask(owner, batch, on_tron[0]).status_code == 404
    assert not PayoutRequest.objects.exclude(valid_until=None).exists()
