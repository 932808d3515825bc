"""One payment on Solana settled by many at once, and by processes that are killed: it is sent once, and paid once."""

import secrets
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.concurrency.races import SECONDS, crew
from tests.contract.client import ApiClient
from tests.nodes.proxy import Holding, RpcProxy
from tests.x402.exact.calls import settle
from tests.x402.exact.processes import settling
from tests.x402.exact.solana.payers import UNITS, Shop, ticking
from x402.exact import authorizations
from x402.exact import facilitator as standard_settling
from x402.exact.authorizations import claim
from x402.exact.solana import transfers
from x402.exact.solana.transfers import SignedTransfer, read_transfer
from x402.models import Authorization, X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]
MANY = 8


def settled_at_once(shop: Shop, seller: ApiClient, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to as many settlements that begin at the same moment."""
    with ticking(shop.node), crew(MANY) as threads:
        return threads.together(*[lambda: settle(seller, body)] * MANY)


@pytest.mark.parametrize("lease", [5, -1])
def test_eight_settlements_send_one_transaction_and_serve_one(
    solana_stall: Shop, solana_seller: ApiClient, monkeypatch: pytest.MonkeyPatch, lease: int
) -> None:
    # Without a lease each of them carries it out: it comes out the same.
    monkeypatch.setattr(authorizations, "LEASE", timedelta(seconds=lease))
    answers = settled_at_once(solana_stall, solana_seller, solana_stall.body(solana_stall.draft().signed()))
    (served,) = [answer for answer in answers if answer["success"]]
    refused = [answer for answer in answers if not answer["success"]]
    assert {answer["errorReason"] for answer in refused} == {"duplicate_settlement"}
    assert {answer["transaction"] for answer in refused} == {served["transaction"]}
    assert Authorization.objects.count() == X402Payment.objects.count() == 1
    assert solana_stall.node.balance(solana_stall.wallet) == 1 + UNITS


def test_without_one_name_for_a_message_several_would_begin_and_one_is_paid(
    solana_stall: Shop, solana_seller: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test before this one."""

    def read(raw: bytes) -> SignedTransfer:
        return replace(read_transfer(raw), digest=secrets.token_hex(32))

    gathered = threading.Barrier(MANY)

    def claim_together(*asked: Any, **named: Any) -> Authorization:
        row = claim(*asked, **named)
        gathered.wait(SECONDS)
        return row

    monkeypatch.setattr(transfers, "read_transfer", read)
    monkeypatch.setattr(standard_settling, "claim", claim_together)
    answers = settled_at_once(solana_stall, solana_seller, solana_stall.body(solana_stall.draft().signed()))
    assert Authorization.objects.count() == MANY
    assert [answer["success"] for answer in answers].count(True) == 1
    assert X402Payment.objects.count() == 1


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.parametrize("held", ["sendTransaction", "getTransaction"])
def test_killed_before_or_after_sending_it_is_settled_once_by_whoever_asks_next(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any, held: str
) -> None:
    settings.TRANSFER_CONSUMERS = []
    body = solana_stall.body(solana_stall.draft().signed())
    with RpcProxy(solana_stall.node.url) as proxy:
        proxy.fault = holding = Holding(held)
        with settling(solana_seller, [body], proxy.url, chain="solana") as process:
            assert holding.came.wait(SECONDS)
            process.kill()
    left = Authorization.objects.get()
    assert left.state == "sent"
    # Its lease has ended.
    Authorization.objects.update(taken_until=None)
    with ticking(solana_stall.node):
        answer = settle(solana_seller, body)
    assert answer["success"], answer
    assert answer["transaction"] == left.tx_hash == X402Payment.objects.get().tx_hash
    assert solana_stall.node.balance(solana_stall.wallet) == 1 + UNITS
