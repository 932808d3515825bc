"""Catching the watcher of Solana and TON in the middle of its work, on both chains at once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

from tests.faults.accountinstallation import AccountInstallation
from tests.faults.accounttroubles import HeldAnswer
from tests.faults.moments import CAUGHT_SECONDS
from tests.faults.standby import has_read_since
from tests.waiting import wait_until

Moment = Callable[[AccountInstallation, str], AbstractContextManager[Callable[[], None]]]
"""Arms a trap for the watcher named. Inside, calling what it gives waits until the trap has it; leaving lets it go."""


def answering(words: Mapping[str, str]) -> Moment:
    """While each chain's node answers a question with this word in it."""

    @contextmanager
    def trap(accounts: AccountInstallation, watcher: str) -> Iterator[Callable[[], None]]:
        # A watcher that has just begun asks once more for what others read before.
        wait_until(partial(has_read_since, accounts, accounts.database.now()))
        held = {chain: HeldAnswer(word) for chain, word in words.items()}
        for chain, answer in held.items():
            accounts.nodes[chain].misbehave(answer)
        try:
            yield lambda: wait_until(
                lambda: all(answer.caught.is_set() for answer in held.values()), seconds=CAUGHT_SECONDS
            )
        finally:
            accounts.behave()
            for answer in held.values():
                answer.released.set()

    return trap


def writing(table: str) -> Moment:
    """While the transactions of both chains wait to write to a table, with what comes before written and uncommitted.

    Writes are held up only once everything is paid: a watcher that is held up for longer than its lease has lost it.
    """

    @contextmanager
    def trap(accounts: AccountInstallation, watcher: str) -> Iterator[Callable[[], None]]:
        with ExitStack() as lock:

            def await_capture() -> None:
                lock.enter_context(accounts.database.holding_up_writes(table))
                wait_until(lambda: accounts.database.held_up(watcher) == len(accounts.chains), seconds=CAUGHT_SECONDS)

            yield await_capture

    return trap


READ = answering({"solana": "getTransaction", "ton": "/transactions?"})
"""While the last question about a payment is answered: what follows is writing it."""

MOMENTS: dict[str, Moment] = {
    "asking for the head": answering({"solana": "SysvarC1ock", "ton": "masterchainInfo"}),
    "listing payments": answering({"solana": "getSignaturesForAddress", "ton": "jetton/transfers"}),
    "between read and write": READ,
    "about to commit": writing("wallets_accountcursor"),
}
