"""Records a node's answers: the chain's adapter asks, and each exchange becomes a file like those beside this one.

`script/record-chain NAME URL [ACCOUNT-OR-HASH ...]`. Other settings come from `CHAIN_*`. Exits with 1 if nothing was answered.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from wallets.chains.base import (
    Account,
    AccountAdapter,
    AddressError,
    BlockAdapter,
    ChainError,
    Head,
    RangeTooLargeError,
)
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.family import ChainSpec
from wallets.chains.registry import load_chains, open_pool
from wallets.chains.rpc.client import Node
from wallets.chains.solana.adapter import SolanaAdapter
from wallets.chains.ton.adapter import TonAdapter
from wallets.chains.tron.grid import open_node

T = TypeVar("T")

OF_EACH: Final = 3
"""How many different exchanges of one method are kept."""

_BLOCKS: Final = 4
# How far back an account is read: blocks, and seconds.
_SPAN: Final = 5_000
_NOT_A_NAME: Final = re.compile(r"[^A-Za-z0-9]+")


@dataclass
class Recorder:
    """Keeps what nodes of a chain answer, without their keys."""

    chain: str
    exchanges: list[dict[str, Any]] = field(default_factory=list)
    _seen: Counter[str] = field(default_factory=Counter)

    def watch(self, node: Node) -> None:
        """Keep every exchange with a node from now on."""
        exchange = node._exchange

        def kept(verb: str, target: str, body: bytes | None, seconds: float) -> tuple[int, float | None, bytes]:
            status, retry_after, answer = exchange(verb, target, body, seconds)
            for question, told in _parts(node, verb, target, body, answer):
                self._keep(node, question, told, status=status)
            return status, retry_after, answer

        node._exchange = kept  # type: ignore[method-assign]

    def write(self, folder: Path) -> list[Path]:
        """Write each exchange to a file of its own; return the files."""
        folder.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        for number, told in enumerate(self.exchanges, 1):
            name = _NOT_A_NAME.sub("_", told["request"]["name"]).strip("_")
            path = folder / f"{self.chain}_{name}.{number}.json"
            path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
            written.append(path)
        return written

    def _keep(self, node: Node, question: Any, answer: Any, *, status: int) -> None:
        name = question["name"]
        # A refusal is rarer than an answer, and is kept beside it.
        kind = f"{name} {status} {isinstance(answer, dict) and 'error' in answer}"
        if self._seen[kind] == OF_EACH:
            return
        self._seen[kind] += 1
        told = {
            "source": f"{node.label}, {datetime.now(UTC):%Y-%m-%d}",
            "license": "n/a",
            "kind": "recorded",
            "notes": f"HTTP status {status}.",
            "request": question,
            "response": answer,
        }
        text = json.dumps(told)
        for secret in node._secrets:
            text = text.replace(secret, "[redacted]")
        self.exchanges.append(json.loads(text))


def _parts(
    node: Node, verb: str, target: str, body: bytes | None, answer: bytes
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Take an exchange apart: one question and its answer at a time."""
    told = _parsed(answer)
    asked = json.loads(body) if body else None
    if isinstance(asked, list) and isinstance(told, list):
        by_id = {one.get("id"): one for one in told if isinstance(one, dict)}
        for one in asked:
            yield {"name": one["method"]} | one, by_id.get(one["id"])
    elif isinstance(asked, dict) and "method" in asked:
        yield {"name": asked["method"]} | asked, told
    elif isinstance(asked, list):
        yield {"name": "batch", "batch": asked}, told
    else:
        # The node's own query holds its key.
        path = target.removeprefix(node._base.rstrip("/")).replace(node._query, "")
        name = path.partition("?")[0]
        yield {"name": name, "url": f"{verb} {path}", "body": asked}, told


def _parsed(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except ValueError:
        return answer[:2_000].decode(errors="replace")


def record(spec: ChainSpec, named: Sequence[str]) -> Recorder:
    """Ask a chain's nodes what the product asks, about some accounts and transactions as well; say what fails."""
    recorder = Recorder(spec.name)
    pool = open_pool(spec)
    for member in pool._members:
        recorder.watch(member.node)
    adapter = spec.family.open_adapter(spec, pool)
    _try(adapter.genesis)
    _try(adapter.finalized)
    head = _try(adapter.head)
    if head is not None:
        if isinstance(adapter, EvmAdapter):
            _try(partial(_read_blocks, adapter, head))
        for name in named:
            _try(partial(_ask_about, adapter, name, spec, head, recorder))
    adapter.close()
    return recorder


def _ask_about(
    adapter: BlockAdapter | AccountAdapter, name: str, spec: ChainSpec, head: Head, recorder: Recorder
) -> None:
    """Look a transaction up, or read what an account received."""
    key = _key(spec, name)
    if key is None:
        adapter.find(name)
    elif isinstance(adapter, SolanaAdapter | TonAdapter):
        adapter.read_accounts([_account(name, key, head)], head=head)
    else:
        _list_on_grids(spec, name, recorder)


def _read_blocks(adapter: EvmAdapter, head: Head) -> None:
    """Read the newest blocks and look up a transaction in them; one block where a node tells no more."""
    for blocks in (_BLOCKS, 1):
        try:
            reading = adapter.read(
                max(head.block.height - blocks + 1, 0),
                head.block.height,
                head=head,
                hint=None,
                ours=lambda found: {*sorted(found)[:OF_EACH]},
            )
        except RangeTooLargeError:
            continue
        if reading.transfers:
            adapter.find(reading.transfers[0].tx_hash)
        return


def _account(address: str, key: bytes, head: Head) -> Account:
    time = datetime.fromtimestamp(head.block.time.timestamp() - _SPAN, UTC)
    return Account(key, address, max(head.block.height - _SPAN, 0), time, most=OF_EACH)


def _list_on_grids(spec: ChainSpec, address: str, recorder: Recorder) -> None:
    for url in spec.grid_urls:
        node = open_node(spec, url)
        recorder.watch(node)
        node.get(f"v1/accounts/{address}/transactions/trc20", [("limit", "20")])
        node.close()


def _key(spec: ChainSpec, name: str) -> bytes | None:
    """The key of an account; None for what is a transaction's hash."""
    try:
        return spec.family.address_key(name)
    except AddressError:
        return None


def _try(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except ChainError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return None


def main(arguments: Sequence[str]) -> int:
    """Record one chain as the command line says; return the exit status."""
    parser = argparse.ArgumentParser(prog="script/record-chain")
    parser.add_argument("name", help="base, polygon, solana, ton, tron or ethereum")
    parser.add_argument("url", help="the node, with its key if it needs one")
    parser.add_argument("named", nargs="*", help="accounts and transactions")
    parser.add_argument("--to", type=Path, help="where to write; var/recorded/NAME")
    given = parser.parse_args(arguments)
    settings = {name.removeprefix("CHAIN_"): value for name, value in os.environ.items() if name.startswith("CHAIN_")}
    settings[f"{given.name.upper()}_RPC_URLS"] = given.url
    chains = load_chains(settings.get("NETWORK", "mainnet"), settings)
    if given.name not in chains:
        parser.error(f"no chain is called {given.name}")
    recorder = record(chains[given.name], given.named)
    for path in recorder.write(given.to or Path("var/recorded") / given.name):
        print(path)  # noqa: T201
    return 0 if recorder.exchanges else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
