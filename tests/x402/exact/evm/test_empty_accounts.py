"""A payer is not charged for what nobody serves: while our gas account cannot pay, nothing is sent, then or later."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.tokens import balance_of
from settlements.gas import upkeep
from settlements.gas.balances import refresh_balances
from settlements.gas.node import Sending, gas_node
from settlements.gas.upkeep import _withdraw, has_expired, tend
from settlements.models import GasAccount, GasAttempt, GasTransaction
from settlements.states import Purpose
from tests.contract.client import ApiClient
from tests.nodes.proxy import Answer, Ask, Dropped, Request, RpcProxy, honest, methods_of
from tests.wallets.factories import local_spec
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.payers import pay_to_of
from wallets.chains.evm.authorizations.terms import BY_KEY, BY_WALLET
from wallets.chains.family import ChainSpec
from x402.exact import facilitator
from x402.exact.authorizations import LEASE
from x402.exact.evm import permit2
from x402.models import Authorization

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("impatient")]

UNITS = 10_000
AT = "0x" + "41" * 20
RICH = hex(10**20)
NOT_SENT = "unexpected_settle_error"
UNREADY = "unexpected_verify_error"
PENDING = "settlement_pending"


def fund(node: Anvil, wei: str) -> None:
    node.rpc("anvil_setBalance", node.accounts[3].address, wei)


def tend_all(*, after: timedelta = timedelta()) -> None:
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now() + after)


def count_again(*, after: timedelta = timedelta()) -> None:
    with gas_node("base") as node:
        refresh_balances("base", node=node, now=timezone.now() + after)


def test_an_account_that_is_known_to_be_empty_is_said_at_verify_and_at_settle(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Any
) -> None:
    fund(base_node, "0x1")
    told = verify(exact_seller, signed_body)
    assert (told["isValid"], told["invalidReason"]) == (False, UNREADY)
    refused = settle(exact_seller, signed_body)
    assert (refused["errorReason"], refused["transaction"]) == (NOT_SENT, "")
    assert not GasTransaction.objects.exists()
    fund(base_node, RICH)
    count_again()
    assert verify(exact_seller, signed_body)["isValid"]
    assert settle(exact_seller, signed_body)["success"]


def test_a_refilled_account_is_noticed_by_the_next_verification(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Any
) -> None:
    fund(base_node, "0x1")
    assert not verify(exact_seller, signed_body)["isValid"]
    fund(base_node, RICH)
    GasAccount.objects.update(balance_at=timezone.now() - timedelta(seconds=6))
    assert verify(exact_seller, signed_body)["isValid"]


def test_a_payment_that_no_node_takes_for_want_of_coin_is_never_sent_later(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    to = pay_to_of(exact_seller)
    body = body_of(authorize(base_node, to, UNITS), usdc)
    assert verify(exact_seller, body)["isValid"]
    fund(base_node, "0x1")
    refused = settle(exact_seller, body)
    assert (refused["errorReason"], refused["transaction"]) == (NOT_SENT, "")
    assert verify(exact_seller, body)["invalidReason"] == UNREADY
    assert settle(exact_seller, body)["errorReason"] == NOT_SENT
    assert GasTransaction.objects.get().purpose == Purpose.CANCEL
    fund(base_node, RICH)
    count_again()
    tend_all()
    assert balance_of(base_node, usdc, to) == 0
    # The nonce was used by nothing, so the next payment is mined behind it.
    assert settle(exact_seller, body)["success"]
    assert balance_of(base_node, usdc, to) == UNITS
    assert Authorization.objects.get().payment is not None


@pytest.mark.parametrize("seconds", [10, 31])
def test_nothing_is_sent_behind_a_transaction_that_is_late(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, seconds: int
) -> None:
    """As while the network makes no blocks: each payer of before would be charged once it does, and served no more."""
    to, is_late = pay_to_of(exact_seller), seconds > 30
    first, second = (body_of(authorize(base_node, to, UNITS), usdc) for _ in range(2))
    base_node.set_automine(False)
    assert settle(exact_seller, first)["errorReason"] == PENDING
    GasTransaction.objects.update(created_at=timezone.now() - timedelta(seconds=seconds))
    told = verify(exact_seller, second)
    assert (told["isValid"], told.get("invalidReason")) == (not is_late, UNREADY if is_late else None)
    refused = settle(exact_seller, second)
    assert refused["errorReason"] == (NOT_SENT if is_late else PENDING)
    assert bool(refused["transaction"]) is not is_late
    base_node.set_automine(True)
    base_node.mine()
    # It is in a block, which nobody noted yet.
    assert verify(exact_seller, second)["isValid"]
    assert settle(exact_seller, second)["success"]
    assert balance_of(base_node, usdc, to) == 2 * UNITS


def test_not_even_the_first_payment_is_sent_on_a_network_that_makes_no_blocks(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    base_node.mine()
    monkeypatch.setattr(ChainSpec, "is_local", False)
    assert verify(exact_seller, signed_body)["isValid"]
    # As much later as a standstill takes to be seen.
    monkeypatch.setattr(upkeep, "patience", lambda _: timedelta(hours=-1))
    assert verify(exact_seller, signed_body)["invalidReason"] == UNREADY
    refused = settle(exact_seller, signed_body)
    assert (refused["errorReason"], refused["transaction"]) == (NOT_SENT, "")
    assert not GasTransaction.objects.exists()


@pytest.mark.parametrize(
    "text",
    [
        "insufficient funds for gas * price + value",
        "InsufficientFunds, Account balance: 0",
        "Upfront cost exceeds account balance",
        "Sender doesn't have enough funds to send tx.",
        "transaction underpriced: gas tip cap 1, minimum needed 25000000000",
        "max fee per gas less than block base fee: maxFeePerGas: 1, baseFee: 7",
        "FeeTooLow",
        "Gas price below configured minimum gas price",
        "transaction priority fee below minimum required priority fee 7",
    ],
)
def test_every_nodes_refusal_for_coin_or_fee_empties_the_nonce(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Any, settings: Any, text: str
) -> None:
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = refusing(text)
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": proxy.url}
        told = settle(exact_seller, signed_body)
        assert (told["errorReason"], told["transaction"]) == (NOT_SENT, "")
        made = GasTransaction.objects.get()
        assert (made.purpose, made.attempts.count()) == (Purpose.CANCEL, 2)
        assert Authorization.objects.get().tx_hash == ""
        proxy.fault = honest
        tend_all()
        assert settle(exact_seller, signed_body)["success"]


@pytest.mark.parametrize(("wei", "is_pending"), [("0x1", False), (RICH, True)])
def test_a_refusal_in_unknown_words_is_for_want_of_coin_if_the_account_has_too_little(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Any, settings: Any, wei: str, is_pending: bool
) -> None:
    assert verify(exact_seller, signed_body)["isValid"]
    fund(base_node, wei)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = refusing("the computer says no")
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": proxy.url}
        assert (settle(exact_seller, signed_body)["errorReason"] != NOT_SENT) is is_pending
    purpose = Purpose.X402 if is_pending else Purpose.CANCEL
    assert GasTransaction.objects.get().purpose == purpose


def refusing(text: str) -> Any:
    def fault(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        if "eth_sendRawTransaction" not in methods_of(request):
            return honest(proxy, request, ask)
        error = {"code": -32000, "message": text}
        return honest(proxy, request, lambda told: {"jsonrpc": "2.0", "id": told["id"], "error": error})

    return fault


def losing(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Take a transaction, and answer nothing."""
    if "eth_sendRawTransaction" in methods_of(request):
        ask(request)
        raise Dropped
    return honest(proxy, request, ask)


def test_a_payment_that_one_node_may_have_is_not_called_unsent_by_another(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Any, settings: Any
) -> None:
    base_node.set_automine(False)
    with RpcProxy(base_node.url) as first, RpcProxy(base_node.url) as second:
        first.fault = losing
        second.fault = refusing("insufficient funds for gas * price + value")
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": f"{first.url},{second.url}"}
        told = settle(exact_seller, signed_body)
        assert told["errorReason"] == "settlement_pending"
        assert told["transaction"] == Authorization.objects.get().tx_hash != ""
        # Sent again, the first node rests, and the second one alone answers.
        assert settle(exact_seller, signed_body)["errorReason"] == "settlement_pending"
        assert GasTransaction.objects.get().purpose == Purpose.X402
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    base_node.set_automine(True)
    base_node.mine()
    assert settle(exact_seller, signed_body)["success"]


def test_a_transaction_that_another_process_offered_is_not_withdrawn(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    """The negative control: without the mark, what a node may have would be called unsent."""
    base_node.set_automine(False)
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    assert settle(exact_seller, body)["errorReason"] == "settlement_pending"
    attempt, now = GasAttempt.objects.get(), timezone.now()
    GasAttempt.objects.update(error=Sending.OFFERED.value)
    assert not _withdraw(attempt, Sending.POOR, None, now)
    GasAttempt.objects.update(error="", sent_at=None)
    GasTransaction.objects.update(state="intended")
    assert _withdraw(attempt, Sending.POOR, None, now)


@pytest.mark.parametrize("is_old", [False, True])
def test_what_a_process_stored_and_did_not_send_is_not_sent_once_it_has_expired(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, settings: Any, is_old: bool
) -> None:
    """One of a version before 0.26 has its deadline in its call alone."""
    to = pay_to_of(exact_seller)
    end = int(timezone.now().timestamp()) + 60
    body = body_of(authorize(base_node, to, UNITS, valid_before=end), usdc)
    with RpcProxy(base_node.url) as proxy:
        # As if it had been killed before a node had it.
        proxy.fault = dropping
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": proxy.url}
        assert settle(exact_seller, body)["errorReason"] == "settlement_pending"
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    if is_old:
        GasTransaction.objects.update(expires_at=None)
    tend_all(after=timedelta(seconds=61))
    made = GasTransaction.objects.get()
    assert made.purpose == Purpose.CANCEL
    base_node.mine(20)
    tend_all(after=timedelta(seconds=62))
    facilitator.finish_open(clock=lambda: timezone.now() + 2 * LEASE)
    assert Authorization.objects.get().state == "failed"
    assert balance_of(base_node, usdc, to) == 0
    receipt = base_node.receipt(made.attempts.order_by("-number")[0].tx_hash)
    assert (receipt["status"], receipt["to"]) == ("0x1", receipt["from"])


TERMS = (AT, AT, 1, 0, 7_000, b"\x01" * 32)


@pytest.mark.parametrize(
    "call",
    [
        BY_KEY.call(*TERMS, 27, b"\x02" * 32, b"\x03" * 32),
        BY_WALLET.call(*TERMS, b"\x04" * 700),
        permit2.SETTLE.call(((AT, 1), 5, 7_000), AT, (AT, 0), b"\x04" * 65),
    ],
)
def test_an_old_transactions_deadline_is_read_from_each_kind_of_call(call: bytes) -> None:
    spec = local_spec()
    for purpose, seconds, expired in (
        (Purpose.X402, 6_990, False),
        (Purpose.X402, 7_000, True),
        (Purpose.SWEEP, 7_000, False),
    ):
        made = GasTransaction(purpose=purpose, data=call)
        assert has_expired(made, spec, now=datetime.fromtimestamp(seconds, UTC)) == expired


def dropping(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    if "eth_sendRawTransaction" in methods_of(request):
        raise Dropped
    return honest(proxy, request, ask)


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("GAS_DAILY_COINS", {"base": "0.000000001"}),
        ("GAS_MAX_GWEI", {"base": "0.000000001"}),
        ("GAS_MERCHANT_SHARE", "0"),
    ],
)
def test_a_limit_that_settle_keeps_to_is_said_at_verify(
    exact_seller: ApiClient, signed_body: Any, settings: Any, name: str, limits: Any
) -> None:
    assert verify(exact_seller, signed_body)["isValid"]
    setattr(settings, name, limits)
    assert verify(exact_seller, signed_body)["invalidReason"] == UNREADY
    assert settle(exact_seller, signed_body)["errorReason"] == NOT_SENT
    assert not GasTransaction.objects.exists()
