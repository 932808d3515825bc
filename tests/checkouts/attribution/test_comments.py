"""What a payer writes beside money on TON and Solana names a checkout, whatever stands around its code."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxReason
from localnet.solana.node import USDC
from localnet.solana.node import Payment as SolanaPayment
from localnet.ton.messages import Payment as JettonPayment
from tests.checkouts.arrivals import memo, payer_of, reference_of
from tests.checkouts.attribution.test_one_transaction import Mall
from tests.wallets.contract.accountlabs import SolanaLab, TonLab
from wallets.models import Transfer

pytestmark = pytest.mark.django_db

PRICE = 42_000_000
OP_TEXT = bytes(4)
WRITTEN = ["{}", "Order {}", '"{}"', "{}%20", "  {}\n"]
STRANGE = "4TK9ZQ0M7XW2BH5D"
Says = Callable[[Mall, str], None]


def by_comment(mall: Mall, text: str) -> None:
    mall.lab._node.send([JettonPayment(mall.wallet.address, PRICE, payload=OP_TEXT + text.encode())])


def by_comment_without_opcode(mall: Mall, text: str) -> None:
    # Without it, text with control characters is none.
    mall.lab._node.send([JettonPayment(mall.wallet.address, PRICE, payload=text.strip().encode())])


def by_memo(mall: Mall, text: str) -> None:
    mall.lab._node.pay_all([SolanaPayment(mall.wallet.address, PRICE)], memo=text)


WAYS: dict[str, tuple[str, Says]] = {
    "a comment on TON": ("ton", by_comment),
    "a comment on TON without its opcode": ("ton", by_comment_without_opcode),
    "a memo on Solana": ("solana", by_memo),
}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[tuple[Mall, Says]]:
    """A merchant on a chain with texts, and how a payer of 42 dollars writes one there."""
    chain, says = request.param
    node: Any = request.getfixturevalue(f"{chain}_node")
    made = Mall(TonLab(node) if chain == "ton" else SolanaLab(node))
    yield made, says
    made.watcher.close()


def two(mall: Mall) -> tuple[Checkout, Checkout]:
    """A checkout of 43 dollars, and a stranger's of 42."""
    return mall.checkout("43.00", 1_000)[0], mall.checkout("42.00", 1_700)[0]


@pytest.mark.parametrize("written", WRITTEN)
def test_a_code_with_something_around_it_names_its_checkout_and_no_strangers(
    way: tuple[Mall, Says], written: str
) -> None:
    mall, says = way
    wanted, _ = two(mall)
    says(mall, written.format(memo(wanted)))
    mall.follow()
    assert payer_of(Transfer.objects.get()) == wanted


def test_a_code_that_is_nobodys_waits_for_a_person_with_its_text(way: tuple[Mall, Says]) -> None:
    mall, says = way
    two(mall)
    says(mall, f"Order {STRANGE}")
    mall.follow()
    item = InboxItem.objects.get()
    assert item.reason == InboxReason.AMBIGUOUS
    assert STRANGE.lower() in item.explanation
    assert item.transfer.labels == [f"Order {STRANGE}"]


@pytest.mark.parametrize("written", ["{}", " {}\n", "solana:{}?amount=1"])
def test_a_reference_in_a_memo_names_its_checkout(solana_node: Any, written: str) -> None:
    mall = Mall(SolanaLab(solana_node))
    wanted, _ = two(mall)
    by_memo(mall, written.format(reference_of(wanted)))
    mall.follow()
    mall.watcher.close()
    assert payer_of(Transfer.objects.get()) == wanted


def test_a_reference_names_its_checkout_whatever_the_amount(solana_node: Any) -> None:
    mall = Mall(SolanaLab(solana_node))
    wanted, _ = two(mall)
    solana_node.pay_all([SolanaPayment(mall.wallet.address, PRICE, USDC, [reference_of(wanted)])])
    mall.follow()
    mall.watcher.close()
    assert payer_of(Transfer.objects.get()) == wanted
