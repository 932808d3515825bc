"""Two batches are made over the same payouts at once: each payout is handed out in one of them."""

from collections.abc import Iterator, Sequence
from functools import partial

import pytest
from django.db import IntegrityError, connection

from accounts.audit.actors import Actor
from accounts.models import Merchant, User
from accounts.states import Mode
from gateway.core.api.errors import ConflictError
from payouts.batches.service import Wanted, make_batch
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.states import BatchStatus, Method, PayoutStatus
from tests.concurrency.races import behind, deadlocks, together
from tests.concurrency.test_inbox import no_lock_on
from tests.factories import NOON, WALLET, make_merchant
from tests.payouts.factories import approved, make_approver, make_payout, status_of
from tests.wallets.days import make_watched

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("local_nodes")]

# A request's foreign key may be checked meanwhile.
HOLD = "SELECT FROM payouts_payout WHERE id = %s FOR NO KEY UPDATE"


def ready(count: int) -> tuple[User, list[Payout]]:
    """An owner, and approved payouts of a merchant whose paying wallet is watched."""
    merchant = make_merchant()
    make_watched(merchant, address=WALLET)
    person = make_approver(merchant)
    return person, [approved(make_payout(merchant), person) for _ in range(count)]


def hand_out(payouts: Sequence[Payout], person: User) -> str:
    """Make a batch; what came of it."""
    wanted = Wanted([one.public_id for one in payouts], WALLET, Method.LIST)
    try:
        make_batch(payouts[0].merchant, Mode.LIVE, wanted, actor=Actor(person), now=NOON)
    except ConflictError as error:
        # What the table refuses, too: a person who was late reads a sentence, and no page of ours fails.
        return "impossible" if isinstance(error.__cause__, IntegrityError) else "refused"
    return "made"


def two_that_share_one() -> tuple[list[str], list[Payout]]:
    """Two batches of two payouts each, which share the second: both are being made when it becomes free."""
    person, payouts = ready(3)
    works = [partial(hand_out, payouts[:2], person), partial(hand_out, payouts[1:], person)]
    return sorted(behind(HOLD, payouts[1].pk, works=works)), payouts


def live_requests(payout: Payout) -> int:
    """In how many open batches it was handed out."""
    return PayoutRequest.objects.filter(payout=payout, batch__status=BatchStatus.OPEN).count()


def test_a_payout_that_two_batches_want_at_once_is_handed_out_in_one() -> None:
    said, payouts = two_that_share_one()
    assert said == ["made", "refused"]
    assert live_requests(payouts[1]) == 1
    assert sorted(map(status_of, payouts)) == [PayoutStatus.APPROVED, PayoutStatus.SENDING, PayoutStatus.SENDING]


def test_many_batches_over_one_list_at_once_hand_each_payout_out_once() -> None:
    person, payouts = ready(6)
    before = deadlocks()
    shares = [payouts[n : n + 3] for n in range(4)] * 2
    together(*[partial(hand_out, share, person) for share in shares])
    assert {live_requests(one) for one in payouts} <= {0, 1}
    assert PayoutBatch.objects.exists()
    assert deadlocks() == before


def unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the payouts nor the merchant, whom the paying wallet's look locks, keep anybody waiting."""
    no_lock_on(monkeypatch, Payout, Merchant)


def test_without_the_locks_the_table_still_refuses_a_second_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    unlocked(monkeypatch)
    said, payouts = two_that_share_one()
    assert said == ["impossible", "made"]
    assert [live_requests(one) for one in payouts].count(1) == 2


@pytest.fixture
def without_the_trigger() -> Iterator[None]:
    """The table lets a payout go from one batch to another."""
    statement = "ALTER TABLE payouts_payout {} TRIGGER payout_of_one_batch"
    with connection.cursor() as cursor:
        cursor.execute(statement.format("DISABLE"))
        yield
        cursor.execute(statement.format("ENABLE"))


@pytest.mark.usefixtures("without_the_trigger")
def test_without_the_locks_and_the_trigger_a_payout_would_be_handed_out_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the tests above: two wallets are asked to pay it."""
    unlocked(monkeypatch)
    said, payouts = two_that_share_one()
    assert said == ["made", "made"]
    assert live_requests(payouts[1]) == 2
