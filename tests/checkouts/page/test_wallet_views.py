"""What a buyer's wallet is given to sign over HTTP, and who is refused."""

import base64
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from solders.keypair import Keypair
from solders.transaction import Transaction

from checkouts.exact.reservations import choose_exact_amount
from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from demo.localnet.solana.node import (
    USDC,
    SolanaNode,
)
from demo.localnet.solana.programs import token_account
from tests.checkouts.factories import make_test_checkout, move
from tests.checkouts.shop import Shop, count_anew
from wallets.lookup import draw_look_up
from wallets.models import ChainCursor
from wallets.networks import chains
from wallets.selectors import forget

pytestmark = pytest.mark.django_db

BUYER = Keypair.from_seed(b"a buyer with a wallet of his own")
ACCOUNT = str(BUYER.pubkey())


@pytest.fixture
def shop(solana_node: SolanaNode, settings: Any) -> Iterator[Shop]:
    count_anew(settings)
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    solana_node.airdrop(ACCOUNT)
    solana_node.fund(ACCOUNT, 100_000_000)
    opened = Shop("solana", str(Keypair().pubkey()))
    yield opened
    opened.watcher.close()


def chosen(shop: Shop) -> Checkout:
    """A checkout of the shop with its exact amount."""
    checkout = shop.checkout()
    choose_exact_amount(checkout.pk, now=timezone.now())
    return checkout


def ask(
    client: Client,
    checkout: Checkout,
    *,
    action: str = "transaction",
    headers: dict[str, str] | None = None,
    **body: Any,
) -> Any:
    question = {"chain": "solana", "account": ACCOUNT} | body
    return client.post(
        f"/c/{checkout.code}/{action}",
        question,
        content_type="application/json",
        headers=headers or {},
    )


def error_of(answer: Any, status: int) -> tuple[str, str | None]:
    """The code and the parameter of an error with this status."""
    assert answer.status_code == status, answer.content
    error = answer.json()["error"]
    return error["code"], error["param"]


def test_the_transaction_pays_the_recorded_wallet_the_exact_amount(
    client: Client, shop: Shop
) -> None:
    checkout = chosen(shop)
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
    assert accounts[2] == token_account(type(owner).from_string(shop.address), mint)
    assert accounts[4] == type(owner)(bytes(held.reference))
    assert bytes(transfer.data)[1:9] == (25_000_000 + held.suffix).to_bytes(8, "little")
    assert message.account_keys[0] == owner


def test_a_merchant_without_a_token_account_gets_one_and_then_none(
    client: Client, shop: Shop, solana_node: SolanaNode
) -> None:
    checkout = chosen(shop)
    first = base64.b64decode(ask(client, checkout).json()["transaction"])
    assert len(Transaction.from_bytes(first).message.instructions) == 3
    solana_node.fund(shop.address, 1)
    second = base64.b64decode(ask(client, checkout).json()["transaction"])
    assert len(Transaction.from_bytes(second).message.instructions) == 2


def test_without_an_exact_amount_there_is_nothing_to_sign(
    client: Client, shop: Shop
) -> None:
    answer = ask(client, shop.checkout())
    assert error_of(answer, 409) == ("amount_not_reserved", None)
    assert AmountReservation.objects.count() == 0


@pytest.mark.parametrize(
    "status",
    [CheckoutStatus.COMPLETED, CheckoutStatus.PROCESSING, CheckoutStatus.EXPIRED],
)
def test_a_checkout_that_takes_no_money_conflicts(
    status: CheckoutStatus, client: Client, shop: Shop
) -> None:
    checkout = move(chosen(shop), status)
    assert error_of(ask(client, checkout), 409) == ("state_conflict", None)


def test_after_its_time_a_checkout_conflicts(client: Client, shop: Shop) -> None:
    checkout = chosen(shop)
    Checkout.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert error_of(ask(client, checkout), 409) == ("state_conflict", None)


def test_in_test_mode_there_is_nothing_to_sign(client: Client, shop: Shop) -> None:
    checkout = make_test_checkout()
    assert error_of(ask(client, checkout), 409) == ("state_conflict", None)


@pytest.mark.parametrize("chain", ["base", "ton", "tron", "nowhere", "", 7, None])
def test_other_chains_are_refused(chain: Any, client: Client, shop: Shop) -> None:
    answer = ask(client, chosen(shop), chain=chain)
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
def test_what_is_no_wallet_is_refused(account: Any, client: Client, shop: Shop) -> None:
    answer = ask(client, chosen(shop), account=account)
    assert error_of(answer, 400)[1] == "account"


def test_an_account_that_holds_less_is_told_so(client: Client, shop: Shop) -> None:
    checkout = chosen(shop)
    stranger = str(Keypair().pubkey())
    answer = ask(client, checkout, account=stranger)
    assert error_of(answer, 409) == ("funds_insufficient", None)
    Checkout.objects.filter(pk=checkout.pk).update(amount=Decimal("100.01"))
    AmountReservation.objects.update(price=Decimal("100.01"))
    assert error_of(ask(client, checkout), 409) == ("funds_insufficient", None)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_other_sites_are_refused(site: str, client: Client, shop: Shop) -> None:
    answer = ask(client, chosen(shop), headers={"Sec-Fetch-Site": site})
    assert answer.status_code == 403


def test_what_a_form_of_another_site_could_send_is_refused(
    client: Client, shop: Shop
) -> None:
    path = f"/c/{chosen(shop).code}/transaction"
    form = client.post(path, {"chain": "solana", "account": ACCOUNT})
    plain = client.post(path, '{"chain": "solana"}', content_type="text/plain")
    assert (form.status_code, plain.status_code) == (415, 415)


@pytest.mark.parametrize("body", ["[]", "{", "7", '"x"', "{" * 1000])
def test_what_is_no_json_object_is_refused(
    body: str, client: Client, shop: Shop
) -> None:
    path = f"/c/{chosen(shop).code}/transaction"
    answer = client.post(path, body, content_type="application/json")
    assert error_of(answer, 400)[0] == "json_invalid"


@pytest.mark.parametrize("text", ["\\ud800", "a:b:\\ud800", "\\u0000"])
@pytest.mark.parametrize(
    ("action", "param"),
    [("transaction", "chain"), ("transaction", "account"), ("signed", "ticket")],
)
def test_a_text_that_has_no_bytes_is_refused_by_name(
    action: str, param: str, text: str, client: Client, shop: Shop
) -> None:
    fields = {"chain": "solana", "account": ACCOUNT, "signature": "00" * 65}
    told = ", ".join(f'"{name}": "{value}"' for name, value in fields.items())
    answer = client.post(
        f"/c/{chosen(shop).code}/{action}",
        f'{{{told}, "{param}": "{text}"}}',
        content_type="application/json",
    )
    assert error_of(answer, 400)[1] == param


def test_a_large_body_is_refused(client: Client, shop: Shop) -> None:
    answer = ask(client, chosen(shop), account="1" * 5000)
    assert error_of(answer, 413)[0] == "body_too_large"


def test_an_unknown_code_is_told_in_json(client: Client, shop: Shop) -> None:
    answer = ask(client, Checkout(code="nnnnnn"))
    assert error_of(answer, 404) == ("resource_missing", None)


def test_reading_is_no_way_to_get_a_transaction(client: Client, shop: Shop) -> None:
    assert client.get(f"/c/{chosen(shop).code}/transaction").status_code == 405


@pytest.fixture
def still_window(time_machine: Any) -> None:
    """Hold the clock, so that no test straddles two windows of a minute."""
    time_machine.move_to(timezone.now().replace(second=30), tick=False)


@pytest.mark.usefixtures("still_window")
def test_one_client_may_ask_ten_times_a_minute_for_one_checkout(
    client: Client, shop: Shop
) -> None:
    first, second = chosen(shop), chosen(shop)
    answers = [ask(client, first, account="") for _ in range(11)]
    assert [a.status_code for a in answers] == [400] * 10 + [429]
    assert answers[-1]["Retry-After"] == "30"
    assert ask(client, second, account="").status_code == 400


@pytest.mark.usefixtures("still_window")
def test_one_client_may_ask_thirty_times_a_minute_in_all(
    client: Client, shop: Shop
) -> None:
    checkouts = [chosen(shop) for _ in range(4)]
    statuses = [
        ask(client, checkout, account="").status_code
        for checkout in checkouts
        for _ in range(8)
    ]
    assert statuses == [400] * 30 + [429] * 2


@pytest.mark.usefixtures("still_window")
def test_all_buyers_together_draw_from_the_chains_look_ups(
    shop: Shop, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {
        "SOLANA_REQUESTS_PER_MINUTE": "30"
    }
    checkout = chosen(shop)
    answers = [
        ask(Client(REMOTE_ADDR=f"192.0.2.{number}"), checkout) for number in range(7)
    ]
    assert [answer.status_code for answer in answers] == [200] * 6 + [429]
    assert int(answers[-1]["Retry-After"]) <= 60
    solana = chains()["solana"]
    assert draw_look_up(solana).exceeded


def test_a_chain_that_is_down_answers_503(client: Client, shop: Shop) -> None:
    checkout = chosen(shop)
    ChainCursor.objects.update(halted_reason="two nodes disagree")
    forget()
    assert error_of(ask(client, checkout), 503) == ("chain_unavailable", None)


def test_nodes_that_do_not_answer_are_told_without_their_names(
    client: Client, shop: Shop, settings: Any
) -> None:
    checkout = chosen(shop)
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": "http://127.0.0.1:9/secret-key"}
    answer = ask(client, checkout)
    assert error_of(answer, 503) == ("chain_unavailable", None)
    assert b"127.0.0.1" not in answer.content
    assert b"secret" not in answer.content


def test_the_words_for_wallets_are_apart_from_the_page(
    client: Client, shop: Shop
) -> None:
    checkout = chosen(shop)
    page = client.get(f"/c/{checkout.code}").content.decode()
    assert 'data-family="solana"' in page
    assert "Confirm in your wallet" not in page
    part = client.get(f"/c/{checkout.code}/wallets").content.decode()
    assert 'data-chain-id="solana:localnet"' in part
    assert f'data-to="{shop.address}"' in part
    assert "Confirm in your wallet" in part


def test_where_wallets_cannot_pay_the_part_is_empty(client: Client, shop: Shop) -> None:
    for checkout in (shop.checkout(), move(chosen(shop), CheckoutStatus.EXPIRED)):
        answer = client.get(f"/c/{checkout.code}/wallets")
        assert (answer.status_code, answer.content.strip()) == (200, b"")
    assert client.get("/c/nnnnnn/wallets").status_code == 404
