"""A chain that nobody is expected to pay on is asked once a minute, and at full pace as soon as somebody may."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from tests.factories import make_merchant, make_wallet
from tests.wallets.days import make_watched
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import transfer
from wallets.models import ChainCursor, DepositAddress, Transfer
from wallets.receiving.service import expect_payments
from wallets.states import TransferState
from wallets.watched.service import expect_payouts
from wallets.watchers.blocks import Watcher
from wallets.watchers.demand import WATCH_AFTER_EXPIRY
from wallets.watchers.passes import PassOutcome

pytestmark = pytest.mark.django_db
USDC = token_address("USDC")
MINUTE = timedelta(minutes=1)


def passes(watcher: Watcher, seconds: int, *, since: datetime) -> int:
    """How many passes it does, asked each second."""
    outcomes = [watcher.tick(now=since + timedelta(seconds=second)) for second in range(seconds)]
    assert set(outcomes) <= {PassOutcome.NOT_DUE, PassOutcome.IDLE}
    return outcomes.count(PassOutcome.IDLE)


def payable_until(until: datetime) -> DepositAddress:
    """The deposit address of a checkout that may be paid until then."""
    return make_deposit(watched_until=until + WATCH_AFTER_EXPIRY)


def test_nobody_to_pay_means_one_pass_a_minute(idle_watcher: Watcher) -> None:
    begun = timezone.now()
    read_all(idle_watcher, now=begun)
    before = idle_watcher._adapter.requests
    assert passes(idle_watcher, 300, since=begun + timedelta(seconds=1)) == 5
    # Each asks for the head alone.
    assert idle_watcher._adapter.requests - before == 5


def test_somebody_to_pay_means_a_pass_each_time(idle_watcher: Watcher) -> None:
    begun = timezone.now()
    payable_until(begun + 30 * MINUTE)
    read_all(idle_watcher, now=begun)
    assert passes(idle_watcher, 60, since=begun) == 60


def test_a_payout_that_may_leave_a_wallet_means_a_pass_each_time(idle_watcher: Watcher) -> None:
    begun = timezone.now()
    wallet = make_watched()
    make_watched(chain="polygon", expected_until=begun + 30 * MINUTE)
    make_watched(mode="test", expected_until=begun + 30 * MINUTE)
    make_watched(removed_at=begun, expected_until=begun + 30 * MINUTE)
    read_all(idle_watcher, now=begun)
    assert passes(idle_watcher, 10, since=begun) == 0
    expect_payouts([wallet.pk], until=begun + 30 * MINUTE)
    assert passes(idle_watcher, 60, since=begun) == 60
    assert passes(idle_watcher, 10, since=begun + 34 * MINUTE) == 1


def test_an_exact_amount_chain_wakes_when_a_payout_may_leave_a_wallet_on_it(idle_ethereum_watcher: Watcher) -> None:
    now = timezone.now()
    wallet = make_watched(chain="ethereum")
    read_all(idle_ethereum_watcher, now=now)
    assert idle_ethereum_watcher.tick(now=now) is PassOutcome.NOT_DUE
    expect_payouts([wallet.pk], until=now)
    assert idle_ethereum_watcher.tick(now=now) is PassOutcome.IDLE


def test_a_new_checkout_is_watched_from_the_next_pass_on(base_node: Anvil, idle_watcher: Watcher) -> None:
    now = timezone.now()
    read_all(idle_watcher, now=now)
    assert idle_watcher.tick(now=now) is PassOutcome.NOT_DUE
    deposit = payable_until(now + 30 * MINUTE)
    transfer(base_node, payer(base_node), USDC, address_of(deposit), 25)
    assert idle_watcher.tick(now=now) is PassOutcome.IDLE
    assert Transfer.objects.get().units == 25


@pytest.mark.parametrize(
    ("ago", "is_expected"), [(2 * MINUTE, True), (4 * MINUTE, False)], ids=["on its way", "too late"]
)
def test_a_checkout_is_waited_for_until_its_last_payment_may_have_been_mined(
    idle_watcher: Watcher, ago: timedelta, is_expected: bool
) -> None:
    now = timezone.now()
    payable_until(now - ago)
    read_all(idle_watcher, now=now)
    wanted = PassOutcome.IDLE if is_expected else PassOutcome.NOT_DUE
    assert idle_watcher.tick(now=now) is wanted


def test_late_money_is_seen_within_a_minute_and_followed_until_it_is_final(
    base_node: Anvil, idle_watcher: Watcher
) -> None:
    now = timezone.now()
    deposit = payable_until(now - timedelta(days=3))
    read_all(idle_watcher, now=now)
    transfer(base_node, payer(base_node), USDC, address_of(deposit), 25)
    assert idle_watcher.tick(now=now + timedelta(seconds=59)) is PassOutcome.NOT_DUE
    assert idle_watcher.tick(now=now + MINUTE) is PassOutcome.IDLE
    assert Transfer.objects.get().state == TransferState.DETECTED
    base_node.mine(6)
    assert idle_watcher.tick(now=now + MINUTE) is PassOutcome.IDLE
    assert Transfer.objects.get().state == TransferState.CONFIRMED
    assert idle_watcher.tick(now=now + MINUTE) is PassOutcome.NOT_DUE


def test_a_chain_that_fell_behind_is_read_on_until_it_caught_up(base_node: Anvil) -> None:
    public = make_watcher(base_node.url, NETWORK="mainnet")
    now = timezone.now()
    read_all(public, now=now)
    base_node.mine(300)
    outcomes = [public.tick(now=now + MINUTE) for _ in range(12)]
    assert outcomes.count(PassOutcome.AHEAD) > 2
    assert outcomes[-1] is PassOutcome.NOT_DUE
    assert ChainCursor.objects.get().height == base_node.block_number()
    public.close()


def test_a_watcher_that_has_just_begun_reads_whatever_was_read_before(base_node: Anvil, idle_watcher: Watcher) -> None:
    now = timezone.now()
    read_all(idle_watcher, now=now)
    idle_watcher.stop()
    other = make_watcher(base_node.url, owner="two")
    assert other.tick(now=now) is PassOutcome.IDLE
    assert other.tick(now=now) is PassOutcome.NOT_DUE
    other.close()


def test_a_second_watcher_stands_by_while_the_first_rests(base_node: Anvil, idle_watcher: Watcher) -> None:
    read_all(idle_watcher)
    other = make_watcher(base_node.url, owner="two")
    assert idle_watcher.tick(now=timezone.now()) is PassOutcome.NOT_DUE
    assert other.tick(now=timezone.now()) is PassOutcome.STANDBY
    other.close()


def test_a_time_that_a_wrong_clock_wrote_is_not_waited_for(idle_watcher: Watcher) -> None:
    read_all(idle_watcher)
    ChainCursor.objects.update(due_at=timezone.now() + timedelta(days=1))
    assert idle_watcher.tick(now=timezone.now()) is PassOutcome.IDLE


def test_deposits_there_by_mistake_leave_an_exact_amount_chain_idle(idle_ethereum_watcher: Watcher) -> None:
    payable_until(timezone.now() + 30 * MINUTE)
    read_all(idle_ethereum_watcher)
    assert idle_ethereum_watcher.tick(now=timezone.now()) is PassOutcome.NOT_DUE


def test_an_exact_amount_chain_wakes_when_a_wallet_of_it_is_expected_to_be_paid(idle_ethereum_watcher: Watcher) -> None:
    now = timezone.now()
    read_all(idle_ethereum_watcher, now=now)
    wallet = make_wallet(make_merchant(), "ethereum")
    other = make_wallet(make_merchant(), "tron", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb")
    expect_payments("tron", address=other.address, until=now + 30 * MINUTE)
    assert idle_ethereum_watcher.tick(now=now) is PassOutcome.NOT_DUE
    expect_payments("ethereum", address=wallet.address, until=now + 30 * MINUTE)
    assert idle_ethereum_watcher.tick(now=now) is PassOutcome.IDLE


def test_while_it_rests_a_chain_costs_a_few_short_questions(idle_watcher: Watcher) -> None:
    read_all(idle_watcher)
    with CaptureQueriesContext(connection) as queries:
        assert idle_watcher.tick(now=timezone.now()) is PassOutcome.NOT_DUE
    assert len(queries) == 2
