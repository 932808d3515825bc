"""Nodes of Solana and TON that lag, lie, refuse, hang and break off: nothing is credited that is not there, or lost."""

from collections.abc import Collection, Iterator
from functools import partial

import pytest

from tests.exhaustive import sample
from tests.faults.accountchains import BOTH, AccountChain
from tests.faults.accountinstallation import AccountInstallation
from tests.faults.accounttroubles import TROUBLES, Hanging
from tests.faults.oracle import audit, await_order, settle
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

# More than nodes may be behind each other before the one ahead is preferred.
FAR_AHEAD = 60
# More requests than the other node gets that is only asked where its head is.
CLEAR_LEAD = 4
# What a watcher says of a node it cannot read; nothing where a node lags, for it will grow.
COMPLAINTS = {
    "lags": "",
    "answers an error": "refuses",
    "answers HTTP 500": "HTTP status 500",
    "limits our rate": "limits our rate",
    "answers garbage": "not JSON",
    "answers 10 MB": "not JSON",
    "breaks off": "does not answer",
    "drops connections": "does not answer",
}


class Trouble:
    """Trouble with the first nodes of some chains, until it is ended."""

    def __init__(self, accounts: AccountInstallation) -> None:
        self._accounts = accounts
        self._hanging: list[Hanging] = []

    def begin(self, name: str, chain: str, *, nodes: Collection[int] = BOTH) -> None:
        """Let nodes of a chain begin to misbehave."""
        chosen = self._accounts.nodes[chain]
        fault = TROUBLES[name](chosen)
        if isinstance(fault, Hanging):
            self._hanging.append(fault)
        chosen.misbehave(fault, nodes=nodes)

    def end(self) -> None:
        """Let them be honest again, and let go of the requests that hang."""
        self._accounts.behave()
        for one in self._hanging:
            one.released.set()


@pytest.fixture(autouse=True)
def _without_memory(accounts: AccountInstallation) -> None:
    """A new watcher, which holds nothing against any node: after a failure one rests for up to a minute."""
    accounts.kill(accounts.the("watcher"))
    accounts.restore()


@pytest.fixture
def trouble(accounts: AccountInstallation) -> Iterator[Trouble]:
    """None yet."""
    trouble = Trouble(accounts)
    yield trouble
    trouble.end()


def node_in_use(chain: AccountChain) -> int:
    """Which of the two nodes is asked."""
    before = chain.asked()

    def lead() -> int:
        first, second = (now - was for now, was in zip(chain.asked(), before, strict=True))
        return first - second

    wait_until(lambda: abs(lead()) >= CLEAR_LEAD)
    return 0 if lead() > 0 else 1


def has_been_asked(chain: AccountChain, node: int, before: list[int]) -> bool:
    """Whether a node got requests since."""
    return chain.asked()[node] > before[node]


@pytest.mark.parametrize("name", TROUBLES)
def test_the_other_node_stands_in_for_the_one_in_use(
    accounts: AccountInstallation, trouble: Trouble, name: str
) -> None:
    struck = {}
    for chain, both in accounts.nodes.items():
        node = node_in_use(both)
        struck[chain] = (node, both.asked())
        trouble.begin(name, chain, nodes=[node])
        both.advance(FAR_AHEAD)
    accounts.pay_new()
    settle(accounts)
    for chain, (node, before) in struck.items():
        asked = partial(has_been_asked, accounts.nodes[chain], node, before)
        wait_until(asked)
    trouble.end()
    accounts.pay_new()
    settle(accounts)


def is_asked_more(chain: AccountChain, requests: int) -> bool:
    """Whether the nodes of a chain got more requests than so many."""
    return sum(chain.asked()) > requests


def await_complaint(accounts: AccountInstallation, chain: str, words: str) -> None:
    """Return once the watcher has written down what is wrong with a chain's nodes."""
    asked = "SELECT last_error FROM wallets_chaincursor WHERE chain = %s"
    wait_until(lambda: words in accounts.database.value(asked, chain))


@pytest.mark.parametrize(
    ("on_solana", "on_ton"),
    sample(
        [
            ("answers an error", "lags"),
            ("lags", "limits our rate"),
            ("answers garbage", "drops connections"),
            ("drops connections", "answers 10 MB"),
            ("breaks off", "answers HTTP 500"),
        ],
        2,
    ),
)
def test_with_no_good_node_left_payments_wait_until_one_heals(
    accounts: AccountInstallation, trouble: Trouble, on_solana: str, on_ton: str
) -> None:
    names = dict(zip(accounts.chains, (on_solana, on_ton), strict=True))
    before = {name: chain.asked() for name, chain in accounts.nodes.items()}
    for chain, name in names.items():
        trouble.begin(name, chain)
    sent = accounts.pay_new()
    for chain, name in names.items():
        await_complaint(accounts, chain, COMPLAINTS[name])
    for chain, both in accounts.nodes.items():
        wait_until(partial(is_asked_more, both, sum(before[chain])))
    assert accounts.states(sent) == [""] * len(sent)
    assert not any("not on chain" in problem for problem in audit(accounts))
    trouble.end()
    accounts.finalize()
    await_order(accounts)
