"""The interface of the demo's nodes: programs to keep running, and a chain prepared for payments."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Protocol

from gateway.core.embedded.processes import ChildCommand
from localnet.errors import NodeStartError

HOST = "127.0.0.1"
START_SECONDS = 30.0
STEP_SECONDS = 0.02

CommandMaker = Callable[..., ChildCommand]
"""Makes a program of the stack, as `make(name, *argv)`."""


@dataclass(frozen=True)
class LocalChain:
    """A chain to pay on: where its node is, and a wallet that holds coin and tokens.

    `kind` is the chain's family. The gateway reads `rpc_url`; transfers are sent to `node_url`, which is another one only
    on Tron, whose JSON-RPC takes none. `grid_url` is Tron's second interface. `ws_url` is where the node pushes notices.
    """

    name: str
    kind: str
    rpc_url: str
    node_url: str
    tokens: Mapping[str, str]
    funded_address: str
    funded_private_key: str = field(repr=False)
    chain_id: int | None = None
    grid_url: str | None = None
    ws_url: str | None = None

    def as_json(self) -> dict[str, object]:
        """The form var/demo.json has, under the chain's name."""
        fields = asdict(self)
        del fields["name"]
        return fields


class DemoNode(Protocol):
    """One chain's node, or nodes. The stack runs its programs; this object only talks to them."""

    @property
    def name(self) -> str:
        """The chain's."""

    def commands(self, make: CommandMaker) -> list[ChildCommand]:
        """The programs to keep running."""

    def mined_urls(self) -> list[str]:
        """The nodes on which `demo.nodes.miner` must mine blocks."""

    def prepare(self) -> LocalChain:
        """Wait for the node, put the tokens there and fund the payer. Raises `NodeStartError`."""


def await_answer(name: str, ask: Callable[[], object]) -> None:
    """Call `ask` until it raises no OSError. Raises `NodeStartError` after half a minute."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            ask()
        except OSError:
            time.sleep(STEP_SECONDS)
        else:
            return
    message = f"The {name} node does not answer."
    raise NodeStartError(message)
