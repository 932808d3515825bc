"""Large amounts wait for the chain's own finality and for a second node; ordinary ones do not."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from tests.nodes.fixtures import BASE, StartNode
from tests.nodes.proxy import Answer, Ask, Request, RpcProxy, drops, honest, results
from tests.wallets.chains.rpc.test_pool import Clock
from tests.wallets.directions import pay, shop, spend
from tests.wallets.factories import address_of, local_spec, make_deposit, read_all
from tests.wallets.paying import transfer
from tests.wallets.watching import watch
from wallets.chains.family import ChainSpec
from wallets.chains.registry import load_chains, open_pool
from wallets.models import SourceDifference, Transfer, WatchedMovement, WitnessRequest
from wallets.reconciliation.confirmation import LargeAmounts
from wallets.states import ClaimKind, Direction, TransferState
from wallets.transfers.movements import ask_witness_of
from wallets.transfers.service import ask_witnesses
from wallets.watched.service import expect_payouts
from wallets.watcher_process import open_watcher

pytestmark = pytest.mark.django_db(transaction=True)

USDC = token_address("USDC")
THRESHOLD = 10_000_000_000
DETECTED, CONFIRMED = TransferState.DETECTED, TransferState.CONFIRMED


class Station:
    """A chain behind two proxies, its watcher, and what confirms large amounts beside it."""

    def __init__(self, node: Anvil, spec: ChainSpec, proxies: list[RpcProxy]) -> None:
        self.node, self.proxies, self.clock = node, proxies, Clock()
        self.watcher = open_watcher(spec, open_pool(spec), owner="one")
        self.large = LargeAmounts(spec, owner="one", clock=self.clock)

    def pay(self, units: int = THRESHOLD) -> str:
        """Pay, deep enough for an ordinary amount, and let the watcher read it."""
        buyer, to = payer(self.node), address_of(make_deposit())
        tx_hash = transfer(self.node, buyer, USDC, to, units)
        self.node.mine(6)
        read_all(self.watcher)
        return tx_hash

    def look(self, *, after: float = 10.0) -> int:
        """Let some seconds pass and look once; return how many became final."""
        self.clock.seconds += after
        read_all(self.watcher)
        return self.large.tick(now=timezone.now())

    def close(self) -> None:
        self.watcher.close()
        self.large.close()


@contextmanager
def station(node: Anvil, make_spec: Callable[..., ChainSpec] = local_spec, *, nodes: int = 2) -> Iterator[Station]:
    with ExitStack() as stack:
        proxies = [stack.enter_context(RpcProxy(node.url)) for _ in range(nodes)]
        spec = make_spec(*(proxy.url for proxy in proxies))
        opened = Station(node, spec, proxies)
        stack.callback(opened.close)
        yield opened


@pytest.fixture
def on_base(base_node: Anvil) -> Iterator[Station]:
    with station(base_node) as opened:
        yield opened


def the_transfer() -> Transfer:
    return Transfer.objects.get()


def test_depth_alone_confirms_what_is_below_the_threshold(on_base: Station) -> None:
    on_base.pay(THRESHOLD - 1)
    assert (the_transfer().state, the_transfer().witnessed_at) == (CONFIRMED, None)


def test_depth_alone_does_not_confirm_a_large_amount(on_base: Station) -> None:
    on_base.pay()
    assert the_transfer().state == DETECTED


def test_what_two_nodes_know_and_the_chain_calls_final_is_confirmed(on_base: Station) -> None:
    on_base.pay()
    Transfer.objects.update(queued_at=None)
    assert on_base.look() == 1
    found = the_transfer()
    assert found.state == CONFIRMED
    assert found.witnessed_at == found.confirmed_at == found.queued_at is not None
    assert not SourceDifference.objects.exists()


def test_no_node_is_asked_while_no_large_amount_waits(on_base: Station) -> None:
    on_base.pay(THRESHOLD - 1)
    read_all(on_base.watcher)
    asked = [proxy.requests for proxy in on_base.proxies]
    on_base.clock.seconds += 100
    assert on_base.large.tick(now=timezone.now()) == 0
    assert [proxy.requests for proxy in on_base.proxies] == asked


def does_not_know(tx_hash: str) -> Any:
    """Answer as a node whose history lacks a transaction."""

    def change(method: str, result: Any) -> Any:
        is_it = isinstance(result, dict) and result.get("transactionHash") == tx_hash
        return None if method == "eth_getTransactionReceipt" and is_it else result

    return results(change)


def test_what_the_second_node_does_not_know_waits_and_is_told_to_the_operator(on_base: Station) -> None:
    tx_hash = on_base.pay()
    second = on_base.proxies[1]
    second.fault = does_not_know(tx_hash)
    assert on_base.look() == on_base.look(after=100) == 0
    assert the_transfer().state == DETECTED
    difference = SourceDifference.objects.get()
    assert (difference.kind, difference.tx_hash) == ("unknown", tx_hash)
    assert (difference.source, difference.units) == (second.url, THRESHOLD)
    second.fault = honest
    assert on_base.look(after=100) == 1


def test_a_node_that_says_no_is_asked_again_with_growing_patience(on_base: Station) -> None:
    on_base.proxies[1].fault = does_not_know(on_base.pay())
    asked = []
    for _ in range(60):
        before = on_base.proxies[1].requests
        on_base.clock.seconds += 10
        on_base.large.tick(now=timezone.now())
        asked.append(on_base.proxies[1].requests > before)
    times = [number for number, was_asked in enumerate(asked) if was_asked]
    pauses = [later - one for one, later in pairwise(times)]
    assert pauses == sorted(pauses)
    assert pauses[-1] > 10 * pauses[0]


def test_while_the_second_node_is_down_a_large_amount_waits(on_base: Station) -> None:
    on_base.pay()
    on_base.proxies[1].fault = drops
    assert on_base.look() == on_base.look(after=100) == 0
    assert the_transfer().state == DETECTED
    assert not SourceDifference.objects.exists()
    on_base.proxies[1].fault = honest
    assert on_base.look(after=100) == 1


def test_with_one_node_only_finality_alone_confirms(base_node: Anvil) -> None:
    with station(base_node, nodes=1) as alone:
        alone.pay()
        assert alone.look() == 1
    assert (the_transfer().state, the_transfer().witnessed_at) == (CONFIRMED, None)


def a_thousand_times_as_much(method: str, result: Any) -> Any:
    """Tell of every payment as if it had been a thousand times as large."""
    logs = result if method == "eth_getLogs" else []
    if method == "eth_getTransactionReceipt" and result:
        logs = result["logs"]
    for log in logs:
        log["data"] = f"0x{int(log['data'], 16) * 1_000:064x}"
    return result


def test_a_large_amount_that_one_node_made_up_is_never_confirmed(on_base: Station) -> None:
    liar = on_base.proxies[0]
    liar.fault = results(a_thousand_times_as_much)
    on_base.pay(10_000_000)
    assert the_transfer().units == THRESHOLD
    assert on_base.look() == 0
    # Now the honest one is in use, and the liar the other.
    liar.fault = drops
    read_all(on_base.watcher)
    liar.fault = results(a_thousand_times_as_much)
    assert on_base.look(after=100) == on_base.look(after=100) == 0
    assert the_transfer().state == DETECTED


def ask_for_all() -> None:
    """As a checkout does of which these are parts."""
    ids = list(Transfer.objects.values_list("pk", flat=True))
    ask_witnesses(ids, now=timezone.now())
    Transfer.objects.update(queued_at=None)


def test_a_part_that_depth_confirmed_is_vouched_for_when_its_checkout_asks(on_base: Station) -> None:
    tx_hash = on_base.pay(THRESHOLD - 1)
    ask_for_all()
    on_base.proxies[1].fault = does_not_know(tx_hash)
    assert on_base.look() == 0
    assert WitnessRequest.objects.get().answered_at is None
    on_base.proxies[1].fault = honest
    assert on_base.look(after=100) == 1
    found = the_transfer()
    assert found.state == CONFIRMED
    assert found.confirmed_at is not None
    assert found.witnessed_at == found.queued_at is not None
    assert WitnessRequest.objects.get().answered_at == found.witnessed_at
    assert on_base.look(after=100) == 0


def test_with_one_node_only_finality_answers_for_parts(base_node: Anvil) -> None:
    with station(base_node, nodes=1) as alone:
        alone.pay(THRESHOLD - 1)
        ask_for_all()
        assert alone.look() == 1
    assert WitnessRequest.objects.get().answered_at is not None


def test_parts_that_were_asked_about_become_final_when_the_limit_is_switched_off(base_node: Anvil) -> None:
    """Nothing queues them again; without a limit, nobody needs a second node."""
    unlimited = partial(local_spec, LARGE_AMOUNT_USD="0")
    with station(base_node, unlimited) as on_base:
        tx_hash = on_base.pay(THRESHOLD - 1)
        ask_for_all()
        on_base.proxies[1].fault = does_not_know(tx_hash)
        assert on_base.look() == 1
    assert WitnessRequest.objects.get().answered_at is not None
    assert the_transfer().queued_at is not None


def test_who_lost_the_lease_confirms_nothing(on_base: Station) -> None:
    on_base.pay()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wallets_chaincursor SET owner = 'another'")
    on_base.clock.seconds += 10
    assert on_base.large.tick(now=timezone.now()) == 0
    assert the_transfer().state == DETECTED


def test_what_a_fork_moved_while_the_nodes_were_asked_is_not_confirmed(on_base: Station) -> None:
    on_base.pay()

    def forks(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        Transfer.objects.update(block_hash="0x" + "ab" * 32)
        connection.close()
        return honest(proxy, request, ask)

    on_base.proxies[1].fault = forks
    on_base.clock.seconds += 10
    on_base.large.tick(now=timezone.now())
    assert the_transfer().state == DETECTED


def test_what_the_chain_does_not_call_final_yet_waits(start_node: StartNode) -> None:
    # anvil calls final what is two epochs old.
    node = start_node(BASE, extra=["--slots-in-an-epoch", "10"])
    prepare_chain(node)
    with station(node, public_spec) as public:
        public.pay()
        assert public.look() == public.look() == 0
        node.mine(12)
        assert public.look() == 0
        node.mine(3)
        assert public.look() == 1


def test_two_nodes_are_asked_about_a_machines_part_before_it_is_final_and_again_then(start_node: StartNode) -> None:
    node = start_node(BASE, extra=["--slots-in-an-epoch", "10"])
    prepare_chain(node)
    with station(node, public_spec) as public:
        tx_hash = public.pay(THRESHOLD - 1)
        ask_for_all()
        assert public.look() == 0
        Transfer.objects.update(purpose=ClaimKind.X402)
        public.proxies[1].fault = does_not_know(tx_hash)
        assert public.look() == 0
        assert not SourceDifference.objects.exists()
        public.proxies[1].fault = honest
        assert public.look(after=100) == 1
        found = the_transfer()
        assert found.witnessed_at == found.queued_at is not None
        assert WitnessRequest.objects.get().answered_at is None
        assert public.look(after=100) == 0
        node.mine(20)
        assert public.look(after=100) == 1
    assert WitnessRequest.objects.get().answered_at is not None


def paid_out(on: Station, units: int = THRESHOLD) -> WatchedMovement:
    """What leaves a watched wallet, deep enough for an ordinary amount, and its payout asks for a second node's word."""
    wallet = watch(shop(on.node).address)
    expect_payouts([wallet.pk], until=timezone.now())
    pay(on.node, wallet.address, units)
    read_all(on.watcher)
    spend(on.node, units)
    on.node.mine(6)
    read_all(on.watcher)
    found = WatchedMovement.objects.get(direction=Direction.OUT)
    ask_witness_of(found.pk, now=timezone.now())
    WatchedMovement.objects.update(queued_at=None)
    return found


def test_a_movement_of_which_nobody_asks_makes_no_node_busy(on_base: Station) -> None:
    paid_out(on_base)
    WatchedMovement.objects.update(witness_asked_at=None)
    asked = [proxy.requests for proxy in on_base.proxies]
    on_base.clock.seconds += 100
    assert on_base.large.tick(now=timezone.now()) == 0
    assert [proxy.requests for proxy in on_base.proxies] == asked


def test_two_nodes_are_asked_about_a_large_payout(on_base: Station) -> None:
    found = paid_out(on_base)
    second = on_base.proxies[1]
    second.fault = does_not_know(found.tx_hash)
    assert on_base.look() == on_base.look(after=100) == 0
    found.refresh_from_db()
    assert (found.state, found.witness_answered_at, found.queued_at) == (CONFIRMED, None, None)
    difference = SourceDifference.objects.get()
    assert (difference.kind, difference.tx_hash, difference.recipient) == ("unknown", found.tx_hash, found.counterparty)
    second.fault = honest
    assert on_base.look(after=100) == 1
    found.refresh_from_db()
    assert found.witness_answered_at == found.queued_at is not None
    assert on_base.look(after=100) == 0


def test_with_one_node_only_finality_answers_for_a_payout(base_node: Anvil) -> None:
    with station(base_node, nodes=1) as alone:
        found = paid_out(alone)
        assert alone.look() == 1
    found.refresh_from_db()
    assert found.witness_answered_at is not None


def test_who_lost_the_lease_answers_for_no_payout(on_base: Station) -> None:
    found = paid_out(on_base)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wallets_chaincursor SET owner = 'another'")
    on_base.clock.seconds += 10
    assert on_base.large.tick(now=timezone.now()) == 0
    found.refresh_from_db()
    assert found.witness_answered_at is None


def test_what_leaves_a_wallet_waits_for_the_chains_own_finality(start_node: StartNode) -> None:
    node = start_node(BASE, extra=["--slots-in-an-epoch", "10"])
    prepare_chain(node)
    with station(node, public_spec) as public:
        found = paid_out(public)
        assert public.look() == public.look() == 0
        found.refresh_from_db()
        # Final by depth, which does not do for a large one.
        assert (found.state, found.witness_answered_at) == (CONFIRMED, None)
        node.mine(20)
        assert public.look() == 1


def public_spec(*urls: str) -> ChainSpec:
    """A chain that has validators, and so a finality of its own."""
    settings = {
        "BASE_RPC_URLS": ",".join(urls),
        "BASE_CONFIRMATIONS": "6",
        "BASE_CHAIN_ID": str(BASE),
        "BASE_TOKEN_USDC": USDC,
        "BASE_START_BLOCK": "0",
    }
    return load_chains("testnet", settings)["base"]
