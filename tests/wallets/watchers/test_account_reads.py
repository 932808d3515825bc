"""Accounts are read in groups; one that cannot be read does not hold up the others."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.wallets.accounts import Watched, cursor_of, make_account, make_accounts, solana_spec
from tests.wallets.ledger import Ledger, no_answer
from tests.wallets.watchers.test_accounts import LATER
from wallets.chains.base import Account, ChainUnavailableError, MalformedAnswerError
from wallets.models import AccountCursor, ChainCursor, Transfer
from wallets.watchers.passes import PassOutcome

pytestmark = pytest.mark.django_db


def breaks_on(key: bytes, error: Exception) -> Callable[[Account], None]:
    """Trouble with one account alone."""

    def trouble(account: Account) -> None:
        if account.key == key:
            raise error

    return trouble


@pytest.mark.parametrize(
    "error",
    [MalformedAnswerError("no block time"), no_answer(), KeyError("slot")],
    ids=["malformed", "times out", "unforeseen"],
)
def test_one_account_that_cannot_be_read_does_not_hold_up_the_others(error: Exception) -> None:
    watched = Watched(Ledger(at_once=10))
    wallets = [make_account(expected_until=LATER) for _ in range(10)]
    bad, good = wallets[3], wallets[:3] + wallets[4:]
    watched.tick()
    before = cursor_of(bad).height
    watched.ledger.trouble = breaks_on(bytes(bad.key), error)
    for wallet in wallets:
        watched.pay(wallet)
    assert watched.tick(after=1) is PassOutcome.IDLE
    assert set(Transfer.objects.values_list("wallet", flat=True)) == {wallet.pk for wallet in good}
    assert cursor_of(bad).height == before
    assert cursor_of(bad).last_error
    assert ChainCursor.objects.get().last_error == ""
    # It waits for its turn among the idle ones, and its money is found once it can be read.
    asked = watched.asked(bad)
    watched.run(30)
    assert watched.asked(bad) == asked
    watched.ledger.trouble = lambda account: None
    watched.run(60)
    assert Transfer.objects.count() == 10
    assert cursor_of(bad).last_error == ""


def test_a_bad_account_is_found_even_where_a_pass_can_ask_for_little() -> None:
    watched = Watched(Ledger(at_once=10), solana_spec(REQUESTS_PER_MINUTE="60"))
    wallets = [make_account(expected_until=LATER) for _ in range(10)]
    bad = wallets[0]
    watched.ledger.trouble = breaks_on(bytes(bad.key), MalformedAnswerError("odd"))
    for _ in range(300):
        try:
            watched.tick(after=1)
        except MalformedAnswerError:
            continue
    for wallet in wallets[1:]:
        through = cursor_of(wallet).read_through_at
        assert through is not None
        assert watched.now - through < timedelta(seconds=60)


def test_a_node_that_fails_in_the_middle_keeps_what_was_read_before() -> None:
    watched = Watched(Ledger(at_once=1))
    wallets = [make_account(expected_until=LATER) for _ in range(20)]
    watched.tick()
    for wallet in wallets:
        watched.pay(wallet)
    read: list[bytes] = []

    def trouble(account: Account) -> None:
        if len(read) >= 5:
            raise no_answer()
        read.append(account.key)

    watched.ledger.trouble = trouble
    with pytest.raises(ChainUnavailableError):
        watched.tick(after=1)
    assert Transfer.objects.count() == 5
    # Nothing says that it was these accounts' fault.
    assert not AccountCursor.objects.exclude(last_error="").exists()
    watched.ledger.trouble = lambda account: None
    watched.tick(after=1)
    assert Transfer.objects.count() == 20


def test_a_limited_rate_ends_the_pass_at_once() -> None:
    watched = Watched(Ledger(at_once=1))
    make_accounts(20, expected_until=LATER)
    error = ChainUnavailableError("the node limits our rate", retry_after=3.0)

    def trouble(account: Account) -> None:
        raise error

    watched.ledger.trouble = trouble
    with pytest.raises(ChainUnavailableError) as raised:
        watched.tick()
    assert raised.value.retry_after == 3.0
    assert len(watched.ledger.asked) == 1
