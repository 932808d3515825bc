"""Reading a chain account by account: what is paid is recorded once, whoever is paid to comes first, forks are followed."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command

from tests.wallets.accounts import NOW, Watched, cursor_of, make_account, solana_spec
from tests.wallets.ledger import Ledger, no_answer
from wallets.chains.base import Account, ChainUnavailableError, MalformedAnswerError
from wallets.models import EPOCH, ChainCursor, Transfer
from wallets.states import TransferState
from wallets.watchers import account_ingest as accountingest
from wallets.watchers.leases import LeaseLostError
from wallets.watchers.passes import PassOutcome

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=30)
DETECTED, CONFIRMED, ORPHANED = TransferState


def states() -> list[str]:
    return list(Transfer.objects.order_by("pk").values_list("state", flat=True))


def test_a_payment_is_recorded_in_the_next_pass_and_read_again_without_effect() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    told = watched.pay(wallet)
    assert watched.tick(after=1) is PassOutcome.IDLE
    found = Transfer.objects.get()
    assert (found.tx_hash, found.units, found.wallet_id) == (told.tx_hash, 25, wallet.pk)
    assert (found.merchant_id, found.mode, found.deposit_id) == (wallet.merchant_id, "live", None)
    before = list(Transfer.objects.values())
    watched.tick(after=1)
    assert list(Transfer.objects.values()) == before


def test_what_is_as_deep_as_the_chain_asks_is_confirmed_in_the_same_pass() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.pay(wallet)
    watched.tick()
    assert states() == [CONFIRMED]


def found(*, confirmations: int) -> Watched:
    """A watcher that has just found a payment which needs so many blocks, its own included."""
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    assert watched.watcher.longest_pause(1.0) == 1.0
    watched.ledger.confirmations = confirmations
    watched.pay(wallet)
    watched.tick(after=1)
    assert states() == [DETECTED]
    return watched


def test_a_payment_that_is_final_before_the_next_poll_is_looked_at_then() -> None:
    watched = found(confirmations=2)
    wait = watched.watcher.longest_pause(1.0)
    assert wait == watched.spec.block_seconds < 1.0
    watched.ledger.height += 1
    watched.tick(after=wait)
    assert states() == [CONFIRMED]
    assert watched.watcher.longest_pause(1.0) == 1.0


def test_a_payment_that_is_final_much_later_changes_no_pause() -> None:
    assert found(confirmations=100).watcher.longest_pause(1.0) == 1.0


@pytest.mark.parametrize("grown", [0, -1])
def test_a_chain_that_does_not_grow_is_not_asked_more_often(grown: int) -> None:
    watched = found(confirmations=2)
    assert watched.watcher.longest_pause(1.0) < 1.0
    watched.ledger.height += grown
    assert watched.tick(after=1) is PassOutcome.IDLE
    assert states() == [DETECTED]
    assert watched.watcher.longest_pause(1.0) == 1.0


def test_the_next_payment_to_be_final_ends_the_pause_and_not_the_newest() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    watched.ledger.confirmations = 10
    watched.pay(wallet)
    watched.ledger.height += 7
    watched.pay(wallet)
    watched.tick(after=1)
    assert watched.watcher.longest_pause(1.0) == watched.spec.block_seconds


def test_what_nobody_waits_for_ends_no_pause() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    idle = make_account()
    watched.tick()
    watched.ledger.confirmations = 2
    watched.pay(idle, by=wallet)
    watched.tick(after=61)
    assert states() == [DETECTED]
    assert watched.watcher.longest_pause(1.0) == 1.0


def test_no_pause_ends_before_the_budget_allows_a_request() -> None:
    spec = solana_spec(REQUESTS_PER_MINUTE="60")
    watched, wallet = Watched(spec=spec), make_account(expected_until=LATER)
    watched.tick()
    watched.ledger.confirmations = 2
    watched.pay(wallet)

    def cost(_account: Account) -> None:
        watched.ledger.requests += 20

    watched.ledger.trouble = cost
    watched.tick(after=60)
    assert states() == [DETECTED]
    assert 10.0 < watched.watcher.longest_pause(60.0) < 60.0


def test_a_wallet_is_read_from_the_head_on_and_vouched_for_from_its_first_reading() -> None:
    watched = Watched()
    watched.tick()
    wallet = make_account()
    watched.pay(wallet)
    watched.ledger.height += 100
    watched.tick(after=1)
    cursor, chain = cursor_of(wallet), ChainCursor.objects.get()
    assert not Transfer.objects.exists()
    assert (cursor.height, cursor.height_time) == (watched.ledger.height, watched.ledger.time(watched.ledger.height))
    assert cursor.read_through_at == cursor.read_at == watched.now
    assert (chain.height, chain.head, chain.head_at) == (watched.ledger.height, watched.ledger.height, watched.now)


def test_a_replaced_wallet_is_read_too() -> None:
    watched, wallet = Watched(), make_account()
    type(wallet).objects.update(retired_at=NOW)
    watched.tick()
    watched.pay(wallet)
    watched.tick(after=60)
    assert Transfer.objects.get().wallet_id == wallet.pk


def test_a_public_chain_is_not_vouched_for_past_the_time_of_its_head() -> None:
    watched = Watched(spec=solana_spec(NETWORK="mainnet"))
    wallet = make_account()
    watched.tick()
    assert cursor_of(wallet).read_through_at == watched.ledger.time(watched.ledger.height)


def test_while_nodes_disagree_about_the_head_nothing_is_vouched_for() -> None:
    watched, wallet = Watched(Ledger(agreed=False)), make_account(expected_until=LATER)
    watched.pay(wallet)
    watched.tick()
    assert Transfer.objects.count() == 1
    assert cursor_of(wallet).read_through_at is None
    assert ChainCursor.objects.get().read_through_at is None


def test_a_node_that_lags_moves_nothing_back() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.pay(wallet)
    watched.tick()
    before = cursor_of(wallet).height
    watched.ledger.height -= 10
    assert watched.tick(after=1) is PassOutcome.IDLE
    assert cursor_of(wallet).height == before
    assert ChainCursor.objects.get().head == before
    assert states() == [CONFIRMED]


@pytest.mark.parametrize("is_of_the_future", [True, False])
def test_a_head_that_cannot_be_moves_no_cursor_and_hides_no_payment(is_of_the_future: bool) -> None:
    watched = Watched(spec=solana_spec(NETWORK="mainnet"))
    ledger, wallet = watched.ledger, make_account(expected_until=LATER)
    watched.tick()
    false = ledger.block(ledger.height + 10**9)
    true_time = ledger.time(ledger.height + 2)
    ledger.false_head = false if is_of_the_future else replace(false, time=true_time)
    with pytest.raises(MalformedAnswerError):
        watched.tick(after=1)
    assert ChainCursor.objects.get().failing_since == watched.now
    ledger.false_head = None
    watched.pay(wallet)
    watched.tick(after=1)
    assert states() == [CONFIRMED]
    assert cursor_of(wallet).height == ledger.height
    assert ChainCursor.objects.get().height == ledger.height
    assert ChainCursor.objects.get().failing_since is None


def test_a_head_far_below_the_cursor_is_a_failure() -> None:
    watched = Watched(spec=solana_spec(NETWORK="mainnet"))
    wallet = make_account(expected_until=LATER)
    watched.tick()
    before = cursor_of(wallet).height
    watched.ledger.height -= 151
    with pytest.raises(ChainUnavailableError, match="151 below"):
        watched.tick(after=1)
    assert "151 below" in ChainCursor.objects.get().last_error
    assert cursor_of(wallet).height == before


def test_no_node_means_nothing_moves_and_the_failure_is_told() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    before = cursor_of(wallet).height
    watched.pay(wallet)
    watched.ledger.failure = no_answer()
    with pytest.raises(ChainUnavailableError):
        watched.tick(after=1)
    assert cursor_of(wallet).height == before
    assert ChainCursor.objects.get().last_error == "the node does not answer"
    watched.ledger.failure = None
    watched.tick(after=1)
    assert states() == [CONFIRMED]
    assert ChainCursor.objects.get().last_error == ""


def test_a_watcher_that_lost_its_lease_while_it_read_writes_nothing() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    watched.pay(wallet)
    other = Watched(ledger=Ledger(height=5_000), owner="other", seconds=20)

    def trouble(account: Account) -> None:
        watched.ledger.trouble = lambda account: None
        ChainCursor.objects.update(lease_until=EPOCH)
        other.tick()

    watched.ledger.trouble = trouble
    with pytest.raises(LeaseLostError):
        watched.tick(after=1)
    assert not Transfer.objects.exists()
    assert cursor_of(wallet).height == 5_000


def test_a_second_watcher_stands_by_even_while_the_first_rests() -> None:
    first = Watched()
    make_account()
    second = Watched(ledger=first.ledger, owner="two")
    first.tick()
    for _ in range(20):
        assert first.tick(after=1) is PassOutcome.NOT_DUE
        assert second.tick(after=1) is PassOutcome.STANDBY


def test_a_local_chain_that_was_replaced_is_read_anew() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.pay(wallet)
    watched.tick()
    watched.ledger.first, watched.ledger.height = "another", 3
    watched.ledger.transfers.clear()
    watched.pay(wallet, 26)
    assert watched.tick(after=1) is PassOutcome.AHEAD
    watched.tick()
    found = Transfer.objects.order_by("units").values_list("units", "state")
    assert list(found) == [(25, CONFIRMED), (26, CONFIRMED)]
    assert cursor_of(wallet).height == 4


def test_a_public_chain_with_another_first_block_stops() -> None:
    watched = Watched(spec=solana_spec(NETWORK="mainnet"))
    make_account(expected_until=LATER)
    watched.tick()
    watched.ledger.first = "another"
    watched.restart()
    watched.tick(after=1)
    assert watched.tick(after=1) is PassOutcome.HALTED
    cursor = ChainCursor.objects.get()
    assert "another chain" in cursor.halted_reason
    # No fork is known: what came in the hour before is in doubt.
    assert (cursor.doubted_above, cursor.halted_at is None) == (None, False)


def test_a_person_can_have_a_stopped_chain_read_on_from_a_height() -> None:
    watched = Watched(spec=solana_spec(NETWORK="mainnet"))
    wallet = make_account(expected_until=LATER)
    watched.tick()
    told = watched.pay(wallet)
    watched.ledger.height += 100
    watched.tick(after=1)
    before = cursor_of(wallet)
    call_command("resume_chain", "solana", str(told.block_height - 1))
    lowered = cursor_of(wallet)
    assert (lowered.height, lowered.read_through_at) == (told.block_height - 1, None)
    assert before.height_time is not None
    assert lowered.height_time is not None
    assert lowered.height_time < watched.ledger.time(told.block_height - 1)
    assert states() == [ORPHANED]
    watched.restart()
    watched.tick(after=1)
    assert states() == [CONFIRMED]
    assert cursor_of(wallet).height == watched.ledger.height


def test_a_watcher_that_dies_between_reading_and_writing_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    watched.pay(wallet)

    def dies(*args: Any, **options: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(accountingest, "write_pulse", dies)
        with pytest.raises(SystemExit):
            watched.tick(after=1)
    assert not Transfer.objects.exists()
    watched.owner = "two"
    watched.restart()
    ChainCursor.objects.update(lease_until=EPOCH)
    watched.tick(after=11)
    assert Transfer.objects.get().units == 25


def test_what_a_fork_took_is_orphaned_and_revived_when_it_returns() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=1)
    watched.ledger.drop(told)
    watched.ledger.height += 2
    watched.tick(after=10)
    assert states() == [ORPHANED]
    assert cursor_of(wallet).read_through_at is None
    watched.tick(after=1)
    assert cursor_of(wallet).read_through_at == watched.now
    watched.ledger.mine_again(told)
    watched.tick(after=1)
    assert states() == [CONFIRMED]
    found = Transfer.objects.get()
    assert (found.block_height, found.orphaned_at) == (watched.ledger.height, None)


def test_what_returns_far_below_the_head_is_found_as_well() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=1)
    watched.ledger.drop(told)
    watched.tick(after=10)
    watched.ledger.height += 200
    watched.tick(after=10)
    # A node that had lost sight of it tells of it again where it always was, further down than is read usually.
    watched.ledger.transfers.append(told)
    watched.tick(after=10)
    assert states() == [CONFIRMED]


def test_what_disappears_before_it_is_final_is_not_made_final() -> None:
    watched, wallet = (Watched(Ledger(confirmations=5)), make_account(expected_until=LATER))
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=1)
    assert states() == [DETECTED]
    watched.ledger.drop(told)
    watched.ledger.height += 10
    watched.ledger.forgetful = no_answer()
    watched.tick(after=1)
    # Nobody says whether it is lost: it waits.
    assert states() == [DETECTED]
    watched.ledger.forgetful = None
    watched.tick(after=1)
    assert states() == [ORPHANED]


def test_while_nodes_disagree_about_the_head_nothing_is_orphaned() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=1)
    watched.ledger.drop(told)
    watched.ledger.agreed = False
    watched.tick(after=10)
    assert states() == [CONFIRMED]


def test_what_was_final_on_a_local_chain_that_was_replaced_is_not_looked_for_on_the_new_one() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    watched.pay(wallet)
    watched.tick(after=1)
    assert states() == [CONFIRMED]
    watched.ledger.first = "another genesis"
    watched.ledger.transfers.clear()
    for _ in range(5):
        watched.ledger.height += 5
        watched.tick(after=10)
    # Another process does not know any more that there was another chain.
    watched.restart()
    watched.tick(after=10)
    assert states() == [CONFIRMED]
    watched.pay(wallet, 26)
    watched.tick(after=10)
    assert states() == [CONFIRMED, CONFIRMED]


def test_what_one_lagging_node_does_not_list_is_not_orphaned() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    told = watched.pay(wallet)
    watched.tick(after=1)
    watched.ledger.drop(told)
    watched.ledger.known_elsewhere.add(told.tx_hash)
    watched.tick(after=1)
    assert states() == [CONFIRMED]


def test_what_was_asked_for_after_it_was_final_is_not_asked_for_again() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.pay(wallet)
    watched.tick()
    watched.ledger.height += 100
    watched.tick(after=1)
    before = watched.ledger.requests
    watched.tick(after=1)
    # Head, reading, account, and once: what is final, and whether it is lost.
    assert watched.ledger.requests - before == 5
    before = watched.ledger.requests
    watched.tick(after=1)
    assert watched.ledger.requests - before == 3


def test_where_nothing_is_recent_following_forks_asks_no_node() -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.pay(wallet)
    watched.tick()
    watched.ledger.height += 1_000
    # What it once was asked was what is final by now.
    watched.run(20)
    before = watched.ledger.requests
    for _ in range(10):
        watched.ledger.height += 25
        watched.tick(after=10)
    # The head, the reading and its one account, and a local chain's first block.
    assert watched.ledger.requests - before == 10 * 4
