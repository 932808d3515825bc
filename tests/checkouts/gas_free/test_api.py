"""Payments without a fee on a merchant's own page: what the API says of them, and a live payment by it on both kinds of chains."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from solders.keypair import Keypair

from accounts.merchants.service import IS_GAS_FREE, turn
from accounts.states import Mode
from checkouts.gas_free import co_signed, rules
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from demo.management.commands.demo import DEVELOPMENT
from gateway.pages.metrics import measure
from localnet.anvil import Anvil
from localnet.solana.node import SolanaNode
from localnet.tokens import balance_of
from settlements.gas.fees import LAMPORTS
from settlements.gas.node import gas_node
from settlements.gas.solana_relay import tend_sponsored
from settlements.gas.upkeep import tend
from settlements.models import GasTransaction, SponsoredTransaction
from settlements.states import Outcome
from tests.checkouts.gas_free.co_signers import new_buyer, pay_fees, signature_of
from tests.checkouts.gas_free.payers import PRICE, Payer, new_payer
from tests.checkouts.page.buyers import ask
from tests.checkouts.shop import Shop
from tests.contract.authorizing import PAYER, authorize, free_on_base
from tests.contract.client import ApiClient, client_of
from tests.wallets.chains.examples import EVM
from tests.wallets.chains.requests import request_on
from wallets.chains.registry import load_chains, open_pool
from wallets.chains.solana.unsigned_payment import SPONSORED_FEE
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db


def free_in(options: list[dict[str, Any]]) -> set[str]:
    """The chains of which a checkout's options say that a payment may be free. Elsewhere the field is absent."""
    assert all(option.get("gasFree", True) is True for option in options)
    return {option["chain"] for option in options if "gasFree" in option}


def authorization(checkout: dict[str, Any]) -> str:
    return f"/checkouts/{checkout['id']}/authorization"


@pytest.fixture
def api(free_shop: Shop) -> ApiClient:
    """A live key of a shop on Base whose buyers' network fees the operator pays."""
    return client_of(free_shop.merchant, Mode.LIVE)


def test_an_option_says_where_a_payment_may_be_free(api: ApiClient, free_shop: Shop, settings: Any) -> None:
    made = api.created()
    chosen = api.post(f"/checkouts/{made['id']}/options", {"chain": "base", "token": "USDC"})
    assert free_in(made["available_chains"]) == {"base"}
    assert chosen.body["gasFree"] is True
    assert free_in(api.created(amount="1.99")["available_chains"]) == set()
    settings.GAS_FREE = []
    assert free_in(api.created()["available_chains"]) == set()
    settings.GAS_FREE = ["base"]
    turn(free_shop.merchant, IS_GAS_FREE, to=False, now=timezone.now())
    assert rules._allows.cache is not None
    rules._allows.cache.clear()
    assert free_in(api.created()["available_chains"]) == set()


def test_a_live_payment_by_the_api_is_sent_and_completes_the_checkout(
    api: ApiClient, free_shop: Shop, base_node: Anvil, usdc: str
) -> None:
    made, payer = api.created(), new_payer(base_node, usdc)
    offered = api.post(authorization(made), {"chain": "base", "account": payer.address})
    assert offered.status == 200, offered.body
    assert set(offered.body) == {"typed_data", "ticket"}
    signed = {"ticket": offered.body["ticket"], "signature": payer.signature(offered.body["typed_data"])}
    answers = [api.post(authorization(made), signed).body for _ in range(2)]
    assert answers == [{"tx_hash": GasTransaction.objects.get().attempts.get().tx_hash}] * 2
    checkout = Checkout.objects.get(public_id=made["id"])
    assert balance_of(base_node, usdc, checkout.offers["base"]["address"]) == PRICE
    base_node.mine(chain_spec("base").confirmations)
    free_shop.watch()
    assert api.get(f"/checkouts/{made['id']}").body["status"] == CheckoutStatus.COMPLETED


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "parameter_missing", "chain"),
        ({"chain": "base", "account": None}, "parameter_missing", "account"),
        ({"chain": "base", "account": 7}, "parameter_invalid", "account"),
        ({"chain": "base", "account": PAYER.address[:-1]}, "address_invalid", "account"),
        ({"ticket": "free.x"}, "parameter_missing", "signature"),
        ({"signature": "0x" + "00" * 65}, "parameter_missing", "ticket"),
        ({"signature": "0x", "ticket": "free.x"}, "parameter_invalid", "signature"),
    ],
)
def test_what_is_absent_is_missing_and_other_text_is_no_address(
    tester: ApiClient, body: dict[str, Any], code: str, param: str
) -> None:
    with free_on_base:
        assert authorize(tester, body).refusal == (400, code, param)


@pytest.fixture
def on_solana(solana_shop: Shop, solana_node: SolanaNode, settings: Any) -> Shop:
    """A shop on Solana whose buyers' network fees the operator pays."""
    settings.GAS_FREE = ["solana"]
    pay_fees(solana_node, settings, solana_shop.address)
    co_signed._desks._kept.clear()
    assert rules._allows.cache is not None
    rules._allows.cache.clear()
    return solana_shop


def test_a_live_payment_on_solana_by_the_api_is_sent_and_completes_the_checkout(
    on_solana: Shop, solana_node: SolanaNode
) -> None:
    api, buyer = client_of(on_solana.merchant, Mode.LIVE), new_buyer(solana_node)
    made = api.created()
    asked = {"chain": "solana", "account": str(buyer.pubkey())}
    # Before an amount is chosen there is nothing to sign.
    assert free_in(made["available_chains"]) == set()
    assert api.post(authorization(made), asked).refusal[:2] == (409, "amount_not_reserved")
    assert api.post(f"/checkouts/{made['id']}/options", {"chain": "solana", "token": "USDC"}).body["gasFree"] is True
    offered = api.post(authorization(made), asked)
    assert set(offered.body) == {"transaction", "ticket"}
    signature = signature_of(offered.body, buyer)
    answer = api.post(authorization(made), {"ticket": offered.body["ticket"], "signature": signature})
    assert answer.body == {"tx_hash": SponsoredTransaction.objects.get().tx_hash}
    solana_node.advance(2)
    on_solana.watch()
    assert api.get(f"/checkouts/{made['id']}").body["status"] == CheckoutStatus.COMPLETED


def measured() -> str:
    return measure(now=timezone.now()).decode()


def test_metrics_count_what_was_sent_by_outcome_and_what_it_cost(
    client: Client, free_shop: Shop, base_node: Anvil, usdc: str
) -> None:
    assert "florin_relays_day{" not in measured()
    assert new_payer(base_node, usdc).pay(client, free_shop.checkout()).status_code == 200
    assert 'florin_relays_day{chain="base",outcome="open"} 1.0' in measured()
    base_node.mine(chain_spec("base").confirmations)
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now())
    text = measured()
    assert 'florin_relays_day{chain="base",outcome="done"} 1.0' in text
    assert 'outcome="open"' not in text
    cost = float(GasTransaction.objects.get().cost_wei or 0) / 10**18
    assert cost > 0
    assert f'florin_gas_spent_day_coins{{chain="base",purpose="relay"}} {cost}' in text
    GasTransaction.objects.update(created_at=timezone.now() - timedelta(days=1, seconds=1))
    assert "florin_relays_day{" not in measured()


def test_metrics_count_what_was_sent_on_solana_too(on_solana: Shop, solana_node: SolanaNode) -> None:
    SponsoredTransaction.objects.create(
        chain="solana",
        reference="chk:1",
        merchant=on_solana.merchant,
        fee_payer="ours",
        payer="theirs",
        signed=b"",
        tx_hash="1" * 88,
        fee=SPONSORED_FEE,
        last_height=1,
    )
    assert 'florin_relays_day{chain="solana",outcome="open"} 1.0' in measured()
    assert f'florin_gas_spent_day_coins{{chain="solana",purpose="relay"}} {SPONSORED_FEE / LAMPORTS}' in measured()
    solana_node.advance(200)
    solana_node.finalize()
    pool = open_pool(chain_spec("solana"))
    try:
        assert tend_sponsored(chain_spec("solana"), pool=pool) == 0
    finally:
        pool.close()
    # No block took it, so it cost nothing.
    assert SponsoredTransaction.objects.get().outcome == Outcome.FAILED
    assert 'florin_relays_day{chain="solana",outcome="failed"} 1.0' in measured()


def test_one_client_is_offered_thirty_an_hour(client: Client, free_shop: Shop, time_machine: Any) -> None:
    api, payer = client_of(free_shop.merchant, Mode.TEST), Payer(PAYER.address, PAYER.key.hex())
    # Of test payments only the signature is checked, so that no node's clock matters.
    checkout = Checkout.objects.get(public_id=api.created(expires_in=86_400)["id"])
    hour = timezone.now().replace(minute=0, second=30) + timedelta(hours=1)

    def asked_at(moment: datetime) -> int:
        time_machine.move_to(moment, tick=False)
        status: int = ask(client, checkout, chain="base", account=payer.address, free=True).status_code
        return status

    statuses = [asked_at(hour + timedelta(minutes=number // 5)) for number in range(30)]
    assert statuses == [200] * 30
    # A minute later, in which nothing was asked for yet, and an hour later.
    assert asked_at(hour + timedelta(minutes=6)) == 429
    assert asked_at(hour + timedelta(minutes=59)) == 429
    assert asked_at(hour + timedelta(hours=1)) == 200


def test_the_demo_pays_the_network_on_each_chain_that_it_names(settings: Any) -> None:
    settings.GAS_FREE = DEVELOPMENT["GAS_FREE"].split(",")
    settings.GAS_KEYS = [DEVELOPMENT["GAS_KEYS"]]
    settings.GAS_KEYS_SOLANA = [DEVELOPMENT["GAS_KEYS_SOLANA"]]
    specs = load_chains("local", {})
    assert set(settings.GAS_FREE) <= set(specs)
    solana = str(Keypair().pubkey())
    for chain in settings.GAS_FREE:
        address = EVM if specs[chain].family.signs_transfers else solana
        assert rules.may_be_free(request_on(chain, address, token="USDC"), is_allowed=True), chain
    # Gas of local chains is dear in coins, so the demo calls their coins cheap.
    priced = dict(pair.split("=") for pair in DEVELOPMENT["GAS_COIN_USD"].split(","))
    assert {chain for chain in settings.GAS_FREE if specs[chain].family.signs_transfers} <= set(priced)
