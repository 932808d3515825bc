"""Refunds that are asked for at once, and outflows that two workers find at once."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from django.db import connection

from accounts.audit.actors import Actor
from accounts.models import Merchant, User
from accounts.states import Mode
from checkouts.models import Checkout
from gateway.core.api.errors import ConflictError
from payouts.approvals.reviews import approve_list, digest_of
from payouts.approvals.service import approve_payout
from payouts.errors import AmountNotRefundableError
from payouts.lifecycle.payers import prove_payer, start_payer_proof
from payouts.lifecycle.service import cancel_payout, conclude_payout, set_address
from payouts.models import Payout, PayoutApproval
from payouts.states import AddressBy, PayoutStatus
from tests.checkouts.watcher import DOLLAR, SOON
from tests.concurrency.races import behind, together
from tests.concurrency.test_inbox import no_lock_on
from tests.factories import NOON, make_merchant
from tests.payouts.factories import (
    BUYER,
    OTHER_BUYER,
    approved,
    make_approver,
    make_paid,
    make_payout,
    outflow_for,
    promised,
    refund_of,
    status_of,
)
from tests.wallets.signing import Signer
from wallets.models import Transfer, TransferReturn, WatchedMovement
from wallets.receiving.proofs import message_of

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

CROWD = 16
LOCK_RETURN = "SELECT FROM wallets_transferreturn WHERE transfer_id = %s FOR UPDATE"


def ask(checkout: Checkout, units: int = 3 * DOLLAR, reference: str = "") -> bool:
    """Ask for a refund; whether it was granted."""
    try:
        refund_of(checkout, units, reference=reference)
    except AmountNotRefundableError:
        return False
    return True


def refunds_that_looked_before_any_reserved() -> tuple[int, int]:
    """Sixteen who ask for 3 USDC each, of 25 less one unit, and have all seen what is left; how many got it, and what is reserved."""
    checkout = make_paid()
    ask(checkout, 1)
    works = [partial(ask, checkout)] * CROWD
    granted = behind(LOCK_RETURN, Transfer.objects.get().pk, works=works)
    return sum(granted), promised(checkout)[0]


@pytest.fixture
def removed() -> Iterator[Callable[[], None]]:
    """Take away what holds a transfer's returns within its units, until the test ends."""
    [within] = TransferReturn._meta.constraints
    gone = []

    def remove() -> None:
        with connection.schema_editor() as editor:
            editor.remove_constraint(TransferReturn, within)
        gone.append(within)

    yield remove
    if gone:
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE wallets_transferreturn")
        with connection.schema_editor() as editor:
            editor.add_constraint(TransferReturn, within)


def test_sixteen_refunds_at_once_never_promise_more_than_came() -> None:
    checkout = make_paid()
    granted = together(*[partial(ask, checkout)] * CROWD)
    assert (sum(granted), promised(checkout)) == (8, (24 * DOLLAR, 0))


def test_without_the_transfers_lock_the_table_still_promises_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    no_lock_on(monkeypatch, Transfer)
    assert refunds_that_looked_before_any_reserved() == (8, 24 * DOLLAR + 1)


def test_without_the_constraint_and_the_lock_more_is_promised_than_came(
    monkeypatch: pytest.MonkeyPatch, removed: Callable[[], None]
) -> None:
    """The negative control of the tests above."""
    no_lock_on(monkeypatch, Transfer)
    removed()
    assert refunds_that_looked_before_any_reserved() == (CROWD, CROWD * 3 * DOLLAR + 1)


def test_a_refund_that_is_asked_for_twice_at_once_is_one() -> None:
    checkout = make_paid()
    granted = together(*[partial(ask, checkout, reference="rma-17")] * 8)
    assert (granted, Payout.objects.count()) == ([True] * 8, 1)
    assert promised(checkout) == (3 * DOLLAR, 0)


def test_refunds_of_two_checkouts_that_come_and_go_at_once_never_lock_each_other_out() -> None:
    merchant = make_merchant()
    checkouts = [make_paid(merchant), make_paid(merchant)]

    def come_and_go(checkout: Checkout) -> None:
        for _ in range(5):
            cancel_payout(refund_of(checkout, 2 * DOLLAR).payout, now=NOON)

    together(*[partial(come_and_go, checkout) for checkout in checkouts * 4])
    assert [promised(checkout) for checkout in checkouts] == [(0, 0), (0, 0)]


def conclude(payout: Payout, outflow: WatchedMovement) -> bool:
    try:
        conclude_payout(payout, outflow, now=SOON)
    except ConflictError:
        return False
    return True


def test_two_workers_with_one_outflow_pay_one_payout() -> None:
    merchant = make_merchant()
    person = make_approver(merchant)
    payouts = [approved(make_payout(merchant), person) for _ in range(2)]
    outflow = outflow_for(payouts[0])
    came = together(*[partial(conclude, payout, outflow) for payout in payouts * 2])
    assert (sum(came), Payout.objects.filter(status=PayoutStatus.PAID).count()) == (1, 1)


def approve(payout: Payout, person: User) -> bool:
    try:
        approve_payout(payout, revision=1, actor=Actor(person), now=NOON)
    except ConflictError:
        return False
    return True


def test_an_address_that_changes_during_an_approval_is_not_approved() -> None:
    payout = make_payout(address=BUYER)
    person = make_approver(payout.merchant)
    change = partial(set_address, payout, address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    lock = "SELECT FROM payouts_payout WHERE id = %s FOR UPDATE"
    assert behind(lock, payout.pk, works=[change, partial(approve, payout, person)])[1] is False
    assert status_of(payout) == PayoutStatus.REQUESTED


def approved_while_it_changed(monkeypatch: pytest.MonkeyPatch) -> tuple[bool, Payout]:
    """Whether an address is approved while another one takes its place, and nobody locks payouts; and the payout."""
    no_lock_on(monkeypatch, Payout)
    payout = make_payout(address=BUYER)
    person = make_approver(payout.merchant)
    change = partial(set_address, payout, address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    lock = "SELECT FROM payouts_payout WHERE id = %s FOR NO KEY UPDATE"
    is_approved: bool = behind(lock, payout.pk, works=[change, partial(approve, payout, person)])[1]
    payout.refresh_from_db()
    return is_approved, payout


def test_without_the_payouts_lock_the_table_still_refuses_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    is_approved, payout = approved_while_it_changed(monkeypatch)
    assert (is_approved, payout.status, payout.address) == (False, PayoutStatus.REQUESTED, OTHER_BUYER)
    assert not PayoutApproval.objects.exists()


@pytest.fixture
def without_the_trigger() -> Iterator[None]:
    """The table takes approvals of any address."""
    statement = "ALTER TABLE payouts_approval {} TRIGGER payout_approval_of_present_address"
    with connection.cursor() as cursor:
        cursor.execute(statement.format("DISABLE"))
        yield
        cursor.execute(statement.format("ENABLE"))


@pytest.mark.usefixtures("without_the_trigger")
def test_without_the_payouts_lock_and_the_trigger_another_address_would_be_approved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control of the tests above."""
    is_approved, payout = approved_while_it_changed(monkeypatch)
    assert (is_approved, payout.status, payout.address) == (True, PayoutStatus.APPROVED, OTHER_BUYER)


def approve_as_listed(payout: Payout, person: User) -> int:
    """Approve a payout by a list that shows its first address; how many are approved by that."""
    digest = digest_of([payout])
    shown = {payout.public_id: 1}
    done = approve_list(payout.merchant, Mode.LIVE, shown, digest=digest, actor=Actor(person), now=NOON)
    return len(done.approved)


def test_an_address_that_changes_during_the_approval_of_a_list_is_left_out() -> None:
    payout = make_payout(address=BUYER)
    person = make_approver(payout.merchant)
    change = partial(set_address, payout, address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    lock = "SELECT FROM payouts_payout WHERE id = %s FOR UPDATE"
    assert behind(lock, payout.pk, works=[change, partial(approve_as_listed, payout, person)])[1] == 0
    assert status_of(payout) == PayoutStatus.REQUESTED


def test_two_people_who_approve_one_list_at_once_are_two_approvals_of_each_payout() -> None:
    merchant = make_merchant()
    Merchant.objects.update(payout_approvals=2, payout_second_above=1)
    merchant.refresh_from_db()
    payouts = [make_payout(merchant) for _ in range(4)]
    shown, digest = {one.public_id: 1 for one in payouts}, digest_of(payouts)
    people = [make_approver(merchant) for _ in range(2)]

    def work(person: User) -> int:
        done = approve_list(merchant, Mode.LIVE, shown, digest=digest, actor=Actor(person), now=NOON)
        return len(done.approved)

    assert sorted(together(*(partial(work, person) for person in people))) == [0, 4]
    assert PayoutApproval.objects.count() == 8
    assert {status_of(one) for one in payouts} == {PayoutStatus.APPROVED}


def test_a_payers_signature_that_is_sent_several_times_at_once_is_used_once() -> None:
    signer, checkout = Signer("base"), make_paid()
    Transfer.objects.update(sender=signer.address)
    payout = refund_of(checkout, requires_proof=True).payout
    proof = start_payer_proof(payout, address=signer.address, now=NOON)
    signature = signer.sign(message_of(proof))

    def prove() -> bool:
        try:
            prove_payer(payout, nonce=proof.nonce, signature=signature, now=NOON)
        except ConflictError:
            return False
        return True

    lock = "SELECT FROM payouts_payout WHERE id = %s FOR UPDATE"
    assert sorted(behind(lock, payout.pk, works=[prove] * 4)) == [False, False, False, True]
    payout.refresh_from_db()
    assert (payout.address, payout.revision) == (signer.address, 1)
