"""What a payer has open counts against its balance before more is sent, so that it cannot burn our gas."""

import threading
from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil, FundedAccount
from localnet.authorizations import authorize
from localnet.permit2 import PERMIT2, lay_permit2, own_permit, permit
from localnet.tokens import balance_of, execute, mint
from settlements.gas.relay import Relay, promised
from settlements.models import GasTransaction
from tests.concurrency.races import SECONDS, together
from tests.contract.client import ApiClient
from tests.nodes.proxy import Answer, Ask, Dropped, Request, RpcProxy, honest, methods_of
from tests.settlements.gas.relays import send, signed_transfer
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.permits import permit_body
from tests.x402.payers import pay_to_of
from x402.exact import quotas, waiting
from x402.exact.evm import broadcast, permit2
from x402.exact.quotas import must_ask_balance
from x402.models import Authorization, X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_bells")]
UNITS = 10_000
MANY, FEW = 40, 4
OVERDRAWN = "invalid_exact_evm_insufficient_balance"

Body = dict[str, Any]


@pytest.fixture(autouse=True)
def _waiting_briefly(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait long for a block, and nobody be sent away because others ask slowly."""
    settings.WEB_THREADS = 6 * MANY
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.05)


@pytest.fixture
def poor(base_node: Anvil, usdc: str) -> FundedAccount:
    """A payer with money for one payment."""
    account = base_node.accounts[6]
    mint(base_node, usdc, account.address, UNITS)
    return account


def bodies_of(node: Anvil, seller: ApiClient, usdc: str, account: FundedAccount, number: int) -> list[Body]:
    """As many payments, each of which the payer could make by itself."""
    to = pay_to_of(seller)
    signed = [authorize(node, to, UNITS, account=account) for _ in range(number)]
    return [body_of(one, usdc) for one in signed]


def settle_at_once(seller: ApiClient, bodies: list[Body]) -> list[Body]:
    """The answers to settlements that begin at the same moment."""
    return together(*[lambda body=body: settle(seller, body) for body in bodies])


def test_forty_payments_of_one_payer_with_money_for_one_send_one_transaction(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, poor: FundedAccount
) -> None:
    bodies = bodies_of(base_node, exact_seller, usdc, poor, MANY)
    base_node.set_automine(False)
    answers = settle_at_once(exact_seller, bodies)
    base_node.set_automine(True)
    base_node.mine()
    assert GasTransaction.objects.count() == 1
    reasons = sorted(answer["errorReason"] for answer in answers)
    assert reasons == [OVERDRAWN] * (MANY - 1) + ["settlement_pending"]
    refused = [answer for answer in answers if answer["errorReason"] == OVERDRAWN]
    assert {answer["transaction"] for answer in refused} == {""}


def test_without_counting_what_is_open_several_would_be_sent(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, poor: FundedAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test before this one.

    Nothing is sent before all are about to: once one is in a node's pool, the token's own simulation may refuse the next.
    """
    about_to_send = threading.Barrier(FEW)
    monkeypatch.setattr(broadcast, "refuse_overdrawn", lambda *_, **__: about_to_send.wait(SECONDS))
    bodies = bodies_of(base_node, exact_seller, usdc, poor, FEW)
    base_node.set_automine(False)
    settle_at_once(exact_seller, bodies)
    base_node.set_automine(True)
    base_node.mine()
    assert GasTransaction.objects.count() == FEW


def losing(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Lose what is sent: so no node counts it when it tries the next one."""
    if "eth_sendRawTransaction" in methods_of(request):
        raise Dropped
    return honest(proxy, request, ask)


@pytest.mark.parametrize(("money", "is_valid"), [(UNITS, False), (2 * UNITS, True)])
def test_what_settle_would_refuse_because_of_what_is_open_is_said_at_verify(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, poor: FundedAccount, settings: Any, money: int, is_valid: bool
) -> None:
    mint(base_node, usdc, poor.address, money - UNITS)
    first, second = bodies_of(base_node, exact_seller, usdc, poor, 2)
    with RpcProxy(base_node.url) as proxy:
        settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"BASE_RPC_URLS": proxy.url}
        assert verify(exact_seller, second)["isValid"]
        proxy.fault = losing
        assert settle(exact_seller, first)["errorReason"] == "settlement_pending"
        told = verify(exact_seller, second)
        assert told["isValid"] is is_valid
        assert told.get("invalidReason") == (None if is_valid else OVERDRAWN)
        assert settle(exact_seller, second)["errorReason"] == ("settlement_pending" if is_valid else OVERDRAWN)
        # Until a request was served for it, the one that is open stays valid.
        assert verify(exact_seller, first)["isValid"]


def test_what_a_payer_has_the_money_for_is_sent_however_much_is_open(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, poor: FundedAccount
) -> None:
    mint(base_node, usdc, poor.address, 4 * UNITS)
    bodies = bodies_of(base_node, exact_seller, usdc, poor, 6)
    base_node.set_automine(False)
    told = [settle(exact_seller, body)["errorReason"] for body in bodies]
    assert told == ["settlement_pending"] * 5 + [OVERDRAWN]
    base_node.set_automine(True)
    base_node.mine()
    assert [settle(exact_seller, body)["success"] for body in bodies] == [True] * 5 + [False]
    assert balance_of(base_node, usdc, pay_to_of(exact_seller)) == 5 * UNITS


def test_who_was_refused_pays_the_same_once_there_is_money(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, poor: FundedAccount
) -> None:
    first, second = bodies_of(base_node, exact_seller, usdc, poor, 2)
    base_node.set_automine(False)
    settle(exact_seller, first)
    assert settle(exact_seller, second)["errorReason"] == OVERDRAWN
    base_node.set_automine(True)
    base_node.mine()
    assert settle(exact_seller, first)["success"]
    mint(base_node, usdc, poor.address, UNITS)
    assert settle(exact_seller, second)["success"]
    assert X402Payment.objects.count() == Authorization.objects.count() == 2


@pytest.mark.parametrize("is_counted", [True, False])
def test_what_a_payer_signed_for_a_checkout_counts_where_buyers_pay_so(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, poor: FundedAccount, settings: Any, is_counted: bool
) -> None:
    """Without the setting nothing is relayed for buyers, and nothing is asked."""
    settings.GAS_FREE = ["base"] if is_counted else []
    assert exact_seller.merchant is not None
    base_node.set_automine(False)
    relayed = signed_transfer(base_node, pay_to_of(exact_seller), UNITS, account=poor)
    send(relayed, Relay(exact_seller.merchant.pk, "chk:1"))
    assert promised("base", usdc, poor.address) == [UNITS]
    asked = Authorization(chain="base", token="USDC", payer=poor.address, units=UNITS, pk=0)
    assert must_ask_balance(asked, now=timezone.now()) is is_counted
    [body] = bodies_of(base_node, exact_seller, usdc, poor, 1)
    # Without the setting the node says it: it rehearses on what waits for a block.
    assert settle(exact_seller, body)["errorReason"] == OVERDRAWN


def test_what_settled_a_moment_ago_is_not_counted_twice(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, poor: FundedAccount
) -> None:
    mint(base_node, usdc, poor.address, UNITS)
    for body in bodies_of(base_node, exact_seller, usdc, poor, 2):
        assert settle(exact_seller, body)["success"]


def test_without_the_lock_two_that_count_at_once_would_both_be_sent(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, poor: FundedAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the lock: both count while neither has sent anything."""
    counted = threading.Barrier(2)
    refuse = quotas.refuse_overdrawn

    def refuse_together(*asked: Any, **named: Any) -> None:
        refuse(*asked, **named)
        counted.wait(SECONDS)

    monkeypatch.setattr(quotas, "_lock", lambda _: None)
    monkeypatch.setattr(broadcast, "refuse_overdrawn", refuse_together)
    bodies = bodies_of(base_node, exact_seller, usdc, poor, 2)
    base_node.set_automine(False)
    settle_at_once(exact_seller, bodies)
    base_node.set_automine(True)
    base_node.mine()
    assert GasTransaction.objects.count() == 2


@pytest.fixture
def both_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two payments be estimated before either is sent: a node that has one in its pool may refuse the other by itself."""
    estimated, ask = threading.Barrier(2), must_ask_balance

    def ask_together(*asked: Any, **named: Any) -> bool:
        estimated.wait(SECONDS)
        return ask(*asked, **named)

    monkeypatch.setattr(broadcast, "must_ask_balance", ask_together)


def two_by_permit2(
    node: Anvil, seller: ApiClient, usdc: str, account: FundedAccount, *, with_permits: bool
) -> list[Body]:
    """Two payments that the payer has the money for, each of which takes all that Permit2 may move."""
    lay_permit2(node)
    mint(node, usdc, account.address, UNITS)
    execute(node, account, usdc, "approve(address,uint256)", PERMIT2, 0 if with_permits else UNITS)
    made = []
    for _ in range(2):
        told = permit(node, usdc, pay_to_of(seller), UNITS, account=account)
        made.append(permit_body(told, 8453))
        if with_permits:
            own = {"eip2612GasSponsoring": {"info": own_permit(node, told, account)}}
            made[-1]["paymentPayload"]["extensions"] = own
    return made


@pytest.mark.usefixtures("both_estimated")
@pytest.mark.parametrize("with_permits", [False, True])
def test_two_payments_at_once_do_not_use_one_allowance(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, poor: FundedAccount, with_permits: bool
) -> None:
    bodies = two_by_permit2(base_node, exact_seller, usdc, poor, with_permits=with_permits)
    base_node.set_automine(False)
    answers = settle_at_once(exact_seller, bodies)
    assert GasTransaction.objects.count() == 1
    told = [answer["errorReason"] for answer in answers]
    assert sorted(told) == ["settlement_pending", "unexpected_settle_error"]
    base_node.set_automine(True)
    base_node.mine()
    sent, held = (bodies[told.index(reason)] for reason in ("settlement_pending", "unexpected_settle_error"))
    assert settle(exact_seller, sent)["success"]
    assert not verify(exact_seller, held)["isValid"]
    assert not settle(exact_seller, held)["success"]
    assert GasTransaction.objects.count() == 1


@pytest.mark.usefixtures("both_estimated")
@pytest.mark.parametrize("with_permits", [False, True])
def test_without_a_look_at_the_allowance_one_of_them_would_fail_at_our_cost(
    base_node: Anvil,
    exact_seller: ApiClient,
    usdc: str,
    poor: FundedAccount,
    monkeypatch: pytest.MonkeyPatch,
    with_permits: bool,
) -> None:
    """The negative control of the test before this one."""
    monkeypatch.setattr(permit2, "allowed_by", lambda *_, **__: None)
    bodies = two_by_permit2(base_node, exact_seller, usdc, poor, with_permits=with_permits)
    base_node.set_automine(False)
    settle_at_once(exact_seller, bodies)
    base_node.set_automine(True)
    base_node.mine()
    made = GasTransaction.objects.all()
    receipts = [base_node.receipt(attempt.tx_hash) for one in made for attempt in one.attempts.all()]
    assert sorted(receipt["status"] for receipt in receipts) == ["0x0", "0x1"]
