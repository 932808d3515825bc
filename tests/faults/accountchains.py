"""Solana and TON as fault tests have them: a node behind two proxies, a merchant's wallet, and payments to it."""

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Collection
from contextlib import ExitStack

from solders.keypair import Keypair

from localnet.solana.node import USDC, SolanaNode
from localnet.ton.node import TonNode
from tests.installation import DOLLAR
from tests.nodes import proxy as rpc
from tests.nodes.proxy import RpcProxy
from tests.wallets.contract import hostile
from tests.wallets.contract.hostile import HttpProxy

CONFIRMATIONS = 75
"""Half a minute of blocks in which a fork may take what was paid.

A Solana transaction can be sent again for 150 slots: long enough to be undone after it was final to us, and to return.
"""

BOTH = (0, 1)
# Blocks that pass by themselves while somebody is told which to undo.
_MARGIN = 20
_INTERNAL_TRANSFER = "0x178d4519"


class AccountChain(ABC):
    """A chain with its node, two proxies and the merchant's wallet. Use `open` first."""

    name: str
    token: str
    token_address: str
    wallet: str

    @property
    def settings(self) -> dict[str, str]:
        """What the environment says of the chain."""
        prefix = f"CHAIN_{self.name.upper()}"
        return {
            f"{prefix}_RPC_URLS": ",".join(self._urls()),
            f"{prefix}_CONFIRMATIONS": str(CONFIRMATIONS),
            f"{prefix}_REQUESTS_PER_MINUTE": "100000",
            f"{prefix}_TOKEN_{self.token}": self.token_address,
        }

    @abstractmethod
    def open(self, exits: ExitStack) -> None:
        """Start the node and the proxies, to be stopped in the end."""

    @abstractmethod
    def misbehave(self, fault: hostile.Fault, *, nodes: Collection[int] = BOTH) -> None:
        """Let nodes misbehave. A fault is told a JSON-RPC request as text, or a REST target."""

    @abstractmethod
    def asked(self) -> list[int]:
        """How many requests each of the two nodes got."""

    @abstractmethod
    def pay(self, units: int, *, label: str = "") -> str:
        """Pay to the wallet, in a block that can be seen at once; return the transaction's name."""

    @abstractmethod
    def pay_again(self, tx: str, units: int) -> str:
        """Send what a fork took; return the transaction's name, which need not be the same."""

    @abstractmethod
    def standing(self) -> set[str]:
        """The names of all transactions by which the wallet was paid, asked of the node itself."""

    @abstractmethod
    def balance(self) -> int:
        """What the wallet holds of the token, in base units."""

    @abstractmethod
    def advance(self, blocks: int) -> None:
        """Let blocks pass at once."""

    @abstractmethod
    def mark(self) -> int:
        """Remember where the chain is, for `fork`."""

    @abstractmethod
    def fork(self, mark: int) -> None:
        """Undo what came since, and go on past the head that was."""

    @abstractmethod
    def _urls(self) -> list[str]:
        """Where the proxies answer."""


class SolanaChain(AccountChain):
    """JSON-RPC over LiteSVM."""

    name, token, token_address = "solana", "USDC", USDC

    def open(self, exits: ExitStack) -> None:
        """Start the node and the proxies, to be stopped in the end."""
        self.node = exits.enter_context(SolanaNode())
        self.proxies = [exits.enter_context(RpcProxy(self.node.url)) for _ in range(2)]
        self.wallet = str(Keypair().pubkey())
        self._raw: dict[str, str] = {}

    def misbehave(self, fault: hostile.Fault, *, nodes: Collection[int] = BOTH) -> None:
        """Let nodes misbehave. The fault is told the request as text."""
        for node in nodes:
            self.proxies[node].fault = _told(fault)

    def asked(self) -> list[int]:
        """How many requests each of the two nodes got."""
        return [proxy.requests for proxy in self.proxies]

    def pay(self, units: int, *, label: str = "") -> str:
        """Pay to the wallet; `label` is a reference of Solana Pay."""
        references = [label] if label else []
        signature = self.node.pay(self.wallet, units, references=references)
        options = {"encoding": "base64", "commitment": "confirmed"}
        landed = self.node.rpc("getTransaction", signature, options)
        self._raw[signature] = landed["transaction"][0]
        return signature

    def pay_again(self, tx: str, units: int) -> str:
        """Send the very transaction that a fork took."""
        options = {"encoding": "base64"}
        signature: str = self.node.rpc("sendTransaction", self._raw[tx], options)
        self.node.advance()
        return signature

    def standing(self) -> set[str]:
        """The signatures that name the wallet's token account and did not fail."""
        account = self.node.token_account(self.wallet)
        options = {"commitment": "confirmed"}
        listed = self.node.rpc("getSignaturesForAddress", account, options)
        return {one["signature"] for one in listed if one["err"] is None}

    def balance(self) -> int:
        """What the wallet holds, in base units."""
        return self.node.balance(self.wallet)

    def advance(self, blocks: int) -> None:
        """Let slots pass at once."""
        self.node.advance(blocks)

    def mark(self) -> int:
        """Remember the slot."""
        slot = self.node.slot()
        self.node.advance(_MARGIN)
        return slot

    def fork(self, mark: int) -> None:
        """Undo the slots since; time goes on by itself."""
        self.node.rollback(after=mark)

    def _urls(self) -> list[str]:
        return [proxy.url for proxy in self.proxies]


class TonChain(AccountChain):
    """REST over the TON sandbox."""

    name, token = "ton", "USDT"

    def open(self, exits: ExitStack) -> None:
        """Start the node and the proxies, to be stopped in the end."""
        self.node = exits.enter_context(TonNode())
        self.proxies = [exits.enter_context(HttpProxy(self.node.url)) for _ in range(2)]
        self.token_address = self.node.usdt
        self.wallet = self.node.create_wallet(units=DOLLAR).address
        self._minted = self.node.balance(self.wallet)
        self._jetton_wallet = self.node.jetton_wallet(self.wallet)
        self._before = self._received()

    def misbehave(self, fault: hostile.Fault, *, nodes: Collection[int] = BOTH) -> None:
        """Let nodes misbehave. The fault is told the target."""
        for node in nodes:
            self.proxies[node].fault = fault

    def asked(self) -> list[int]:
        """How many requests each of the two nodes got."""
        return [proxy.requests for proxy in self.proxies]

    def pay(self, units: int, *, label: str = "") -> str:
        """Pay to the wallet; `label` is a comment."""
        return self.node.pay(self.wallet, units, label or None)

    def pay_again(self, tx: str, units: int) -> str:
        """Pay as before: in another block it is another transaction."""
        return self.pay(units)

    def standing(self) -> set[str]:
        """The transactions by which the wallet's jetton wallet took something since it was made."""
        return self._received() - self._before

    def balance(self) -> int:
        """What the wallet holds beyond what it began with, in base units."""
        return self.node.balance(self.wallet) - self._minted

    def advance(self, blocks: int) -> None:
        """Let masterchain blocks pass at once."""
        self.node.advance(blocks)

    def mark(self) -> int:
        """Remember the block."""
        head = self.node.head()
        self.node.advance(_MARGIN)
        return head

    def fork(self, mark: int) -> None:
        """Undo the blocks since, and let as many follow: a shorter chain would be one that lags."""
        head = self.node.head()
        self.node.roll_back(to=mark)
        self.node.advance(head - mark + _MARGIN)

    def _received(self) -> set[str]:
        rows = self.node.get("transactions", account=self._jetton_wallet, limit=1_000)
        return {
            base64.b64decode(row["hash"]).hex()
            for row in rows["transactions"]
            if row["in_msg"]["opcode"] == _INTERNAL_TRANSFER and not row["description"]["aborted"]
        }

    def _urls(self) -> list[str]:
        return [proxy.url for proxy in self.proxies]


def _told(fault: hostile.Fault) -> rpc.Fault:
    """The same fault for a proxy of JSON-RPC."""

    def answer(proxy: RpcProxy, request: rpc.Request, ask: rpc.Ask) -> rpc.Answer:
        real = hostile.Answer(rpc.honest(proxy, request, ask).body)
        sent = fault(json.dumps(request), real)
        return rpc.Answer(sent.body, status=sent.status, headers=sent.headers, cut=sent.cut)

    return answer
