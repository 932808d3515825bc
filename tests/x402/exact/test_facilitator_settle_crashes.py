"""Processes beside each other, and killed in the middle of a settlement: the next one finishes it, nothing is sent twice."""

from collections.abc import Callable
from typing import Any

import pytest

from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.permit2 import UPTO_PROXY, allow, lay_permit2, permit
from localnet.tokens import balance_of
from settlements.models import GasAttempt, GasTransaction
from tests.contract.client import ApiClient
from tests.nodes.proxy import Holding, RpcProxy
from tests.waiting import wait_until
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle
from tests.x402.exact.permits import upto_body
from tests.x402.exact.processes import SECONDS, answers_of, settling
from tests.x402.payers import pay_to_of
from x402.models import Authorization, X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults, pytest.mark.slow]
UNITS = 10_000

Signed = Callable[[Anvil, str, str], dict[str, Any]]


def exact_body(node: Anvil, usdc: str, to: str) -> dict[str, Any]:
    """A settle of what a payer signed."""
    return body_of(authorize(node, to, UNITS), usdc)


def part_body(node: Anvil, usdc: str, to: str) -> dict[str, Any]:
    """A settle of a part of a maximum (scheme `upto`)."""
    lay_permit2(node)
    allow(node, usdc)
    named: dict[str, Any] = {"facilitator": node.accounts[3].address, "spender": UPTO_PROXY}
    return upto_body(permit(node, usdc, to, 3 * UNITS, **named), node.chain_id, UNITS)


SIGNED = pytest.mark.parametrize("signed", [exact_body, part_body])


def the_one_settlement(answer: dict[str, Any]) -> None:
    """Check that the payment was settled once, by the one transaction there is."""
    assert answer["success"] is True, answer
    assert GasAttempt.objects.get().tx_hash == answer["transaction"]
    assert X402Payment.objects.get().tx_hash == answer["transaction"]
    assert Authorization.objects.get().transaction == GasTransaction.objects.get()


@SIGNED
@pytest.mark.usefixtures("no_bells")
def test_killed_between_writing_down_and_sending(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, signed: Signed
) -> None:
    to = pay_to_of(exact_seller)
    body = signed(base_node, usdc, to)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = holding = Holding("eth_sendRawTransaction")
        with settling(exact_seller, [body], proxy.url) as process:
            assert holding.came.wait(SECONDS)
            process.kill()
    the_one_settlement(settle(exact_seller, body))
    assert balance_of(base_node, usdc, to) == UNITS


@SIGNED
@pytest.mark.usefixtures("no_bells")
def test_killed_between_sending_and_the_receipt(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, signed: Signed
) -> None:
    to = pay_to_of(exact_seller)
    body = signed(base_node, usdc, to)
    base_node.set_automine(False)
    with settling(exact_seller, [body], base_node.url) as process:
        wait_until(lambda: GasTransaction.objects.filter(state="sent").exists(), seconds=SECONDS)
        process.kill()
    base_node.set_automine(True)
    base_node.mine()
    the_one_settlement(settle(exact_seller, body))
    assert balance_of(base_node, usdc, to) == UNITS


@pytest.mark.usefixtures("no_bells")
def test_two_processes_settle_one_authorisation_once(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Any
) -> None:
    with (
        settling(exact_seller, [signed_body], base_node.url) as one,
        settling(exact_seller, [signed_body], base_node.url) as other,
    ):
        answers = [*answers_of(one), *answers_of(other)]
    served, refused = sorted(answers, key=lambda one: not one["success"])
    assert refused["errorReason"] == "invalid_exact_evm_nonce_already_used"
    assert refused["transaction"] == served["transaction"]
    the_one_settlement(served)


@pytest.mark.usefixtures("no_bells")
def test_two_processes_with_one_gas_key_lose_none_of_a_hundred(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    to = pay_to_of(exact_seller)
    bodies = [body_of(authorize(base_node, to, UNITS), usdc) for _ in range(100)]
    with (
        settling(exact_seller, bodies[:50], base_node.url) as one,
        settling(exact_seller, bodies[50:], base_node.url) as other,
    ):
        answers = answers_of(one) + answers_of(other)
    assert [answer for answer in answers if not answer["success"]] == []
    assert GasTransaction.objects.count() == X402Payment.objects.count() == 100
    assert balance_of(base_node, usdc, to) == 100 * UNITS
