"""What watching costs: requests a minute to each chain's nodes, with none to 100,000 open checkouts and 10,000 watched wallets.

The watchers are those of an installation, paced as on the public networks, over local nodes that make blocks as often as
those do. A merchant has a hundred open checkouts each, so 100,000 of them are 1,000 accounts on Solana and TON.
"""

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

from solders.keypair import Keypair

from benchmarks.report import Claim, Report, Series
from benchmarks.sixchains import SixChains, six_chains
from localnet.tron.addresses import to_base58
from wallets.chains.family import ChainFamily
from wallets.chains.registry import CHAINS
from wallets.forwarders.addresses import checksum

OPEN = (0, 10, 1_000, 100_000)
WATCHED = 10_000
PER_MERCHANT = 100
MEASURED_SECONDS = 60.0
BLOCK_SECONDS = {"base": 2.0, "polygon": 2.0, "ethereum": 12.0, "tron": 3.0}
# Catching up with what was made before, and the first look of each account.
SETTLING_SECONDS = 15.0


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Watch a minute at each number of open checkouts; rounds and seconds do not change that."""
    del rounds, seconds
    budgets = _public_budgets()
    settings = {f"CHAIN_{name.upper()}_REQUESTS_PER_MINUTE": str(budget) for name, budget in budgets.items()}
    # As `wallets.networks.poll_seconds` has it for public networks.
    settings |= {
        f"CHAIN_{name.upper()}_POLL_SECONDS": str(max(1.0, block / 4)) for name, block in BLOCK_SECONDS.items()
    }
    with six_chains(**settings) as running, _mining(running):
        return [_measure(running, budgets)]


def _public_budgets() -> dict[str, int]:
    return {facts.name: facts.requests_per_minute for facts in CHAINS}


@contextmanager
def _mining(running: SixChains) -> Iterator[None]:
    """Make blocks on the nodes that make none by themselves, at their chain's pace."""
    stop = threading.Event()
    threads = [
        threading.Thread(target=_mine, args=(running.chains[name].node_url, pace, stop))
        for name, pace in BLOCK_SECONDS.items()
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _mine(url: str, pace: float, stop: threading.Event) -> None:
    from wallets.chains.rpc.client import Node

    node = Node(url)
    while not stop.wait(pace):
        node.call("evm_mine", [])


def _measure(running: SixChains, budgets: dict[str, int]) -> Report:
    steps = {f"{count:,} open": partial(fill, count) for count in OPEN}
    steps[f"{WATCHED:,} watched too"] = partial(_watch, WATCHED)
    series = {(name, step): Series(f"{name} at {step}", "requests/min") for name in running.chains for step in steps}
    for step, fill in steps.items():
        fill()
        for name, requests in _requests_a_minute(running).items():
            series[name, step].rounds.append(requests)
    claims = []
    for name in running.chains:
        most = [series[name, step] for step in steps]
        claims.append(
            Claim(f"{name}: busiest, within its budget", max(one.median for one in most), budgets[name], at_most=True)
        )
    note = (
        "each part of a batch is a request; a chain with nothing open gets one pass a minute, which reads that minute's"
        " blocks one by one near the tip"
    )
    return Report("polling", list(series.values()), claims, [note])


def _requests_a_minute(running: SixChains) -> dict[str, float]:
    from wallets.networks import chain_spec
    from wallets.watcher_process import WatchedChain, watch

    chains = [WatchedChain(chain_spec(name)) for name in running.chains]
    stop = threading.Event()
    watchers = threading.Thread(target=watch, args=(chains,), kwargs={"until": stop.wait})
    watchers.start()
    try:
        time.sleep(SETTLING_SECONDS)
        before = {chain.spec.name: chain.pool.requests for chain in chains}
        time.sleep(MEASURED_SECONDS)
        return {
            chain.spec.name: (chain.pool.requests - before[chain.spec.name]) * 60 / MEASURED_SECONDS for chain in chains
        }
    finally:
        stop.set()
        watchers.join()


def fill(count: int, *, per_merchant: int = PER_MERCHANT) -> None:
    """Bring what is watched up to that of `count` open checkouts, of merchants with a wallet on every chain."""
    from django.utils import timezone

    from accounts.models import Merchant
    from tests.factories import make_merchant
    from wallets.models import DepositAddress, ReceivingWallet
    from wallets.networks import chains

    now = timezone.now()
    exact = [spec for spec in chains().values() if spec.exact_amount_required]
    present = ReceivingWallet.objects.filter(chain=exact[0].name).count()
    for number in range(present, -(-count // per_merchant)):
        merchant = make_merchant(f"merchant {number}")
        ReceivingWallet.objects.bulk_create(
            ReceivingWallet(
                merchant=merchant,
                chain=spec.name,
                address=address,
                key=spec.family.address_key(address),
                expected_until=now + timedelta(days=1),
            )
            for spec in exact
            for address in [_address(spec.family, number)]
        )
    owner, _ = Merchant.objects.get_or_create(name="owner of the deposit addresses")
    first = DepositAddress.objects.count()
    DepositAddress.objects.bulk_create(
        (
            DepositAddress(
                key=_digest("deposit", number)[:20],
                destination=_digest("destination", number)[:20],
                nonce=_digest("nonce", number),
                merchant=owner,
                mode="live",
                watched_until=now + timedelta(days=31),
            )
            for number in range(first, count)
        ),
        batch_size=5_000,
    )


def _watch(count: int) -> None:
    """Have so many wallets watched, each chain's share of them."""
    from tests.factories import make_merchant
    from wallets.models import WatchedWallet
    from wallets.networks import chains
    from wallets.states import WatchStatus

    specs = list(chains().values())
    merchant = make_merchant("who watches")
    WatchedWallet.objects.bulk_create(
        (
            WatchedWallet(
                merchant=merchant,
                mode="live",
                chain=spec.name,
                address=address,
                key=spec.family.address_key(address),
                status=WatchStatus.ACTIVE,
            )
            for number in range(count)
            for spec in [specs[number % len(specs)]]
            for address in [_address(spec.family, number, kind="watched")]
        ),
        batch_size=2_000,
    )


def _digest(kind: str, number: int) -> bytes:
    return hashlib.sha256(f"{kind} {number}".encode()).digest()


def _address(family: ChainFamily, number: int, *, kind: str = "wallet") -> str:
    """A wallet nobody pays, in its chain's canonical form."""
    seed = _digest(kind, number)
    # As many addresses as are wanted, in each family's spelling.
    match family.name:
        case "evm":
            return checksum(seed[:20])
        case "tron":
            return to_base58(checksum(seed[:20]))
        case "solana":
            return str(Keypair.from_seed(seed).pubkey())
        case _:
            return family.canonical_address(f"0:{seed.hex()}")
