"""What a payer writes beside money on TON and Solana names a checkout, whatever stands around its code."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from checkouts.models import InboxItem
from checkouts.states import InboxReason
from localnet.solana.node import USDC, SolanaNode
from localnet.solana.node import Payment as SolanaPayment
from localnet.ton.messages import Payment as JettonPayment
from localnet.ton.node import TonNode
from tests.checkouts.arrivals import memo, payer_of, reference_of
from tests.checkouts.attribution.test_one_transaction import Mall
from tests.wallets.contract.accountlabs import SolanaLab, TonLab
from tests.wallets.contract.labs import Lab
from wallets.models import Transfer

pytestmark = pytest.mark.django_db

PRICE = 42_000_000
OP_TEXT = bytes(4)
WRITTEN = ["{}", "Order {}", '"{}"', "{}%20", "  {}\n"]
STRANGE = "4TK9ZQ0M7XW2BH5D"
Says = Callable[[Any, str, str], None]
"""Pay 42 dollars to an address on a node, with a text."""


def by_comment(node: TonNode, to: str, text: str) -> None:
    node.send([JettonPayment(to, PRICE, payload=OP_TEXT + text.encode())])


def by_comment_without_opcode(node: TonNode, to: str, text: str) -> None:
    node.send([JettonPayment(to, PRICE, payload=text.encode())])


def by_memo(node: SolanaNode, to: str, text: str) -> None:
    node.pay_all([SolanaPayment(to, PRICE)], memo=text)


WAYS: dict[str, tuple[str, Says]] = {
    "a comment on TON": ("ton", by_comment),
    "a comment on TON without its opcode": ("ton", by_comment_without_opcode),
    "a memo on Solana": ("solana", by_memo),
}


@dataclass
class Counter:
    """A merchant on a chain with texts, a checkout of 43 dollars there, and a stranger's of 42."""

    mall: Mall
    pays: Callable[[str], None]

    def __post_init__(self) -> None:
        self.wanted, *_ = self.mall.checkout("43.00", 1_000)
        self.mall.checkout("42.00", 1_700)


def opened(lab: Lab, pays: Callable[[str, str], None]) -> Iterator[Counter]:
    mall = Mall(lab)
    yield Counter(mall, partial(pays, mall.wallet.address))
    mall.watcher.close()


@pytest.fixture(params=WAYS)
def counter(request: pytest.FixtureRequest) -> Iterator[Counter]:
    """The merchant on each chain, with each way to write."""
    chain, says = WAYS[request.param]
    node: Any = request.getfixturevalue(f"{chain}_node")
    yield from opened(TonLab(node) if chain == "ton" else SolanaLab(node), partial(says, node))


@pytest.fixture
def on_solana(solana_node: SolanaNode) -> Iterator[Counter]:
    """The merchant on Solana, where a memo is written."""
    yield from opened(SolanaLab(solana_node), partial(by_memo, solana_node))


@pytest.mark.parametrize("written", WRITTEN)
def test_a_code_with_something_around_it_names_its_checkout_and_no_strangers(counter: Counter, written: str) -> None:
    counter.pays(written.format(memo(counter.wanted)))
    counter.mall.follow()
    assert payer_of(Transfer.objects.get()) == counter.wanted


def test_a_code_that_is_nobodys_waits_for_a_person_with_its_text(counter: Counter) -> None:
    counter.pays(f"Order {STRANGE}")
    counter.mall.follow()
    item = InboxItem.objects.get()
    assert item.reason == InboxReason.AMBIGUOUS
    assert STRANGE.lower() in item.explanation
    assert item.transfer.labels == [f"Order {STRANGE}"]


@pytest.mark.parametrize("written", ["{}", " {}\n", "solana:{}?amount=1"])
def test_a_reference_in_a_memo_names_its_checkout(on_solana: Counter, written: str) -> None:
    on_solana.pays(written.format(reference_of(on_solana.wanted)))
    on_solana.mall.follow()
    assert payer_of(Transfer.objects.get()) == on_solana.wanted


def test_a_reference_names_its_checkout_whatever_the_amount(on_solana: Counter, solana_node: SolanaNode) -> None:
    paid = SolanaPayment(on_solana.mall.wallet.address, PRICE, USDC, [reference_of(on_solana.wanted)])
    solana_node.pay_all([paid])
    on_solana.mall.follow()
    assert payer_of(Transfer.objects.get()) == on_solana.wanted
