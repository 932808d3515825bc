"""Celery tasks of settlements. Running one twice, or late, does no harm; a lease lets one process work on a chain."""

from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from functools import partial

import structlog
from celery import shared_task
from django.utils import timezone

from settlements.books.check import check_chain, next_to_check
from settlements.errors import NoGasError
from settlements.gas.balances import refresh_balances, refresh_solana_balances
from settlements.gas.keys import gas_keys, solana_gas_keys
from settlements.gas.ledger import open_accounts, open_transactions, prune_raw, prune_spans, prune_sponsored
from settlements.gas.node import GasNode, gas_node
from settlements.gas.solana_relay import tend_sponsored
from settlements.gas.upkeep import tend
from settlements.models import Settlement, SponsoredTransaction
from settlements.states import Outcome, Sender
from settlements.sweeps.outcomes import OPEN_STATUSES
from settlements.sweeps.outflows import note_outflows
from settlements.sweeps.plan import alone, fee_chains, forwarder_chains
from settlements.sweeps.requests import give_up_wallets
from settlements.sweeps.schedule import sweep_due
from settlements.sweeps.service import resume
from wallets.chains.base import ChainError
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool

log = structlog.get_logger(__name__)


@shared_task(name="settlements.tend")
def tend_transactions() -> None:
    """Follow every chain's transactions, and resume their batches."""
    for spec in forwarder_chains():
        if _has_work(spec.name):
            _work(spec.name, "tend", _tend)
    for spec in fee_chains() if SponsoredTransaction.objects.filter(outcome=Outcome.OPEN).exists() else []:
        _attempt(spec.name, "sponsored", partial(_tend_sponsored, spec))


@shared_task(name="settlements.refresh_balances")
def refresh_gas_balances() -> None:
    """Read the gas accounts' balances, and warn operators of low ones."""
    for spec in forwarder_chains() if gas_keys() else []:
        _work(spec.name, "balances", _refresh)
    for spec in fee_chains() if solana_gas_keys() else []:
        _attempt(spec.name, "balances", partial(_refresh_solana, spec))


@shared_task(name="settlements.sweep")
def sweep_due_task() -> None:
    """Run due automatic settlements."""
    if not gas_keys():
        return
    for spec in forwarder_chains():
        _work(spec.name, "sweep", _sweep)


@shared_task(name="settlements.note_outflows")
def note_outflows_task() -> None:
    """Finish settlements of merchants' own wallets, and record third parties' flushes."""
    now = timezone.now()
    for spec in forwarder_chains():
        note_outflows(spec.name, now=now)
    give_up_wallets(now=now)


@shared_task(name="settlements.check_books")
def check_books_task() -> int:
    """Compare the books of a due chain with their rows and with the chain; return how many differences.

    One chain per run, each once a day: a chain with hanging nodes delays no other chain.
    """
    now = timezone.now()
    spec = next_to_check(forwarder_chains(), now=now)
    if spec is None:
        return 0
    note_outflows(spec.name, now=now, everything=True)
    return len(check_chain(spec, now=now).differences)


@shared_task(name="settlements.prune_gas")
def prune_gas_task() -> None:
    """Clear old signed bytes, and old sums of gas."""
    now = timezone.now()
    prune_raw(now=now)
    prune_sponsored(now=now)
    prune_spans(now=now)


def _has_work(chain: str) -> bool:
    begun = Settlement.objects.filter(chain=chain, status__in=OPEN_STATUSES, sender=Sender.GATEWAY)
    return begun.exists() or open_transactions(chain).exists()


def _tend(chain: str, node: GasNode, now: datetime) -> None:
    try:
        open_accounts(chain, node=node)
    except NoGasError as error:
        log.warning("nothing is sent yet", chain=chain, error=str(error))
        return
    tend(chain, node=node, now=now)
    resume(chain, node=node, now=now)


def _refresh(chain: str, node: GasNode, now: datetime) -> None:
    refresh_balances(chain, node=node, now=now)


def _tend_sponsored(spec: ChainSpec) -> None:
    with closing(open_pool(spec)) as pool:
        tend_sponsored(spec, pool=pool)


def _refresh_solana(spec: ChainSpec) -> None:
    refresh_solana_balances(spec, now=timezone.now())


def _sweep(chain: str, node: GasNode, now: datetime) -> None:
    written = sweep_due(chain, node=node, now=now)
    if written:
        log.info("swept", chain=chain, settlements=len(written))


def _work(chain: str, name: str, work: Callable[[str, GasNode, datetime], None]) -> None:
    """Run some work over a chain's nodes, as `_attempt` does."""

    def over_nodes() -> None:
        with gas_node(chain) as node:
            work(chain, node, timezone.now())

    _attempt(chain, name, over_nodes)


def _attempt(chain: str, name: str, work: Callable[[], None]) -> None:
    """Run some work unless another process does; a failing chain does not stop the others."""
    with alone(f"{name}:{chain}") as is_ours:
        if not is_ours:
            return
        try:
            work()
        except ChainError as error:
            log.warning("no gas work done", chain=chain, work=name, error=str(error))
