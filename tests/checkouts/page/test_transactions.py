"""What a buyer's wallet is given to sign: the amount due, to the recorded wallet."""

import base64
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from solders.keypair import Keypair
from solders.transaction import Transaction

from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from localnet.solana.node import USDC, SolanaNode
from localnet.solana.programs import token_account
from localnet.tokens import balance_of
from localnet.tron import USDT, TronNode
from localnet.tron.addresses import to_base58, to_hex
from localnet.tron.transactions import fields_of
from tests.checkouts.factories import make_test_checkout, move
from tests.checkouts.page.buyers import (
    ACCOUNT,
    BUYER,
    ask,
    chosen,
    error_of,
    prepared_on_tron,
    sign,
    with_twice_the_amount,
)
from tests.checkouts.shop import Shop
from wallets.lookup import draw_look_up
from wallets.models import ChainCursor
from wallets.networks import chains
from wallets.selectors import forget

pytestmark = pytest.mark.django_db


def test_the_transaction_pays_the_recorded_wallet_the_exact_amount(client: Client, solana_shop: Shop) -> None:
    checkout = chosen(solana_shop)
    held = AmountReservation.objects.get()
    answer = ask(client, checkout, to=ACCOUNT, amount="1", recipient=ACCOUNT)
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    body = answer.json()
    assert set(body) == {"transaction"}
    message = Transaction.from_bytes(base64.b64decode(body["transaction"])).message
    transfer = message.instructions[-1]
    accounts = [message.account_keys[index] for index in transfer.accounts]
    mint = accounts[1]
    owner = Keypair.from_seed(b"a buyer with a wallet of his own").pubkey()
    assert str(mint) == USDC
    assert accounts[0] == token_account(owner, mint)
    assert accounts[2] == token_account(type(owner).from_string(solana_shop.address), mint)
    assert accounts[4] == type(owner)(bytes(held.reference))
    assert bytes(transfer.data)[1:9] == (25_000_000 + held.suffix).to_bytes(8, "little")
    assert message.account_keys[0] == owner


def test_a_merchant_without_a_token_account_gets_one_and_then_none(
    client: Client, solana_shop: Shop, solana_node: SolanaNode
) -> None:
    checkout = chosen(solana_shop)
    first = base64.b64decode(ask(client, checkout).json()["transaction"])
    assert len(Transaction.from_bytes(first).message.instructions) == 3
    solana_node.fund(solana_shop.address, 1)
    second = base64.b64decode(ask(client, checkout).json()["transaction"])
    assert len(Transaction.from_bytes(second).message.instructions) == 2


def test_without_an_exact_amount_there_is_nothing_to_sign(client: Client, solana_shop: Shop) -> None:
    answer = ask(client, solana_shop.checkout())
    assert error_of(answer, 409) == ("amount_not_reserved", None)
    assert AmountReservation.objects.count() == 0


@pytest.mark.parametrize("status", [CheckoutStatus.COMPLETED, CheckoutStatus.PROCESSING, CheckoutStatus.EXPIRED])
def test_a_checkout_that_takes_no_money_conflicts(status: CheckoutStatus, client: Client, solana_shop: Shop) -> None:
    checkout = move(chosen(solana_shop), status)
    assert error_of(ask(client, checkout), 409) == ("state_conflict", None)


def test_after_its_time_a_checkout_conflicts(client: Client, solana_shop: Shop) -> None:
    checkout = chosen(solana_shop)
    Checkout.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert error_of(ask(client, checkout), 409) == ("state_conflict", None)


def test_in_test_mode_there_is_nothing_to_sign(client: Client, solana_shop: Shop) -> None:
    checkout = make_test_checkout()
    assert error_of(ask(client, checkout), 409) == ("state_conflict", None)


@pytest.mark.parametrize("chain", ["base", "ton", "tron", "nowhere", "", 7, None])
def test_other_chains_are_refused(chain: Any, client: Client, solana_shop: Shop) -> None:
    answer = ask(client, chosen(solana_shop), chain=chain)
    assert error_of(answer, 400)[1] == "chain"


@pytest.mark.parametrize(
    "account",
    [
        "",
        "nonsense",
        ACCOUNT[:-1] + "0",
        ACCOUNT + ACCOUNT,
        str(token_account(BUYER.pubkey(), BUYER.pubkey())),
        "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        None,
        {"address": ACCOUNT},
    ],
)
def test_what_is_no_wallet_is_refused(account: Any, client: Client, solana_shop: Shop) -> None:
    answer = ask(client, chosen(solana_shop), account=account)
    assert error_of(answer, 400)[1] == "account"


def test_an_account_that_holds_less_is_told_so(client: Client, solana_shop: Shop) -> None:
    checkout = chosen(solana_shop)
    stranger = str(Keypair().pubkey())
    answer = ask(client, checkout, account=stranger)
    assert error_of(answer, 409) == ("funds_insufficient", None)
    Checkout.objects.filter(pk=checkout.pk).update(amount=Decimal("100.01"))
    AmountReservation.objects.update(price=Decimal("100.01"))
    assert error_of(ask(client, checkout), 409) == ("funds_insufficient", None)


# Tickets and signatures of transactions on Tron.


def test_a_transaction_is_good_for_five_minutes_and_not_past_the_checkout(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    soon = timezone.now() + timedelta(minutes=2)
    first = prepared_on_tron(client, checkout, tron_node)["transaction"]["raw_data"]
    Checkout.objects.update(expires_at=soon)
    second = prepared_on_tron(client, checkout, tron_node)["transaction"]["raw_data"]
    assert first["expiration"] - first["timestamp"] == 300_000
    assert second["expiration"] == int(soon.timestamp() * 1000)
    assert second["fee_limit"] == 100_000_000


@pytest.mark.parametrize("signature", ["", "00", "zz" * 65, "ab" * 66, None, ["ab"]])
def test_what_is_no_signature_is_refused(signature: Any, client: Client, tron_shop: Shop, tron_node: TronNode) -> None:
    checkout = chosen(tron_shop)
    ticket = prepared_on_tron(client, checkout, tron_node)["ticket"]
    answer = ask(client, checkout, action="signed", ticket=ticket, signature=signature)
    assert error_of(answer, 400)[1] == "signature"


def test_anothers_signature_is_refused_and_nothing_is_paid(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    ticket = prepared_on_tron(client, checkout, tron_node)["ticket"]
    answer = ask(client, checkout, action="signed", ticket=ticket, signature="11" * 64 + "00")
    assert error_of(answer, 400) == ("signature_invalid", "signature")
    merchant = to_hex(tron_shop.address)
    assert balance_of(tron_node.anvil, to_hex(USDT), merchant) == 0


def test_a_signature_of_another_amount_is_refused_and_nothing_is_paid(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    body = prepared_on_tron(client, checkout, tron_node)
    other = with_twice_the_amount(body["transaction"])
    assert other["txID"] != body["transaction"]["txID"]
    posted = {"action": "signed", "ticket": body["ticket"]}
    answer = ask(client, checkout, **posted, signature=sign(other, tron_node))
    assert error_of(answer, 400) == ("signature_invalid", "signature")
    assert balance_of(tron_node.anvil, to_hex(USDT), to_hex(tron_shop.address)) == 0
    # What was asked for is still good.
    answer = ask(client, checkout, **posted, signature=sign(body["transaction"], tron_node))
    assert answer.status_code == 200


def test_a_ticket_serves_its_own_checkout_alone_and_must_be_ours(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout, other = chosen(tron_shop), chosen(tron_shop)
    body = prepared_on_tron(client, checkout, tron_node)
    signature = sign(body["transaction"], tron_node)
    forged = body["ticket"][:-1] + ("A" if body["ticket"][-1] != "A" else "B")
    for target, ticket in ((other, body["ticket"]), (checkout, forged)):
        answer = ask(client, target, action="signed", ticket=ticket, signature=signature)
        assert error_of(answer, 400)[1] == "ticket"
    merchant = to_hex(tron_shop.address)
    assert balance_of(tron_node.anvil, to_hex(USDT), merchant) == 0


def test_nothing_is_sent_once_the_checkout_is_paid_or_something_else_is_due(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    body = prepared_on_tron(client, checkout, tron_node)
    signature = sign(body["transaction"], tron_node)
    posted = {"action": "signed", "ticket": body["ticket"], "signature": signature}
    AmountReservation.objects.update(suffix=AmountReservation.objects.get().suffix + 1)
    assert error_of(ask(client, checkout, **posted), 409)[0] == "state_conflict"
    move(checkout, CheckoutStatus.PROCESSING)
    assert error_of(ask(client, checkout, **posted), 409)[0] == "state_conflict"
    merchant = to_hex(tron_shop.address)
    assert balance_of(tron_node.anvil, to_hex(USDT), merchant) == 0


def test_the_bytes_that_tron_signs_are_of_the_call_that_is_shown(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    body = prepared_on_tron(client, chosen(tron_shop), tron_node)
    raw = fields_of(bytes.fromhex(body["transaction"]["raw_data_hex"]))
    value = fields_of(fields_of(fields_of(raw[11])[2])[2])
    assert value[2][1:] == bytes.fromhex(to_hex(USDT)[2:])
    assert value[4][16:36] == bytes.fromhex(to_hex(tron_shop.address)[2:])


# What a buyer's wallet may ask over HTTP, how often, and who is refused.


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_other_sites_are_refused(site: str, client: Client, solana_shop: Shop) -> None:
    answer = ask(client, chosen(solana_shop), headers={"Sec-Fetch-Site": site})
    assert answer.status_code == 403


def test_what_a_form_of_another_site_could_send_is_refused(client: Client, solana_shop: Shop) -> None:
    path = f"/c/{chosen(solana_shop).code}/transaction"
    form = client.post(path, {"chain": "solana", "account": ACCOUNT})
    plain = client.post(path, '{"chain": "solana"}', content_type="text/plain")
    assert (form.status_code, plain.status_code) == (415, 415)


@pytest.mark.parametrize("body", ["[]", "{", "7", '"x"', "{" * 1000])
def test_what_is_no_json_object_is_refused(body: str, client: Client, solana_shop: Shop) -> None:
    path = f"/c/{chosen(solana_shop).code}/transaction"
    answer = client.post(path, body, content_type="application/json")
    assert error_of(answer, 400)[0] == "json_invalid"


@pytest.mark.parametrize("text", ["\\ud800", "a:b:\\ud800", "\\u0000"])
@pytest.mark.parametrize(
    ("action", "param"), [("transaction", "chain"), ("transaction", "account"), ("signed", "ticket")]
)
def test_a_text_that_has_no_bytes_is_refused_by_name(
    action: str, param: str, text: str, client: Client, solana_shop: Shop
) -> None:
    fields = {"chain": "solana", "account": ACCOUNT, "signature": "00" * 65}
    told = ", ".join(f'"{name}": "{value}"' for name, value in fields.items())
    answer = client.post(
        f"/c/{chosen(solana_shop).code}/{action}", f'{{{told}, "{param}": "{text}"}}', content_type="application/json"
    )
    assert error_of(answer, 400)[1] == param


def test_a_large_body_is_refused(client: Client, solana_shop: Shop) -> None:
    answer = ask(client, chosen(solana_shop), account="1" * 5000)
    assert error_of(answer, 413)[0] == "body_too_large"


def test_an_unknown_code_is_told_in_json(client: Client, solana_shop: Shop) -> None:
    answer = ask(client, Checkout(code="nnnnnn"))
    assert error_of(answer, 404) == ("resource_missing", None)


def test_reading_is_no_way_to_get_a_transaction(client: Client, solana_shop: Shop) -> None:
    assert client.get(f"/c/{chosen(solana_shop).code}/transaction").status_code == 405


@pytest.mark.usefixtures("still_window")
def test_one_client_may_ask_ten_times_a_minute_for_one_checkout(client: Client, solana_shop: Shop) -> None:
    first, second = chosen(solana_shop), chosen(solana_shop)
    answers = [ask(client, first, account="") for _ in range(11)]
    assert [a.status_code for a in answers] == [400] * 10 + [429]
    assert answers[-1]["Retry-After"] == "30"
    assert ask(client, second, account="").status_code == 400


@pytest.mark.usefixtures("still_window")
def test_one_client_may_ask_thirty_times_a_minute_in_all(client: Client, solana_shop: Shop) -> None:
    checkouts = [chosen(solana_shop) for _ in range(4)]
    statuses = [ask(client, checkout, account="").status_code for checkout in checkouts for _ in range(8)]
    assert statuses == [400] * 30 + [429] * 2


@pytest.mark.usefixtures("still_window")
def test_all_buyers_together_draw_from_the_chains_look_ups(solana_shop: Shop, settings: Any) -> None:
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"SOLANA_REQUESTS_PER_MINUTE": "30"}
    checkout = chosen(solana_shop)
    answers = [ask(Client(REMOTE_ADDR=f"192.0.2.{number}"), checkout) for number in range(7)]
    assert [answer.status_code for answer in answers] == [200] * 6 + [429]
    assert int(answers[-1]["Retry-After"]) <= 60
    solana = chains()["solana"]
    assert draw_look_up(solana).exceeded


def test_a_chain_that_is_down_answers_503(client: Client, solana_shop: Shop) -> None:
    checkout = chosen(solana_shop)
    ChainCursor.objects.update(halted_reason="two nodes disagree")
    forget()
    assert error_of(ask(client, checkout), 503) == ("chain_unavailable", None)


def test_nodes_that_do_not_answer_are_told_without_their_names(
    client: Client, solana_shop: Shop, settings: Any
) -> None:
    checkout = chosen(solana_shop)
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": "http://127.0.0.1:9/secret-key"}
    answer = ask(client, checkout)
    assert error_of(answer, 503) == ("chain_unavailable", None)
    assert b"127.0.0.1" not in answer.content
    assert b"secret" not in answer.content


def test_the_words_for_wallets_are_apart_from_the_page(client: Client, solana_shop: Shop) -> None:
    checkout = chosen(solana_shop)
    page = client.get(f"/c/{checkout.code}").content.decode()
    assert 'data-family="solana"' in page
    assert "Confirm in your wallet" not in page
    part = client.get(f"/c/{checkout.code}/wallets").content.decode()
    assert 'data-chain-id="solana:localnet"' in part
    assert f'data-to="{solana_shop.address}"' in part
    assert "Confirm in your wallet" in part


def test_where_wallets_cannot_pay_the_part_is_empty(client: Client, solana_shop: Shop) -> None:
    for checkout in (solana_shop.checkout(), move(chosen(solana_shop), CheckoutStatus.EXPIRED)):
        answer = client.get(f"/c/{checkout.code}/wallets")
        assert (answer.status_code, answer.content.strip()) == (200, b"")
    assert client.get("/c/nnnnnn/wallets").status_code == 404


# Transactions of TronLink over HTTP: signed, sent, and refused.


def test_what_was_signed_is_sent_and_pays_once_however_often_it_is_posted(
    client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    held = AmountReservation.objects.get()
    body = prepared_on_tron(client, checkout, tron_node)
    signature = sign(body["transaction"], tron_node)
    for _ in range(2):
        answer = ask(client, checkout, action="signed", ticket=body["ticket"], signature=signature)
        assert answer.status_code == 200
    merchant = to_hex(tron_shop.address)
    got = balance_of(tron_node.anvil, to_hex(USDT), merchant)
    assert got == 25_000_000 + held.suffix


def test_an_account_on_tron_that_holds_less_is_told_so(client: Client, tron_shop: Shop, tron_node: TronNode) -> None:
    poor = to_base58(tron_node.anvil.accounts[7].address)
    answer = ask(client, chosen(tron_shop), chain="tron", account=poor)
    assert error_of(answer, 409) == ("funds_insufficient", None)


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("BANDWITH_ERROR", 409, "transaction_refused"),
        # The account gave its permission to another key than its own, which signed.
        ("SIGERROR", 409, "transaction_refused"),
        ("SERVER_BUSY", 503, "chain_unavailable"),
        ("DUP_TRANSACTION_ERROR", 200, ""),
    ],
)
def test_what_tron_says_to_a_transaction_is_passed_on(
    code: str, status: int, told: str, client: Client, tron_shop: Shop, tron_node: TronNode
) -> None:
    checkout = chosen(tron_shop)
    body = prepared_on_tron(client, checkout, tron_node)
    tron_node.rules.broadcast_code = code
    answer = ask(
        client, checkout, action="signed", ticket=body["ticket"], signature=sign(body["transaction"], tron_node)
    )
    assert answer.status_code == status
    assert not told or error_of(answer, status)[0] == told
