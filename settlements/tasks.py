"""What beat rings for settlements: transactions on their way, and batches that were begun."""

import structlog
from celery import shared_task
from django.utils import timezone

from settlements.gas.keys import gas_keys
from settlements.running import alone, forwarder_chains
from settlements.services.broadcasting import gas_node, refresh_balances, tend
from settlements.services.sweeping import resume
from wallets.chains.base import ChainError

log = structlog.get_logger(__name__)


@shared_task(name="settlements.tend")
def tend_transactions() -> None:
    """Look after every chain's transactions, and go on with the batches behind them."""
    if not gas_keys():
        return
    for spec in forwarder_chains():
        with alone(f"tend:{spec.name}") as is_ours:
            if is_ours:
                _tend(spec.name)


@shared_task(name="settlements.refresh_balances")
def refresh_gas_balances() -> None:
    """Ask what the gas accounts hold."""
    if not gas_keys():
        return
    for spec in forwarder_chains():
        try:
            with gas_node(spec.name) as node:
                refresh_balances(spec.name, node=node, now=timezone.now())
        except ChainError as error:
            log.warning("gas not counted", chain=spec.name, error=str(error))


def _tend(chain: str) -> None:
    try:
        with gas_node(chain) as node:
            tend(chain, node=node, now=timezone.now())
            resume(chain, node=node, now=timezone.now())
    except ChainError as error:
        log.warning("gas not tended", chain=chain, error=str(error))
