"""A chain behind two proxies, its watcher, and the pass that looks again: for tests of reconciliation."""

from collections.abc import Callable
from typing import Any

from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from tests.nodes.proxy import RpcProxy, as_if_busy, results
from tests.wallets.chains.rpc.test_pool import Clock
from tests.wallets.factories import address_of, local_spec, make_deposit, make_watcher, read_all
from tests.wallets.paying import transfer
from wallets.models import ChainCursor, SourceDifference
from wallets.reconciliation.passes import Reconciler
from wallets.watchers.blocks import Watcher

USDC = token_address("USDC")
EVERY = 300.0


class Books:
    """A chain behind two proxies, its watcher, and the pass that looks again."""

    def __init__(self, node: Anvil, chain: str, *proxies: RpcProxy) -> None:
        self.node, self.first, self.second = node, proxies[0], proxies[-1]
        urls = [proxy.url for proxy in proxies]
        self.clock = Clock()
        self.watcher: Watcher = make_watcher(*urls, chain=chain)
        spec = local_spec(*urls, chain=chain)
        self.reconciler = Reconciler(spec, owner="one", every=EVERY, clock=self.clock)

    def pay(self, to: str | None = None, units: int = 25) -> str:
        """Pay, and let the watcher read it once it is final."""
        to = to or address_of(make_deposit())
        tx_hash = transfer(self.node, payer(self.node), USDC, to, units)
        self.node.mine(6)
        read_all(self.watcher)
        return tx_hash

    def compare(self) -> None:
        """Do a whole pass, and let the watcher deal with what it found."""
        read_all(self.watcher)
        self.clock.seconds += EVERY
        for _ in range(20):
            self.reconciler.tick(now=timezone.now())
        read_all(self.watcher)

    def close(self) -> None:
        """Close the connections."""
        self.watcher.close()
        self.reconciler.close()


Open = Callable[..., Books]


def without_logs(method: str, result: Any) -> Any:
    """Tell of no log at all."""
    return [] if method == "eth_getLogs" else as_if_busy(result)


LEAVES_OUT = results(without_logs)


def differences() -> list[tuple[str, str, str]]:
    """What was told to the operator, in order: kind, transaction, source."""
    rows = SourceDifference.objects.order_by("pk")
    return list(rows.values_list("kind", "tx_hash", "source"))


def cursor() -> ChainCursor:
    """The only chain's."""
    return ChainCursor.objects.get()


def without(tx_hash: str) -> Callable[[Any, Any], Any]:
    """Tell of every log but this transaction's; for `one_by_one`."""

    def answer(request: Any, ask: Any) -> Any:
        told = ask(request)
        if request["method"] == "eth_getLogs":
            told["result"] = [log for log in told["result"] if log["transactionHash"] != tx_hash]
        return told | {"result": as_if_busy(told["result"])}

    return answer
