"""A Florin of real processes on Solana and TON, where the exact amount tells one checkout's payment from another's."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.faults.accountchains import CONFIRMATIONS, AccountChain, SolanaChain, TonChain
from tests.florin import Florin, OnChain
from tests.installation import DOLLAR
from tests.wallets.contract.hostile import Fault, honest

# Each may choose an option sixty times a minute.
_KEYS = 4
_LABELS = {"solana": "reference", "ton": "text"}


@dataclass(frozen=True)
class Due:
    """What a checkout asks for on a chain, and what its payment link names it by."""

    public_id: str
    chain: str
    units: int
    label: str


@dataclass(frozen=True)
class Sent:
    """A payment as it was sent, whether or not its chain still has it."""

    due: Due
    tx: str
    units: int


class AccountInstallation(Florin):
    """A node of each chain behind two proxies, and everything of `Florin`."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[str, AccountChain] = {chain.name: chain for chain in (SolanaChain(), TonChain())}
        self._sent: list[Sent] = []

    @property
    def chains(self) -> Sequence[str]:
        """The names of its chains."""
        return list(self.nodes)

    @property
    def wallets(self) -> Mapping[str, str]:
        """The merchant's wallet on each chain."""
        return {name: chain.wallet for name, chain in self.nodes.items()}

    def _open(self) -> None:
        super()._open()
        # What nobody is expected to pay on is read once a minute only.
        [public_id] = self.create_checkouts(1)
        self.choose(public_id, self.chains[0])

    def _open_chains(self) -> None:
        for chain in self.nodes.values():
            chain.open(self._exits)

    def _chain_settings(self) -> dict[str, str]:
        chains: dict[str, str] = {}
        for chain in self.nodes.values():
            chains |= chain.settings
        return chains

    def _open_books(self) -> None:
        super()._open_books()
        others = [self.clerk.ask("create_key") for _ in range(_KEYS - 1)]
        self._keys = itertools.cycle([self.live_key, *others])

    def create_checkouts(self, count: int, amount: str = "10.00") -> list[str]:
        """Create live checkouts, once every chain is offered again; return their ids."""
        return [one["id"] for one in self._create_checkouts(count, amount)]

    def choose(self, public_id: str, chain: str) -> Due:
        """Choose how to pay, as a merchant's shop does: over the API, with the live key."""
        option: dict[str, Any] = self.clerk.ask(
            "choose_option", checkout=public_id, chain=chain, token=self.nodes[chain].token, key=next(self._keys)
        )
        assert option["address"] == self.wallets[chain]
        query = parse_qs(urlsplit(option["paymentUri"]).query)
        units = int(Decimal(option["payAmount"]) * DOLLAR)
        return Due(public_id, chain, units, query[_LABELS[chain]][0])

    def pay(self, due: Due, *, less: int = 0, labelled: bool = False) -> Sent:
        """Pay on chain, the exact amount or so many units less, as a wallet does that read the link or did not."""
        units, label = due.units - less, due.label if labelled else ""
        sent = Sent(due, self.nodes[due.chain].pay(units, label=label), units)
        return self._note(sent)

    def pay_again(self, sent: Sent) -> Sent:
        """Send what a fork took."""
        tx = self.nodes[sent.due.chain].pay_again(sent.tx, sent.units)
        return self._note(Sent(sent.due, tx, sent.units))

    def pay_new(self, count: int = 1) -> list[Sent]:
        """Pay so many new checkouts on each chain in full, every second one with its label."""
        return [
            self.pay(self.choose(public_id, chain), labelled=bool(number % 2))
            for chain in self.chains
            for number, public_id in enumerate(self.create_checkouts(count))
        ]

    def _note(self, sent: Sent) -> Sent:
        self._sent.append(sent)
        self.meant[sent.due.chain, sent.tx] = sent.due.public_id
        return sent

    def finalize(self) -> None:
        """Let so many blocks pass that all that is on the chains now is final."""
        for chain in self.nodes.values():
            chain.advance(CONFIRMATIONS + 1)

    def payments(self) -> Iterator[OnChain]:
        """What was sent and is on the chains now, and what else they say reached the wallets."""
        for chain in self.nodes.values():
            standing = chain.standing()
            sent = {one.tx: one for one in self._sent if one.due.chain == chain.name and one.tx in standing}
            assert chain.balance() == sum(one.units for one in sent.values())
            for tx in standing:
                units = sent[tx].units if tx in sent else 0
                yield chain.name, tx, chain.token_address, chain.wallet, units

    def misbehave(self, fault: Fault) -> None:
        """Let all nodes misbehave."""
        for chain in self.nodes.values():
            chain.misbehave(fault)

    def asked(self) -> int:
        """How many requests all nodes got."""
        return sum(sum(chain.asked()) for chain in self.nodes.values())

    def behave(self) -> None:
        """Let all nodes be honest again."""
        self.misbehave(honest)

    def states(self, payments: Sequence[Sent]) -> list[str]:
        """The states of payments' transfers; empty for one that was not recorded."""
        asked = "SELECT state FROM wallets_transfer WHERE chain = %s AND tx_hash = %s"
        return [self.database.value(asked, sent.due.chain, sent.tx) or "" for sent in payments]

    def statuses(self, payments: Sequence[Sent]) -> list[tuple[str, str]]:
        """Status and exception of the payments' checkouts."""
        asked = "SELECT status, exception FROM checkouts_checkout WHERE public_id = %s"
        return [self.database.rows(asked, sent.due.public_id)[0] for sent in payments]
