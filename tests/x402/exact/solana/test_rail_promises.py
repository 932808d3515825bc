"""What a payer has open on Solana counts against its balance before more is signed, so that it cannot burn our fees."""

from collections.abc import Iterator
from typing import Any

import pytest

from localnet.solana.node import Payment
from tests.concurrency.races import together
from tests.contract.client import ApiClient
from tests.nodes.proxy import RpcProxy, honest
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.solana.payers import UNITS, Shop, ticking
from tests.x402.exact.solana.test_rail_outcome import loses_what_is_sent
from x402.exact import waiting
from x402.exact.solana import rail
from x402.models import Authorization

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 8
# The library has no reason for a balance on Solana: it is the simulation that fails.
OVERDRAWN = "transaction_simulation_failed"


@pytest.fixture(autouse=True)
def losing(solana_stall: Shop, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[RpcProxy]:
    """A node that loses what it is sent, so that it stays on its way; nobody waits long for it."""
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.2)
    settings.WEB_THREADS = 6 * MANY
    with RpcProxy(solana_stall.node.url) as proxy:
        settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": proxy.url}
        yield proxy


def leave(shop: Shop, units: int) -> None:
    """Let the payer have no more than this."""
    payer = str(shop.payer.pubkey())
    shop.node.airdrop(payer)
    rest = shop.node.balance(payer) - units
    to = str(shop.node.payer.pubkey())
    shop.node.pay_all([Payment(to, rest)], payer=shop.payer)
    shop.node.advance(2)


def bodies_of(shop: Shop, number: int) -> list[dict[str, Any]]:
    """As many payments, each of which the payer could make by itself."""
    return [shop.body(shop.draft().signed()) for _ in range(number)]


def signed() -> int:
    """How many transactions we signed, and pay the network for."""
    return Authorization.objects.filter(network_fee__gt=0).count()


@pytest.mark.concurrency
def test_eight_payments_of_one_payer_with_money_for_one_are_signed_once(
    solana_stall: Shop, solana_seller: ApiClient, losing: RpcProxy
) -> None:
    leave(solana_stall, UNITS)
    losing.fault = loses_what_is_sent
    bodies = bodies_of(solana_stall, MANY)
    answers = together(*[lambda body=body: settle(solana_seller, body) for body in bodies])
    assert signed() == 1
    reasons = sorted(answer["errorReason"] for answer in answers)
    assert reasons == ["settlement_pending"] + [OVERDRAWN] * (MANY - 1)


@pytest.mark.concurrency
def test_without_counting_what_is_open_all_of_them_would_be_signed(
    solana_stall: Shop, solana_seller: ApiClient, losing: RpcProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test before this one."""
    monkeypatch.setattr(rail, "refuse_overdrawn", lambda *_, **__: None)
    leave(solana_stall, UNITS)
    losing.fault = loses_what_is_sent
    for body in bodies_of(solana_stall, 3):
        settle(solana_seller, body)
    assert signed() == 3


@pytest.mark.parametrize(("payments", "is_valid"), [(1, False), (2, True)])
def test_what_settle_would_refuse_because_of_what_is_open_is_said_at_verify(
    solana_stall: Shop, solana_seller: ApiClient, losing: RpcProxy, payments: int, is_valid: bool
) -> None:
    leave(solana_stall, payments * UNITS)
    losing.fault = loses_what_is_sent
    first, second = bodies_of(solana_stall, 2)
    assert verify(solana_seller, second)["isValid"]
    assert settle(solana_seller, first)["errorReason"] == "settlement_pending"
    told = verify(solana_seller, second)
    assert told["isValid"] is is_valid
    assert told.get("invalidReason") == (None if is_valid else OVERDRAWN)
    assert verify(solana_seller, first)["isValid"]


def test_what_a_payer_has_the_money_for_is_signed_however_much_is_open(
    solana_stall: Shop, solana_seller: ApiClient, losing: RpcProxy
) -> None:
    leave(solana_stall, 3 * UNITS)
    losing.fault = loses_what_is_sent
    bodies = bodies_of(solana_stall, 4)
    told = [settle(solana_seller, body)["errorReason"] for body in bodies]
    assert told == ["settlement_pending"] * 3 + [OVERDRAWN]
    losing.fault = honest
    with ticking(solana_stall.node):
        assert [settle(solana_seller, body)["success"] for body in bodies[:3]] == [True] * 3
