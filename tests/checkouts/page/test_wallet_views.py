"""What a buyer's wallet may ask over HTTP, how often, and who is refused."""

from typing import Any

import pytest
from django.test import Client

from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.checkouts.factories import move
from tests.checkouts.page.buyers import ACCOUNT, ask, chosen, error_of
from tests.checkouts.shop import Shop
from wallets.lookup import draw_look_up
from wallets.models import ChainCursor
from wallets.networks import chains
from wallets.selectors import forget

pytestmark = pytest.mark.django_db


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
