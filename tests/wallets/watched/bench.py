"""A chain, its watcher, and the pass over watched wallets beside it, behind nodes that can be made to lie."""

from typing import Any

from localnet.funding import payer
from tests.nodes.proxy import one_by_one
from tests.wallets.books import USDC, Books
from tests.wallets.factories import local_spec, read_all
from tests.wallets.paying import transfer
from tests.wallets.watching import Beside
from wallets.models import WatchedWallet
from wallets.states import WatchStatus

SHOP = "0x000000000000000000000000000000000f5bafe1"


class Bench:
    """A chain, its watcher, and the pass beside it; both proxies can be made to lie."""

    def __init__(self, books: Books, **settings: str) -> None:
        self.books, self.node = books, books.node
        urls = [books.first.url, books.second.url]
        self.spec = local_spec(*urls, **settings)
        self.beside = Beside(self.spec)

    def pay(self, to: str, units: int) -> str:
        return transfer(self.node, payer(self.node), USDC, to, units)

    def open(self) -> None:
        """Let the pass see new wallets and the watcher read a block after that, and open their histories."""
        self.beside.tick(2)
        self.node.mine()
        read_all(self.books.watcher)

    def import_all(self, wallet: WatchedWallet) -> None:
        """Do steps until the wallet's history is whole."""
        for _ in range(60):
            wallet.refresh_from_db()
            if wallet.status == WatchStatus.ACTIVE:
                return
            self.beside.tick(after=60.0)
        raise AssertionError("the import does not come to an end")

    def fault(self, fault: Any) -> None:
        self.books.first.fault = self.books.second.fault = fault


def gives_at_most(blocks: int, asked: list[str] | None = None) -> Any:
    """A provider that gives the logs of so many blocks at once; what it is asked is added to `asked`."""

    def answer(request: Any, ask: Any) -> Any:
        if asked is not None:
            asked.append(request["method"])
        chosen = request["params"][0] if request["method"] == "eth_getLogs" else {}
        if "fromBlock" in chosen:
            span = int(chosen["toBlock"], 16) - int(chosen["fromBlock"], 16) + 1
            if span > blocks:
                error = {"code": -32000, "message": "block range is too large"}
                return {"jsonrpc": "2.0", "id": request["id"], "error": error}
        return ask(request)

    return one_by_one(answer)
