"""One request of TON Connect that pays several payouts: it ends for all of them, and each is paid by its own message."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from gateway.core.api.errors import ConflictError, InvalidRequestError
from payouts.batches import transactions
from payouts.models import Payout
from tests.payouts.factories import status_of
from tests.payouts.test_transactions import PAID, SENDING, UNITS, TonTill, end_of, out
from tests.waiting import wait_until
from wallets import browser_wallets

if TYPE_CHECKING:
    from localnet.ton.node import TonNode

pytestmark = pytest.mark.django_db


@pytest.fixture
def till(ton_node: "TonNode", merchant: Merchant, settings: Any) -> TonTill:
    """The merchant on TON."""
    settings.MOVEMENT_CONSUMERS = []
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"TON_RPC_URLS": ton_node.url, "TON_TOKEN_USDT": ton_node.usdt}
    return TonTill(ton_node, merchant)


def test_one_request_pays_several_and_each_is_known_by_its_own_message(till: TonTill) -> None:
    """All of one amount to one recipient: only the texts tell them apart."""
    payouts = [till.payout() for _ in range(4)]
    Payout.objects.update(created_at=timezone.now() - timedelta(days=365))
    # Not in the order in which they would be chosen without the texts.
    wanted = [payouts[place] for place in (2, 0, 3, 1)]
    batch = till.hand_out(*payouts)
    with till.watched() as look:
        written = till.ask_for(batch, *wanted)
        assert written.payouts == [one.public_id for one in wanted]
        assert len(written.transaction["messages"]) == 4
        ends = {end for end in map(end_of, payouts) if end}
        assert ends == {datetime.fromtimestamp(written.transaction["valid_until"], UTC) + timedelta(minutes=2)}
        till.send(batch, payouts[0], written.transaction)
        assert till.received() == 4 * UNITS

        def are_paid() -> bool:
            look()
            return [status_of(one) for one in payouts] == [PAID] * 4

        wait_until(are_paid)
    paid = Payout.objects.select_related("movement").filter(pk__in=[one.pk for one in payouts])
    texts = {one.public_id: one.movement.labels for one in paid if one.movement}
    assert texts == {one.public_id: [one.public_id] for one in payouts}


def test_what_the_wallet_skipped_is_written_again_only_after_the_end(till: TonTill) -> None:
    """Its coin is enough for some of the messages: the action phase skips the others."""
    till.pay_from(till.node.create_wallet(units=4 * UNITS, nanotons=130_000_000))
    payouts = [till.payout() for _ in range(4)]
    Payout.objects.update(created_at=timezone.now() - timedelta(days=365))
    batch = till.hand_out(*payouts)
    with till.watched() as look:
        written = till.ask_for(batch, *payouts)
        till.send(batch, payouts[0], written.transaction)
        sent = till.received() // UNITS
        assert 0 < sent < 4

        def rest() -> list[Payout]:
            look()
            return list(batch.payouts.filter(status=SENDING, movement=None))

        wait_until(lambda: len(rest()) == 4 - sent)
        unpaid = rest()
        late = till.end(out(unpaid[0]), final=False)
        till.read(late)
        for some in (unpaid, unpaid[:1], payouts):
            with pytest.raises(ConflictError):
                till.ask_for(batch, *some, now=late)
        till.end(out(unpaid[0]), final=True)
        with pytest.raises(ConflictError):
            till.ask_for(batch, *payouts, now=late)
        till.node.fund(till.wallet, nanotons=10**9)
        again = till.ask_for(batch, *unpaid, now=late)
        assert again.payouts == [one.public_id for one in unpaid]
        till.send(batch, unpaid[0], again.transaction)
    assert till.received() == 4 * UNITS


def test_of_two_windows_that_share_a_payout_one_is_handed_all_and_the_other_nothing(
    till: TonTill, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, shared, other = (till.payout(UNITS + n) for n in range(3))
    batch = till.hand_out(mine, shared, other)
    prepare: Callable[..., Any] = browser_wallets.prepare_payments
    handed = []

    def both(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(transactions, "prepare_payments", prepare)
        handed.append(till.ask_for(batch, other, shared).payouts)
        return prepare(*args, **options)

    monkeypatch.setattr(transactions, "prepare_payments", both)
    with pytest.raises(ConflictError) as refused:
        till.ask_for(batch, mine, shared)
    assert refused.value.code == "not_ended"
    assert handed == [[other.public_id, shared.public_id]]
    assert (end_of(mine), end_of(shared)) == (None, end_of(other))
    # What is out spoils a later request, too.
    with pytest.raises(ConflictError):
        till.ask_for(batch, mine, shared)
    assert till.ask_for(batch, mine).payouts == [mine.public_id]


def test_the_balance_covers_the_first_and_the_others_are_not_out(till: TonTill) -> None:
    till.pay_from(till.node.create_wallet(units=2 * UNITS))
    payouts = [till.payout() for _ in range(3)]
    batch = till.hand_out(*payouts)
    written = till.ask_for(batch, *payouts)
    assert written.payouts == [one.public_id for one in payouts[:2]]
    assert len(written.transaction["messages"]) == 2
    assert end_of(payouts[2]) is None


def test_no_payout_has_two_messages_no_stranger_has_one_and_no_request_has_too_many(till: TonTill) -> None:
    payout = till.payout()
    batch = till.hand_out(payout)
    for other in (payout, till.payout(UNITS + 1)):
        with pytest.raises(ConflictError) as refused:
            till.ask_for(batch, payout, other)
        assert refused.value.code == "state_conflict"
    for some in ([], [payout] * 255):
        with pytest.raises(InvalidRequestError):
            till.ask_for(batch, *some)
    assert end_of(payout) is None
