"""What is offered, and how the chains are said to be."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from tests.factories import WALLET, make_merchant, make_wallet
from tests.tree import ROOT
from wallets import selectors
from wallets.chains.registry import CHAINS
from wallets.models import ChainCursor
from wallets.networks import chains
from wallets.selectors import configured_chains, offerable_chains
from wallets.states import ChainStatus

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


def make_cursor(chain: str = "base", **overrides: Any) -> ChainCursor:
    """A chain read to its head just now."""
    values = {"height": 10, "head": 10, "head_at": timezone.now(), "factory_ok": True}
    return ChainCursor.objects.create(chain=chain, **(values | overrides))


def status_of(chain: str) -> ChainStatus:
    return selectors.chain_statuses(now=timezone.now())[chain]


def test_a_chain_read_to_its_head_is_ok_and_offered_to_who_has_a_wallet_there() -> None:
    make_cursor()
    merchant = make_merchant()
    make_wallet(merchant)
    assert status_of("base") == ChainStatus.OK
    [offered] = offerable_chains(merchant.pk, Mode.LIVE)
    assert (offered.name, offered.tokens) == ("base", ["USDC"])
    assert offered.destination == bytes.fromhex(WALLET[2:])
    assert offerable_chains(make_merchant().pk, Mode.LIVE) == []


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        ({"head_at": None}, ChainStatus.DOWN),
        ({"silent_for": timedelta(minutes=5)}, ChainStatus.DOWN),
        ({"halted_reason": "a deep reorganisation"}, ChainStatus.DOWN),
        ({"silent_for": timedelta(seconds=30)}, ChainStatus.DELAYED),
        ({"head": 100}, ChainStatus.DELAYED),
        ({"height": None}, ChainStatus.OK),
    ],
)
def test_status_follows_the_watchers_own_lag(facts: dict[str, Any], status: str) -> None:
    facts = dict(facts)
    silent_for = facts.pop("silent_for", None)
    if silent_for is not None:
        facts["head_at"] = timezone.now() - silent_for
    make_cursor(**facts)
    assert status_of("base") == status


def quiet(**overrides: Any) -> dict[str, Any]:
    """A chain that nobody pays on: read half a minute ago, to be read in half a minute, its watcher alive."""
    now = timezone.now()
    half = timedelta(seconds=30)
    facts = {"head_at": now - half, "due_at": now + half, "lease_until": now + half}
    return facts | overrides


def test_a_chain_that_nobody_pays_on_is_not_silent_between_two_passes() -> None:
    make_cursor(**quiet())
    assert status_of("base") == ChainStatus.OK


@pytest.mark.parametrize(("ago", "status"), [(20, ChainStatus.DELAYED), (70, ChainStatus.DOWN)])
def test_it_is_once_its_watcher_is_gone(ago: int, status: ChainStatus) -> None:
    gone = timezone.now() - timedelta(seconds=ago)
    make_cursor(**quiet(head_at=gone, lease_until=gone))
    assert status_of("base") == status


@pytest.mark.parametrize(("late", "status"), [(20, ChainStatus.DELAYED), (70, ChainStatus.DOWN)])
def test_it_is_once_a_pass_that_was_due_did_not_come(late: int, status: ChainStatus) -> None:
    since = timezone.now() - timedelta(seconds=late)
    make_cursor(**quiet(head_at=since - timedelta(minutes=1), due_at=since))
    assert status_of("base") == status


@pytest.mark.parametrize(
    ("seconds", "status"), [(2, ChainStatus.OK), (30, ChainStatus.DELAYED), (90, ChainStatus.DOWN)]
)
@pytest.mark.parametrize("chain", ["solana", "ton"])
def test_a_chain_of_accounts_is_as_late_as_the_least_known_of_those_to_be_paid(
    chain: str, seconds: int, status: ChainStatus, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {f"{chain.upper()}_RPC_URLS": "http://127.0.0.1:4"}
    now = timezone.now()
    make_cursor(
        chain,
        accounts_read_at=now - timedelta(seconds=seconds),
        due_at=now + timedelta(seconds=1),
        lease_until=now + timedelta(seconds=10),
    )
    assert status_of(chain) == status


def test_all_six_chains_tell_their_status_once_each_has_a_node(settings: Any, client: Client) -> None:
    names = list(chains())
    settings.CHAIN_SETTINGS = {
        f"{name.upper()}_RPC_URLS": f"http://127.0.0.1:{port}" for port, name in enumerate(names, start=1)
    }
    for name in names:
        make_cursor(name)
    selectors.forget()
    data = client.get("/api/v1/chains").json()["data"]
    assert {one["chain"]: one["status"] for one in data} == dict.fromkeys(names, "ok")


def test_a_node_that_stands_still_is_noticed_on_public_networks_alone(settings: Any) -> None:
    make_cursor(head_time=timezone.now() - timedelta(hours=1))
    assert status_of("base") == ChainStatus.OK
    settings.CHAIN_NETWORK = "mainnet"
    assert status_of("base") == ChainStatus.DOWN


@pytest.mark.parametrize(
    "facts", [{"halted_reason": "x"}, {"head_at": None}, {"factory_ok": False}, {"factory_ok": None}]
)
def test_a_chain_that_is_down_or_has_no_factory_is_not_offered(facts: dict[str, Any]) -> None:
    make_cursor(**facts)
    merchant = make_merchant()
    make_wallet(merchant)
    assert offerable_chains(merchant.pk, Mode.LIVE) == []


@pytest.mark.parametrize(
    ("facts", "listed"),
    [
        ({"halted_reason": "x"}, True),
        ({"head_at": None}, True),
        ({"factory_ok": False}, False),
        ({"factory_ok": None}, False),
    ],
)
def test_a_chain_is_set_up_although_it_is_down_and_not_without_its_factory(facts: dict[str, Any], listed: bool) -> None:
    make_cursor(**facts)
    merchant = make_merchant()
    make_wallet(merchant)
    assert [one.name for one in configured_chains(merchant.pk, Mode.LIVE)] == ["base"] * listed


def test_a_chain_without_a_node_is_known_and_not_offered(settings: Any) -> None:
    make_cursor()
    settings.CHAIN_SETTINGS = {}
    merchant = make_merchant()
    make_wallet(merchant)
    assert status_of("base") == ChainStatus.DOWN
    assert offerable_chains(merchant.pk, Mode.LIVE) == configured_chains(merchant.pk, Mode.LIVE) == []


def test_exact_amount_chains_are_offered_with_the_merchants_own_wallet_and_need_no_factory() -> None:
    make_cursor("ethereum", factory_ok=False)
    merchant = make_merchant()
    make_wallet(merchant, "ethereum")
    [offered] = offerable_chains(merchant.pk, Mode.LIVE)
    assert (offered.name, offered.destination) == ("ethereum", None)
    assert offered.wallet == WALLET


def test_test_mode_offers_every_chain_and_prefers_the_merchants_own_wallet() -> None:
    merchant, stranger = make_merchant(), make_merchant()
    make_wallet(merchant, "polygon")
    mine = {one.name: one for one in offerable_chains(merchant.pk, Mode.TEST)}
    assert list(mine) == list(chains())
    assert mine["base"].destination == bytes.fromhex(WALLET[2:])
    assert mine["tron"].destination is None
    [base, *_] = offerable_chains(stranger.pk, Mode.TEST)
    assert base.destination == bytes.fromhex("dead".rjust(40, "0"))


def test_the_fee_of_a_transfer_follows_gas_in_the_blocks_that_were_read_and_the_price_of_a_coin(settings: Any) -> None:
    settings.GAS_COIN_USD = {"base": "2000"}
    make_cursor(base_fee=10**9)
    selectors.forget()
    # 65,000 gas at 1.002 gwei.
    assert selectors.transfer_fees()["base"] == Decimal("0.13026")


def test_a_chain_whose_blocks_were_not_read_has_no_fee_and_one_without_prices_an_assumed_one(settings: Any) -> None:
    settings.GAS_COIN_USD = {"tron": "0.5"}
    make_cursor(base_fee=None)
    selectors.forget()
    fees = selectors.transfer_fees()
    assert {"base", "polygon", "ethereum"} & set(fees) == set()
    assert fees["tron"] == Decimal("3.4")
    assert fees["solana"] == Decimal("0.0015")


def test_the_guide_for_buyers_says_of_which_networks_the_fee_follows_the_last_blocks() -> None:
    text = " ".join((ROOT / "docs/guide/for-buyers.md").read_text().split())
    told = text.partition("It is an estimate. ")[2].partition(" Your wallet shows")[0]
    by_blocks, usual, none = told.split(". ")
    for one in CHAINS:
        fee = one.buyer_fee
        said = none if fee is None else by_blocks if fee.gas else usual
        assert [one.title in sentence for sentence in (by_blocks, usual, none)] == [
            sentence is said for sentence in (by_blocks, usual, none)
        ], one.title
