"""What an authorisation came to where somebody else was faster."""

from typing import Any

import pytest

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.permit2 import PERMIT2, PROXY, Permit, permit
from localnet.smart_wallet import deploy_wallet
from localnet.tokens import balance_of, execute, transfer
from settlements.models import GasTransaction
from tests.exhaustive import sample
from tests.nodes import proxy as faults
from tests.nodes.overtaking import overtake
from tests.nodes.proxy import RpcProxy
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.evm.test_permit2 import UNITS, USED_UP, by_contract, by_proxy
from tests.x402.exact.permits import Stall, permit_body
from wallets.selectors import forget
from x402.exact import waiting
from x402.exact.evm import evidence
from x402.models import X402Payment
from x402.tasks import finish_authorizations_task

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("in_one_block", [True, False])
@pytest.mark.parametrize("through", ["proxy", "contract"])
def test_a_permit_that_a_stranger_handed_in_is_paid_all_the_same(
    stall: Stall, through: str, in_one_block: bool
) -> None:
    node, helper = stall.node, deploy_wallet(stall.node, stall.node.accounts[5])
    # Equal payments of the same payer: each authorisation has one of its own.
    told = [permit(node, stall.usdt, stall.pay_to, UNITS) for _ in range(2)]
    node.set_automine(not in_one_block)
    if through == "proxy":
        hashes = [by_proxy(node, one) for one in told]
    else:
        hashes = [by_contract(node, one, helper=helper) for one in told]
    node.mine()
    bodies = [permit_body(one, 1) for one in told]
    assert all(verify(stall.client, body)["isValid"] for body in bodies)
    found = [settle(stall.client, body)["transaction"] for body in bodies]
    # Which of two in one block is whose, nobody can tell, and it makes no difference.
    is_certain = through == "proxy" or not in_one_block
    assert (found if is_certain else sorted(found)) == (hashes if is_certain else sorted(hashes))
    assert not GasTransaction.objects.exists()


@pytest.mark.parametrize("asks_again", [True, False])
def test_who_is_overtaken_by_a_stranger_finds_the_strangers_transaction(
    stall: Stall, monkeypatch: pytest.MonkeyPatch, asks_again: bool
) -> None:
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.05)
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS)
    body = permit_body(told, 1)
    stall.node.set_automine(False)
    assert settle(stall.client, body)["errorReason"] == "settlement_pending"
    tx_hash = overtake(stall.node, PROXY, told.call())
    stall.node.mine()
    if asks_again:
        assert settle(stall.client, body)["success"]
    else:
        finish_authorizations_task()
    assert X402Payment.objects.get().tx_hash == tx_hash
    assert balance_of(stall.node, stall.usdt, stall.pay_to) == UNITS


def with_a_transfer_before(*, is_reversed: bool) -> faults.Fault:
    """Each receipt has another token's transfer before its own logs; a wrong node tells them from the last to the first."""

    def changed(method: str, result: Any) -> Any:
        if method != "eth_getTransactionReceipt" or not result:
            return result
        own = result["logs"]
        moved = [one | {"logIndex": hex(place + 1)} for place, one in enumerate(own)]
        first = own[0] | {"address": f"0x{'11' * 20}", "logIndex": "0x0"}
        logs = [first, *moved]
        return result | {"logs": logs[::-1] if is_reversed else logs}

    return faults.results(changed)


def test_logs_out_of_order_give_a_payment_no_position(
    stall: Stall, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.5)
    body = permit_body(permit(stall.node, stall.usdt, stall.pay_to, UNITS), 1)
    with RpcProxy(stall.node.url) as proxy:
        settings.CHAIN_SETTINGS = {"ETHEREUM_RPC_URLS": proxy.url}
        forget()
        proxy.fault = with_a_transfer_before(is_reversed=True)
        assert settle(stall.client, body)["errorReason"] == "settlement_pending"
        assert not X402Payment.objects.exists()
        proxy.fault = with_a_transfer_before(is_reversed=False)
        assert settle(stall.client, body)["success"]
    assert X402Payment.objects.get().position == 1


@pytest.mark.parametrize("in_one_block", sample([True, False], 1))
@pytest.mark.parametrize("hand_in", ["transfer", "proxy", "contract"])
def test_a_permit_that_was_taken_back_takes_no_other_payment(stall: Stall, hand_in: str, in_one_block: bool) -> None:
    node, usdt, to = stall.node, stall.usdt, stall.pay_to
    told, other = (permit(node, usdt, to, UNITS) for _ in range(2))
    helper = deploy_wallet(node, node.accounts[5])
    node.set_automine(not in_one_block)
    take_back(node, told)
    if hand_in == "transfer":
        transfer(node, payer(node), usdt, to, UNITS)
    elif hand_in == "proxy":
        by_proxy(node, other)
    else:
        by_contract(node, other, helper=helper)
    node.mine()
    node.set_automine(True)
    assert balance_of(node, usdt, to) == UNITS
    body = permit_body(told, 1)
    assert verify(stall.client, body)["invalidReason"] == USED_UP
    answer = settle(stall.client, body)
    assert (answer["success"], answer["errorReason"]) == (False, USED_UP), answer
    assert not X402Payment.objects.exists()
    assert not GasTransaction.objects.exists()


def test_a_permit_that_was_taken_back_later_takes_no_earlier_payment(stall: Stall) -> None:
    node, usdt, to = stall.node, stall.usdt, stall.pay_to
    told, other = (permit(node, usdt, to, UNITS) for _ in range(2))
    by_contract(node, other)
    take_back(node, told)
    assert settle(stall.client, permit_body(told, 1))["errorReason"] == USED_UP


def test_a_number_that_paid_somebody_else_takes_no_plain_transfer(stall: Stall) -> None:
    node, usdt, to = stall.node, stall.usdt, stall.pay_to
    told = permit(node, usdt, to, UNITS)
    elsewhere = permit(node, usdt, PERMIT2, UNITS, nonce=told.nonce)
    node.set_automine(False)
    by_proxy(node, elsewhere)
    transfer(node, payer(node), usdt, to, UNITS)
    node.mine()
    assert balance_of(node, usdt, to) == UNITS
    assert settle(stall.client, permit_body(told, 1))["errorReason"] == USED_UP


def test_without_a_look_at_the_bit_another_payment_would_be_taken(
    stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, usdt, to = stall.node, stall.usdt, stall.pay_to
    told, other = (permit(node, usdt, to, UNITS) for _ in range(2))
    take_back(node, told)
    by_contract(node, other)
    monkeypatch.setattr(evidence, "_was_used_in", lambda *asked: True)
    assert settle(stall.client, permit_body(told, 1))["success"]


def take_back(node: Anvil, told: Permit) -> None:
    """Use a permit's number up without paying anybody."""
    word, bit = divmod(told.nonce, 256)
    signature = "invalidateUnorderedNonces(uint256,uint256)"
    execute(node, payer(node), PERMIT2, signature, word, 1 << bit)
