"""Parts of maximums (scheme `upto`) after they were charged: as the watcher, a fork, the books, the reports and the sweep see them."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import FeeEntry
from gateway.core.money import from_units
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.permit2 import UPTO_PROXY, Permit, allow, lay_permit2, permit
from localnet.tokens import balance_of
from settlements.books.check import check_chain
from settlements.dashboard.sums import figures_of
from settlements.gas import shares
from settlements.gas.node import gas_node
from settlements.gas.upkeep import tend
from settlements.models import GasTransaction
from settlements.states import Outcome, Purpose, TransactionState
from settlements.sweeps.plan import WaitingFilter
from settlements.sweeps.service import sweep
from tests.contract.client import ApiClient
from tests.reports.answers import summary
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import verdict
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle
from tests.x402.exact.permits import upto_body
from tests.x402.payers import claim_of, pay_to_of
from wallets.models import Transfer, TransferClaim
from wallets.networks import chain_spec
from wallets.states import ClaimKind
from wallets.watchers.blocks import Watcher
from x402.exact import facilitator, waiting
from x402.exact.authorizations import LEASE
from x402.models import Authorization, X402Payment
from x402.payments.transfers import follow_transfers
from x402.states import PaymentStatus

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_bells")]
MOST, CHARGED = 10_000_000, 3_500_000
CHAIN_ID = 8453
FINAL = 12


@pytest.fixture
def watcher(base_node: Anvil, usdc: str) -> Watcher:
    """Reads the chain; it has read all there was before the payment."""
    lay_permit2(base_node)
    allow(base_node, usdc)
    base_node.mine(2)
    made = make_watcher(base_node.url, TOKEN_USDC=usdc)
    read_all(made)
    return made


@pytest.fixture
def told(base_node: Anvil, exact_seller: ApiClient, usdc: str, watcher: Watcher) -> Permit:
    """The maximum that a payer signed."""
    del watcher
    named: dict[str, Any] = {"facilitator": base_node.accounts[3].address, "spender": UPTO_PROXY}
    return permit(base_node, usdc, pay_to_of(exact_seller), MOST, **named)


def read(watcher: Watcher) -> X402Payment:
    """Read what is new, and follow it."""
    read_all(watcher)
    follow_transfers(now=timezone.now())
    return X402Payment.objects.get()


def test_a_part_that_a_fork_takes_back_is_charged_again_by_the_same_amount_and_once(
    base_node: Anvil,
    exact_seller: ApiClient,
    usdc: str,
    watcher: Watcher,
    told: Permit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = upto_body(told, CHAIN_ID, CHARGED)
    before = settle(exact_seller, body, key="one")
    assert before["success"], before
    # The watcher's transfer is the payment's, though it moved less than was signed.
    assert read(watcher).transfer is not None
    assert TransferClaim.objects.get().transfer.units == CHARGED
    base_node.reorg(1)
    base_node.mine()
    assert read(watcher).status == PaymentStatus.REVERSED
    with monkeypatch.context() as patch:
        # Whoever asks for more meanwhile gets nothing, and sends nothing.
        patch.setattr(waiting, "RECEIPT_SECONDS", 0.05)
        assert not settle(exact_seller, upto_body(told, CHAIN_ID, CHARGED + 1))["success"]
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now() + timedelta(minutes=2))
    base_node.mine()
    facilitator.finish_open(clock=lambda: timezone.now() + 2 * LEASE)
    payment = X402Payment.objects.get()
    assert (payment.status, payment.units) == (PaymentStatus.VERIFIED, CHARGED)
    assert settle(exact_seller, body, key="one") == before | {"transaction": payment.tx_hash}
    base_node.mine(FINAL)
    assert read(watcher).final_at is not None
    assert balance_of(base_node, usdc, told.to) == CHARGED
    assert GasTransaction.objects.filter(purpose=Purpose.X402).count() == Authorization.objects.count() == 1


def test_a_part_is_in_the_books_the_reports_and_the_sweep(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, watcher: Watcher, told: Permit, settings: Any
) -> None:
    assert exact_seller.merchant is not None
    # A local node's gas is dear.
    settings.GAS_COIN_USD = {"base": "10"}
    assert settle(exact_seller, upto_body(told, CHAIN_ID, CHARGED))["success"]
    base_node.mine(FINAL)
    read(watcher)
    assert added_up(exact_seller) == (CHARGED, 0, CHARGED)
    # A local node's clock runs ahead, by a second for each block.
    today, day = timezone.now().date(), timedelta(days=1)
    assert summary(exact_seller, since=str(today - day), to=str(today + 2 * day))["inflow"] == "3.500000"
    with gas_node("base") as node:
        [swept] = sweep(WaitingFilter("base", "USDC"), node=node, now=timezone.now())
    assert swept.units == CHARGED
    base_node.mine(FINAL)
    read(watcher)
    assert added_up(exact_seller) == (CHARGED, CHARGED, 0)
    assert balance_of(base_node, usdc, told.to) == 0


def test_a_part_costs_the_gas_of_its_transaction_and_the_fee_of_what_moved(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, told: Permit
) -> None:
    assert exact_seller.merchant is not None
    answer = settle(exact_seller, upto_body(told, CHAIN_ID, CHARGED))
    assert answer["success"], answer
    entry = FeeEntry.objects.get()
    assert entry.received == from_units(CHARGED)
    # The same money by `exact` is charged the same.
    assert settle(exact_seller, body_of(authorize(base_node, told.to, CHARGED), usdc))["success"]
    other = FeeEntry.objects.exclude(pk=entry.pk).get()
    assert (other.received, other.rate, other.amount) == (entry.received, entry.rate, entry.amount)
    base_node.mine(FINAL)
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now())
    receipts = [base_node.receipt(tx) for tx in X402Payment.objects.order_by("pk").values_list("tx_hash", flat=True)]
    paid = [int(one["gasUsed"], 16) * int(one["effectiveGasPrice"], 16) for one in receipts]
    of_part, of_whole = GasTransaction.objects.filter(purpose=Purpose.X402).order_by("pk")
    assert [int(one.cost_wei or 0) for one in (of_part, of_whole)] == paid
    assert (of_part.outcome, of_part.state, of_part.payer) == (Outcome.DONE, TransactionState.MINED, told.payer)
    assert of_part.tx_hash == answer["transaction"]
    shared = shares._of_a_day.__wrapped__(exact_seller.merchant.pk, "base", timezone.now())
    assert shared == (sum(paid), 0)


def test_a_maximum_of_which_nothing_is_charged_costs_no_gas_and_no_fee(exact_seller: ApiClient, told: Permit) -> None:
    assert exact_seller.merchant is not None
    assert settle(exact_seller, upto_body(told, CHAIN_ID, 0))["success"]
    assert not FeeEntry.objects.exists()
    assert shares._of_a_day.__wrapped__(exact_seller.merchant.pk, "base", timezone.now()) == (0, 0)


@pytest.mark.usefixtures("impatient")
def test_a_part_that_its_watcher_saw_before_its_request_knew_is_no_proof_and_is_claimed(
    base_node: Anvil, exact_seller: ApiClient, watcher: Watcher, told: Permit
) -> None:
    body = upto_body(told, CHAIN_ID, CHARGED)
    base_node.set_automine(False)
    sent = settle(exact_seller, body, key="one")
    assert sent["errorReason"] == "settlement_pending"
    base_node.set_automine(True)
    base_node.mine(FINAL)
    read_all(watcher)
    follow_transfers(now=timezone.now())
    assert Transfer.objects.get(purpose=ClaimKind.X402).units == CHARGED
    assert not TransferClaim.objects.exists()
    shown = claim_of(base_node, sent["transaction"], told.to, amount="3.5", price="3.5")
    assert verdict(exact_seller, shown) == "not_confirmed"
    answer = settle(exact_seller, body, key="one")
    assert (answer["success"], answer["transaction"], answer["amount"]) == (True, sent["transaction"], str(CHARGED))
    assert X402Payment.objects.get().transfer == TransferClaim.objects.get().transfer
    assert verdict(exact_seller, shown) == "already_used"


def added_up(client: ApiClient) -> tuple[int, int, int]:
    """What a merchant's forwarders received, gave and hold. Checks that the books are as the chain is."""
    assert client.merchant is not None
    checked = check_chain(chain_spec("base"), now=timezone.now())
    assert (checked.differences, checked.asked) == ([], 1)
    [figures] = figures_of(client.merchant.pk)
    return figures.received, figures.settled, figures.in_forwarders
