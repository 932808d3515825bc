"""A real EVM node on loopback: anvil, from the npm package named in package.json."""

import json
import os
import platform
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from localnet.errors import NodeError, NodeMissingError, NodeStartError
from localnet.npm import package_folder
from localnet.process import JsonRpcNode

START_SECONDS = 120.0
RECEIPT_SECONDS = 120.0
# How long what takes blocks away waits for the last one. Transactions sent while none were made may wait for ever.
LAST_BLOCK_SECONDS = 1.0
POLL_SECONDS = 0.002
GAS = 1_000_000
# Past its usual 500 blocks, undone ones counted, anvil keeps older states on disk. A fork from one of those begins with an
# empty state: contracts are gone, and a payment succeeds without a log (test_anvil). That failed fork tests now and then,
# by how many blocks other tests had mined before. Chains that are kept run longer and are never forked.
_STATES_IN_MEMORY = 100_000

Found = TypeVar("Found")


@dataclass(frozen=True)
class FundedAccount:
    """One of the node's own accounts, rich from the first block. The keys are anvil's public development keys."""

    address: str
    key: str


def anvil_binary() -> Path:
    """The native program, past npm's Node.js wrapper, which would stand between us and its signals.

    Raises NodeMissingError when npm has not installed it for this platform.
    """
    machine = {"x86_64": "amd64", "aarch64": "arm64"}
    system, processor = platform.system().lower(), platform.machine().lower()
    package = f"anvil-{system}-{machine.get(processor, processor)}"
    folder = package_folder(f"@foundry-rs/{package}")
    binary = folder / "bin" / "anvil" if folder else None
    if binary is None or not os.access(binary, os.X_OK):
        raise NodeMissingError(f"No anvil for {package}: install Node.js and run npm ci.")
    return binary


class Anvil(JsonRpcNode):
    """One chain. Use it as a context manager, or call start and stop.

    `state` is a file that carries the chain from one start to the next: loaded at start, written every
    `state_interval` seconds and at stop. `block_time` is in seconds; without it each transaction makes a block.
    `states` is how many blocks can still be asked about what accounts held then; each costs memory.
    `extra` are further command-line arguments. Port None lets the system choose a free one.
    """

    def __init__(
        self,
        chain_id: int,
        *,
        port: int | None = None,
        state: Path | None = None,
        state_interval: int = 5,
        block_time: float | None = None,
        states: int = _STATES_IN_MEMORY,
        extra: Sequence[str] = (),
    ) -> None:
        super().__init__(port)
        self.chain_id = chain_id
        self.accounts: list[FundedAccount] = []
        self.automine = block_time is None
        self._state = state
        self._state_interval = state_interval
        self._block_time = block_time
        self._states = states
        self._extra = tuple(extra)

    def start(self) -> Self:
        """Start the node and return once it answers. Raises NodeMissingError or NodeStartError."""
        self.prepare_state()
        with tempfile.TemporaryFile() as output:
            self._process = subprocess.Popen(  # noqa: S603 - no shell, our own arguments
                self.command(), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
            try:
                self._read_banner(output)
                # Otherwise it logs a line for every request.
                self.rpc("anvil_setLoggingEnabled", False)
            except BaseException:
                self.stop()
                raise
        return self

    def block_number(self) -> int:
        """The height of the newest block."""
        return int(self.rpc("eth_blockNumber"), 16)

    def block(self, number: int | str = "latest") -> dict[str, Any]:
        """Return one block by height or tag, as the node reports it."""
        tag = hex(number) if isinstance(number, int) else number
        block: dict[str, Any] = self.rpc("eth_getBlockByNumber", tag, False)
        return block

    def balance(self, address: str) -> int:
        """Native coin of an address, in wei."""
        return int(self.rpc("eth_getBalance", address, "latest"), 16)

    def code(self, address: str) -> bytes:
        """Return the code deployed at an address; empty if there is none."""
        return bytes.fromhex(self.rpc("eth_getCode", address, "latest")[2:])

    def mine(self, blocks: int = 1) -> None:
        """Add empty blocks. Slow past a thousand in all: anvil keeps every one of them."""
        self.rpc("anvil_mine", hex(blocks))

    def set_automine(self, enabled: bool) -> None:
        """Whether each transaction is put into a block at once, or waits for mine."""
        self.rpc("evm_setAutomine", enabled)
        self.automine = enabled

    def set_next_timestamp(self, seconds: int) -> None:
        """Give the next block this Unix time, which must be later than the newest block's."""
        self.rpc("evm_setNextBlockTimestamp", seconds)

    def set_clock(self, seconds: int) -> None:
        """Let the node's clock go on from this Unix time. Going back to a snapshot turns it back to the snapshot's."""
        self.rpc("evm_setTime", seconds)

    def snapshot(self) -> str:
        """Take a snapshot and return its id; `revert` accepts it once. What was sent before is in it."""
        self._await_last_block()
        snapshot: str = self.rpc("evm_snapshot")
        return snapshot

    def revert(self, snapshot: str) -> None:
        """Go back to a snapshot. Raises NodeError when the node does not have it (any more)."""
        if self.rpc("evm_revert", snapshot) is not True:
            raise NodeError(0, f"There is no snapshot {snapshot}.", None)

    @contextmanager
    def rolled_back(self) -> Iterator[None]:
        """Revert all changes to the chain made within the `with` block."""
        snapshot = self.snapshot()
        try:
            yield
        finally:
            self.roll_back(snapshot)

    def roll_back(self, snapshot: str) -> None:
        """Go back to a snapshot, and forget the transactions that wait for a block, which it does not cover."""
        self._await_last_block()
        self.rpc("anvil_dropAllTransactions")
        self.set_automine(self._block_time is None)
        self.revert(snapshot)

    def reorg(self, depth: int, *, include: Sequence[tuple[str, int]] = ()) -> None:
        """Replace the newest `depth` blocks by as many others.

        Their transactions are gone, but for those in `include`: pairs of a raw signed transaction and the new block
        that takes it, 0 for the first replaced one.
        """
        self._await_pool()
        self.rpc("anvil_reorg", depth, [list(pair) for pair in include])

    def shorten(self, depth: int) -> None:
        """Take the newest `depth` blocks away and put none in their place."""
        self._await_pool()
        self.rpc("anvil_rollback", depth)

    def sign(self, account: FundedAccount, *, to: str, data: bytes = b"", value: int = 0, gas: int = GAS) -> str:
        """A raw signed transaction (hex) with the account's next nonce; `value` in wei. An empty `to` creates."""
        # Slow to import, and not every user signs.
        from eth_account import Account

        fields = {
            "chainId": self.chain_id,
            "nonce": int(self.rpc("eth_getTransactionCount", account.address, "pending"), 16),
            # Not eth_gasPrice, which follows the tips of the blocks before, our own among them.
            "gasPrice": 2 * int(self.block()["baseFeePerGas"], 16),
            "gas": gas,
            "value": value,
            "data": "0x" + data.hex(),
            "to": to,
        }
        raw: str = Account.sign_transaction(fields, account.key).raw_transaction.to_0x_hex()
        return raw

    def send(self, account: FundedAccount, *, to: str, data: bytes = b"", value: int = 0, gas: int = GAS) -> str:
        """Sign and send a transaction; return its hash. Raises NodeError when the node refuses it.

        A transaction that reverts on chain is accepted here: look at its receipt.
        """
        raw = self.sign(account, to=to, data=data, value=value, gas=gas)
        sent: str = self.rpc("eth_sendRawTransaction", raw)
        return sent

    def receipt(self, tx_hash: str) -> dict[str, Any]:
        """A transaction's receipt, waiting until it is in a block and waits for none. Raises NodeError after two minutes."""

        def mined() -> dict[str, Any] | None:
            receipt: dict[str, Any] | None = self.rpc("eth_getTransactionReceipt", tx_hash)
            # The node may tell of a receipt a moment before its newest block is the one that has it.
            is_told = receipt and int(receipt["blockNumber"], 16) <= self.block_number()
            return receipt if is_told and not self._is_pooled(tx_hash) else None

        receipt = _poll(mined, seconds=RECEIPT_SECONDS)
        if receipt is None:
            raise NodeError(0, f"Transaction {tx_hash} is in no block.", None)
        return receipt

    def await_blocks(self) -> None:
        """Wait until what was sent is in a block, where each transaction makes one: the node tells its hash a moment before.

        Raises NodeError after two minutes.
        """
        if self.automine and _poll(self._has_mined_all, seconds=RECEIPT_SECONDS) is None:
            raise NodeError(0, "A transaction is in no block.", None)

    def _await_last_block(self) -> None:
        """Wait until no block is being made: it would come on top of the older chain at its own height, above missing ones."""
        if self.automine:
            _poll(self._has_mined_all, seconds=LAST_BLOCK_SECONDS)

    def _has_mined_all(self) -> bool | None:
        return True if self.rpc("txpool_status")["pending"] == "0x0" else None

    def _await_pool(self) -> None:
        """Wait until no transaction of a block is in the pool too, which would mine it again once its block is gone.

        anvil takes it out a moment after it tells of the block. Raises NodeError after two minutes.
        """
        self._await_last_block()

        def is_settled() -> bool | None:
            pooled = [tx["hash"] for txs in self.rpc("txpool_content")["pending"].values() for tx in txs.values()]
            return None if any(self.rpc("eth_getTransactionReceipt", name) for name in pooled) else True

        if _poll(is_settled, seconds=RECEIPT_SECONDS) is None:
            raise NodeError(0, "A transaction of a block stays in the pool.", None)

    def _is_pooled(self, tx_hash: str) -> bool:
        """Whether a transaction waits for a block. The node looks there first, so it has no block as long as it does."""
        told = self.rpc("eth_getTransactionByHash", tx_hash)
        return told is None or told["blockNumber"] is None

    def command(self) -> list[str]:
        """Return the arguments that start the node, for callers that run the process instead of `start`."""
        command = [str(anvil_binary()), "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--chain-id", str(self.chain_id)]
        if self._block_time is not None:
            command += ["--block-time", str(self._block_time)]
        if self._state is not None:
            command += ["--state", str(self._state)]
            command += ["--state-interval", str(self._state_interval)]
        else:
            command += ["--prune-history", str(self._states)]
        return [*command, *self._extra]

    def prepare_state(self) -> None:
        """Make sure that anvil can write its state, and set a half-written file aside.

        anvil writes in place, and drops its state in silence when the folder is missing.
        """
        if self._state is None:
            return
        self._state.parent.mkdir(parents=True, exist_ok=True)
        if not self._state.exists():
            return
        if _is_json(self._state):
            _forget_later_first_blocks(self._state)
        else:
            self._state.replace(self._state.with_suffix(".broken"))

    def _read_banner(self, output: IO[bytes]) -> None:
        process = self._process

        def listening() -> re.Match[str] | None:
            if process is not None and process.poll() is not None:
                raise NodeStartError(f"anvil ended at once: {_read(output)[-500:]}")
            return re.search(r"^Listening on 127\.0\.0\.1:(\d+)$", _read(output), re.MULTILINE)

        found = _poll(listening, seconds=START_SECONDS)
        if found is None:
            raise NodeStartError(f"anvil did not start within {START_SECONDS:.0f} s.")
        self.port = int(found[1])
        addresses = re.findall(r"^\(\d+\) (0x[0-9a-fA-F]{40}) ", found.string, re.MULTILINE)
        keys = re.findall(r"^\(\d+\) (0x[0-9a-f]{64})$", found.string, re.MULTILINE)
        pairs = zip(addresses, keys, strict=True)
        self.accounts = [FundedAccount(address, key) for address, key in pairs]


def _read(output: IO[bytes]) -> str:
    # pread leaves alone the file position, which anvil shares and writes at.
    size = os.fstat(output.fileno()).st_size
    return os.pread(output.fileno(), size, 0).decode(errors="replace")


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def _forget_later_first_blocks(path: Path) -> None:
    """Leave one block of height 0 in a state, the oldest.

    anvil makes another one at each start, writes down all of them and loads any: not always the one block 1 follows.
    """
    state = json.loads(path.read_bytes())
    blocks = state["blocks"]
    first_ones = [block for block in blocks if not _header_number(block, "number")]
    if len(first_ones) < 2:
        return
    first = min(first_ones, key=lambda block: _header_number(block, "timestamp"))
    state["blocks"] = [block for block in blocks if block is first or block not in first_ones]
    whole = path.with_suffix(".new")
    whole.write_text(json.dumps(state))
    whole.replace(path)


def _header_number(block: dict[str, Any], name: str) -> int:
    return int(block["header"][name], 16)


def _poll(question: Callable[[], Found | None], *, seconds: float) -> Found | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = question()
        if answer is not None:
            return answer
        time.sleep(POLL_SECONDS)
    return None
