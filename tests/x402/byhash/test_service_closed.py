"""A seller whose connection closed before it read the verdict gets it once when it asks again."""

import threading
from pathlib import Path
from typing import Any

import pytest

from accounts.models import FeeEntry
from localnet.anvil import Anvil
from localnet.tokens import token_address
from tests.contract.client import ApiClient
from tests.contract.servers import running_servers
from tests.nodes.proxy import Answer, Ask, Request, RpcProxy, honest
from tests.waiting import PATIENCE_SECONDS
from tests.x402.calls import Claim, ask, verdict
from tests.x402.payers import paid
from x402.byhash import service
from x402.models import X402Payment

pytestmark = pytest.mark.django_db
SECONDS = PATIENCE_SECONDS


@pytest.fixture
def claim(base: Anvil, base_seller: ApiClient) -> Claim:
    """A payment that nobody asked about yet."""
    return paid(base, base_seller)


def ask_and_leave(seller: ApiClient, claim: Claim, **values: Any) -> None:
    """Ask over a connection that closes while the verdict is written."""
    looks = iter([False, True])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("x402.api.is_client_gone", lambda _: next(looks))
        ask(seller, claim, **values)
    assert X402Payment.objects.count() == 1


@pytest.mark.parametrize("key", ["", "of a process that ended"])
def test_a_connection_that_is_closed_already_uses_nothing_up(base_seller: ApiClient, claim: Claim, key: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("x402.api.is_client_gone", lambda _: True)
        ask(base_seller, claim, key=key)
    # The next process of the seller has another key for the same payment.
    assert ask(base_seller, claim, key="another").body["valid"]
    assert verdict(base_seller, claim, key="a third") == "already_used"
    assert X402Payment.objects.count() == FeeEntry.objects.count() == 1


def test_a_verdict_that_nobody_read_is_not_given_to_a_connection_that_is_closed(
    base_seller: ApiClient, claim: Claim
) -> None:
    ask_and_leave(base_seller, claim)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("x402.api.is_client_gone", lambda _: True)
        ask(base_seller, claim, key="of a process that ended")
    assert ask(base_seller, claim, key="another").body["valid"]
    assert verdict(base_seller, claim) == "already_used"


def test_a_verdict_that_nobody_read_is_given_once_more(base_seller: ApiClient, claim: Claim) -> None:
    ask_and_leave(base_seller, claim)
    # Another resource of the same price is another request.
    assert verdict(base_seller, claim, resource="https://shop.example/another") == "already_used"
    told = ask(base_seller, claim).body
    assert (told["valid"], told["paymentId"]) == (True, X402Payment.objects.get().public_id)
    assert told["confirmations"] >= 1
    assert verdict(base_seller, claim) == "already_used"
    assert FeeEntry.objects.count() == 1


def test_who_never_reads_it_may_ask_again(base_seller: ApiClient, claim: Claim) -> None:
    for _ in range(2):
        ask_and_leave(base_seller, claim)
    assert [verdict(base_seller, claim) for _ in range(2)] == ["valid", "already_used"]


def test_with_a_key_the_same_request_gets_it_and_no_other_one(base_seller: ApiClient, claim: Claim) -> None:
    ask_and_leave(base_seller, claim, key="one")
    assert verdict(base_seller, claim) == "already_used"
    assert all(ask(base_seller, claim, key="one").body["valid"] for _ in range(2))


def test_what_was_read_by_nobody_is_kept_under_the_key_of_the_next_request(
    base_seller: ApiClient, claim: Claim
) -> None:
    ask_and_leave(base_seller, claim)
    first, second = (ask(base_seller, claim, key="two").body for _ in range(2))
    assert first == second
    assert first["valid"]
    assert verdict(base_seller, claim) == "already_used"


def test_a_payment_that_was_reversed_meanwhile_is_not_served(base_seller: ApiClient, claim: Claim) -> None:
    ask_and_leave(base_seller, claim)
    X402Payment.objects.update(status="reversed")
    assert verdict(base_seller, claim) == "already_used"


def test_without_the_note_the_payer_would_never_be_served(
    base_seller: ApiClient, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    monkeypatch.setattr(service, "note_unread", lambda *_: None)
    ask_and_leave(base_seller, claim)
    assert verdict(base_seller, claim) == "already_used"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_connection_that_closes_while_a_node_is_asked_uses_nothing_up(
    base: Anvil, base_seller: ApiClient, claim: Claim, tmp_path: Path
) -> None:
    is_asked, may_answer, has_answered = threading.Event(), threading.Event(), threading.Event()

    def slowly(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        is_asked.set()
        may_answer.wait(SECONDS)
        told = honest(proxy, request, ask)
        has_answered.set()
        return told

    with RpcProxy(base.url) as proxy, running_servers(1, tmp_path, chains(proxy.url)) as (server,):
        proxy.fault = slowly
        with server.begin("/x402/verify", base_seller.key, claim.body()):
            assert is_asked.wait(SECONDS)
        may_answer.set()
        assert has_answered.wait(SECONDS)
    assert [verdict(base_seller, claim) for _ in range(2)] == ["valid", "already_used"]


def chains(url: str) -> dict[str, str]:
    return {"CHAIN_NETWORK": "local", "CHAIN_BASE_RPC_URLS": url, "CHAIN_BASE_TOKEN_USDC": token_address("USDC")}
