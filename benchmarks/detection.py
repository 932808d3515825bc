"""How long after its block a payment is seen: from the transfer's block on a local node to the checkout's row saying
`processing` (or more), with the watchers and workers that an installation runs."""

import random
import statistics
import time
from decimal import Decimal

from benchmarks.report import Claim, Report, Series
from benchmarks.sixchains import SixChains, six_chains

POLL_SECONDS = 1.0
# What reading, crediting and writing may take, after the block or, where no node pushes blocks, after the poll.
ALLOWED_SECONDS = 0.3
SAMPLES_PER_ROUND = 6
PATIENCE = 30.0
_LOOK_EVERY = 0.002


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Pay on each chain in turn, six times a round, at random moments between two polls."""
    del seconds
    with six_chains(CHAIN_POLL_SECONDS=str(POLL_SECONDS)) as running:
        merchant = open_shop()
        running.start_readers()
        await_chains(running)
        return [_measure(running, merchant, rounds * SAMPLES_PER_ROUND)]


def open_shop() -> int:
    """Make a merchant who takes payments on all chains; return its id."""
    from django.utils import timezone

    from demo.seed import RECEIVING_WALLETS
    from tests.factories import make_merchant
    from wallets.receiving.service import set_receiving_wallet

    merchant = make_merchant()
    for chain, address in RECEIVING_WALLETS.items():
        set_receiving_wallet(merchant, chain=chain, address=address, now=timezone.now())
    return merchant.pk


def await_chains(running: SixChains) -> None:
    """Return once all chains are read. Raises RuntimeError after half a minute."""
    from django.utils import timezone

    from wallets.selectors import chain_statuses, forget
    from wallets.states import ChainStatus

    deadline = time.monotonic() + PATIENCE
    while True:
        forget()
        statuses = chain_statuses(now=timezone.now())
        if all(statuses[name] == ChainStatus.OK for name in running.chains):
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"not read: {statuses}")
        time.sleep(0.1)


def _measure(running: SixChains, merchant: int, samples: int) -> Report:
    from wallets.networks import chain_spec

    series, claims = [], []
    for name in running.chains:
        seen = Series(f"{name}: block to row", "ms")
        # The first one waits for whatever is still starting.
        _one_payment(running, merchant, name)
        for _ in range(samples):
            seen.rounds.append(_one_payment(running, merchant, name) * 1000)
        series.append(seen)
        is_pushed = chain_spec(name).ws_url is not None
        p95 = statistics.quantiles(seen.rounds, n=20)[-1] / 1000
        claims.append(
            Claim(
                f"{name}: p95 seconds, {'pushed' if is_pushed else f'poll interval {POLL_SECONDS:g} s'}",
                p95,
                ALLOWED_SECONDS + (0 if is_pushed else POLL_SECONDS),
                at_most=True,
            )
        )
    note = f"{samples} payments a chain; the figure is the median (p50), the range all of them"
    return Report("detection", series, claims, [note])


def _one_payment(running: SixChains, merchant: int, chain: str) -> float:
    """Return the seconds from the transfer's being in a block to its checkout's having moved."""
    from checkouts.models import Checkout

    checkout_id, option = choose(merchant, chain)
    # The watchers are told apart from our clock: a payment may come at any moment between two looks.
    time.sleep(random.uniform(POLL_SECONDS, 2 * POLL_SECONDS))
    send(running, chain, option)
    paid_at = time.perf_counter()
    row = Checkout.objects.filter(pk=checkout_id).exclude(status="pending")
    while not row.exists():
        if time.perf_counter() - paid_at > PATIENCE:
            raise RuntimeError(f"a payment on {chain} was not seen")
        time.sleep(_LOOK_EVERY)
    return time.perf_counter() - paid_at


def send(running: SixChains, chain: str, option: dict[str, str]) -> None:
    """Pay a checkout by one of its options; return once the payment is in a block."""
    from demo.wallet import pay

    pay(running.chains[chain].as_json(), token=option["tokens"][0], to=option["address"], amount=option["payAmount"])


def choose(merchant: int, chain: str, *, webhook_url: str = "") -> tuple[int, dict[str, str]]:
    """Make a checkout as the API does, and choose its option on a chain."""
    from django.utils import timezone

    from accounts.states import Mode
    from checkouts.creation.service import create_checkout
    from checkouts.inputs import NewCheckout
    from checkouts.models import Checkout
    from checkouts.options import option
    from checkouts.reservations import choose_exact_amount
    from checkouts.states import TestScenario
    from wallets.networks import chain_spec

    wanted = NewCheckout(
        amount=Decimal("25.00"),
        currency="USD",
        description="",
        metadata="{}",
        customer_email="",
        redirect_url="",
        webhook_url=webhook_url,
        expires_in=1800,
        customer_ref="",
        product_ref="",
        order_ref="",
        test_scenario=TestScenario.COMPLETED,
    )
    row = create_checkout(merchant, Mode.LIVE, wanted, now=timezone.now()).row
    spec = chain_spec(chain)
    reserved = choose_exact_amount(row.id, now=timezone.now()) if spec.exact_amount_required else None
    checkout = Checkout.objects.get(pk=row.id)
    shown = option(checkout, spec, token=None, reserved=reserved, is_payable=True)
    return row.id, shown
