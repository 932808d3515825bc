"""Signed authorisations settled by many at once: each is sent once, and one request is told that it settled."""

from datetime import datetime, timedelta
from threading import Barrier, Event, Lock, get_ident
from typing import Any

import pytest

from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.permit2 import UPTO_PROXY, allow, lay_permit2, permit
from localnet.tokens import balance_of
from settlements.gas import relay
from settlements.models import GasTransaction
from tests.concurrency.races import SECONDS, together
from tests.contract.client import ApiClient
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle
from tests.x402.exact.permits import upto_body
from tests.x402.payers import pay_to_of
from wallets.chains.evm.authorizations.contracts import Call
from wallets.chains.rpc.pool import RpcPool
from x402.exact import authorizations, facilitator, waiting
from x402.exact.authorizations import Success
from x402.exact.evm import broadcast, rail
from x402.exact.inputs import StandardRequest
from x402.models import Authorization, X402Payment
from x402.payments.claims import Caller

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]
UNITS = 10_000
USED = "invalid_exact_evm_nonce_already_used"
MANY, FEW = 8, 3


def settled_at_once(client: ApiClient, bodies: list[dict[str, Any]]) -> list[Any]:
    """The answers to settlements that all began at the same moment."""
    return together(*[lambda body=body: settle(client, body) for body in bodies])


def check_one(answers: list[Any]) -> None:
    """Check that one request was told of success, and the others of the same transaction."""
    (served,) = [answer for answer in answers if answer["success"]]
    refused = [answer for answer in answers if not answer["success"]]
    assert {answer["errorReason"] for answer in refused} == {USED}, answers
    assert {answer["transaction"] for answer in refused} == {served["transaction"]}


def test_eight_settlements_of_one_authorisation_broadcast_once_and_serve_one(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    to = pay_to_of(exact_seller)
    body = body_of(authorize(base_node, to, UNITS), usdc)
    answers = settled_at_once(exact_seller, [body] * MANY)
    check_one(answers)
    assert GasTransaction.objects.count() == X402Payment.objects.count() == 1
    assert balance_of(base_node, usdc, to) == UNITS


def test_a_claim_that_reads_before_it_writes_would_serve_more_than_one(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test before this one: it takes one statement to claim."""
    gathered = Barrier(MANY)

    def claim(caller: Caller, request: StandardRequest, *, receipt_for: str, now: datetime) -> Success:
        row = Authorization.objects.get(served_at=None)
        gathered.wait(SECONDS)
        Authorization.objects.filter(pk=row.pk).update(served_at=now)
        return Success(now, receipt_for)

    monkeypatch.setattr(facilitator, "claim_success", claim)
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    answers = settled_at_once(exact_seller, [body] * MANY)
    assert [answer["success"] for answer in answers] == [True] * MANY


def test_different_authorisations_do_not_wait_for_each_other(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    to = pay_to_of(exact_seller)
    bodies = [body_of(authorize(base_node, to, UNITS), usdc) for _ in range(MANY)]
    answers = settled_at_once(exact_seller, bodies)
    assert all(answer["success"] for answer in answers), answers
    assert len({answer["transaction"] for answer in answers}) == MANY
    assert balance_of(base_node, usdc, to) == MANY * UNITS


@pytest.fixture
def all_claim(base_node: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    """No lease lasts, and nothing is sent before `FEW` requests have claimed the authorisation and are about to send it."""
    about_to_send = Event()
    gathered = Barrier(FEW, action=about_to_send.set)
    gas_for = relay.gas_for

    def gather(pool: RpcPool, call: Call) -> int:
        gas = gas_for(pool, call)
        if not about_to_send.is_set():
            gathered.wait(SECONDS)
        return gas

    one_claims, claim = Lock(), authorizations.claim

    def claim_alone(*args: Any, **named: Any) -> Authorization:
        # A claim that finds another amount right after its own statement steps back, and nobody would gather.
        with one_claims:
            return claim(*args, **named)

    monkeypatch.setattr(facilitator, "claim", claim_alone)
    monkeypatch.setattr(authorizations, "LEASE", timedelta(seconds=-1))
    monkeypatch.setattr(relay, "gas_for", gather)


@pytest.mark.usefixtures("all_claim")
def test_without_a_lease_the_ledger_still_sends_once(base_node: Anvil, exact_seller: ApiClient, usdc: str) -> None:
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    check_one(settled_at_once(exact_seller, [body] * FEW))
    assert GasTransaction.objects.count() == X402Payment.objects.count() == 1


@pytest.mark.usefixtures("all_claim")
def test_different_amounts_of_one_maximum_at_once_charge_one_of_them(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    lay_permit2(base_node)
    allow(base_node, usdc)
    to, named = pay_to_of(exact_seller), base_node.accounts[3].address
    told = permit(base_node, usdc, to, UNITS, facilitator=named, spender=UPTO_PROXY)
    bodies = [upto_body(told, base_node.chain_id, UNITS - less) for less in range(FEW)]
    answers = settled_at_once(exact_seller, bodies)
    (served,) = [answer for answer in answers if answer["success"]]
    refused = {answer["errorReason"] for answer in answers if not answer["success"]}
    assert refused == {"permit2_invalid_nonce"}, answers
    assert balance_of(base_node, usdc, to) == int(served["amount"]) == int(X402Payment.objects.get().units)
    assert GasTransaction.objects.count() == 1


@pytest.mark.usefixtures("all_claim")
def test_without_the_authorisations_one_reference_several_would_be_sent(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test before this one."""

    def reference_of(row: Authorization) -> str:
        # Each request finds its own transaction again: one that began anew would see the others' in the node's pool.
        return f"{row.pk}:{get_ident()}"

    monkeypatch.setattr(broadcast, "reference_of", reference_of)
    monkeypatch.setattr(rail, "reference_of", reference_of)
    # A node that has the first one in a block would refuse the second one.
    base_node.set_automine(False)
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 2.0)
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    answers = settled_at_once(exact_seller, [body] * FEW)
    assert GasTransaction.objects.count() == FEW, answers
