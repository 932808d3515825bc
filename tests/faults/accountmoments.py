"""Catching the watcher of Solana and TON in the middle of its work, on both chains at once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

from tests.faults.accountinstallation import AccountInstallation
from tests.faults.accounttroubles import HeldAnswer
from tests.faults.moments import CAUGHT_SECONDS
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


def has_read_since(accounts: AccountInstallation, moment: str) -> bool:
    """Whether a pass over each chain began since then and was written."""
    asked = "SELECT count(*) FROM wallets_chaincursor WHERE head_at > %s::timestamptz"
    return bool(accounts.database.value(asked, moment) == len(accounts.chains))


@contextmanager
def payments_in_hand(accounts: AccountInstallation, watcher: str) -> Iterator[Callable[[], None]]:
    """When all that a pass over each chain asks its node is answered, and before anything of it is written.

    However long the watcher is frozen then, no answer is late. Beside each chain's thread one looks for large amounts,
    which is held up at the same table.
    """
    threads = 2 * len(accounts.chains)
    with ExitStack() as lock, ExitStack() as reading:
        await_answers = reading.enter_context(READ(accounts, watcher))

        def await_capture() -> None:
            await_answers()
            lock.enter_context(accounts.database.holding_up_reads("wallets_transfer"))
            reading.close()
            wait_until(lambda: accounts.database.held_up(watcher) == threads, seconds=CAUGHT_SECONDS)

        yield await_capture


READ = answering({"solana": "getTransaction", "ton": "/transactions?"})
"""While the last question about a payment is answered: what follows is writing it."""

MOMENTS: dict[str, Moment] = {
    "asking for the head": answering({"solana": "SysvarC1ock", "ton": "masterchainInfo"}),
    "listing payments": answering({"solana": "getSignaturesForAddress", "ton": "jetton/transfers"}),
    "between read and write": READ,
    "about to commit": writing("wallets_accountcursor"),
}
