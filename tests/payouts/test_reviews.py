"""Many payouts that one person approves at once: what is listed, what is left out, and what becomes of the list."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant, User
from accounts.states import Mode, Role
from gateway.core.api.errors import ConflictError, InvalidRequestError, NotFoundError, RoleError
from gateway.core.restores import Restore
from mails.models import OutgoingMail
from payouts.approvals.reviews import MOST_AT_ONCE, Approved, approve_list, digest_of, look_alikes, review
from payouts.lifecycle.service import Terms, cancel_payout, request_payout, set_address
from payouts.models import Payout, PayoutApproval
from payouts.states import SHOWN_DIGITS, AddressBy, PayoutStatus
from tests.checkouts.watcher import DOLLAR
from tests.factories import NOON, make_merchant
from tests.payouts.factories import (
    BUYER,
    OTHER_BUYER,
    USDC,
    approved,
    make_approver,
    make_paid,
    make_payout,
    outflow_for,
    refund_of,
    status_of,
)
from wallets.models import Transfer
from wallets.states import TransferState

pytestmark = pytest.mark.django_db

# As `BUYER` begins and ends.
ALIKE = f"0x976e{'c' * 32}0aa9"


@pytest.fixture
def owner(merchant: Merchant) -> User:
    """Somebody who may approve the merchant's payouts."""
    return make_approver(merchant)


def listed(*payouts: Payout) -> dict[str, int]:
    """What a page showed of payouts."""
    return {one.public_id: one.revision for one in payouts}


def approve(owner: User, *payouts: Payout, digest: str | None = None) -> Approved:
    """Approve payouts as their page listed them."""
    merchant, of = payouts[0].merchant, digest_of(payouts) if digest is None else digest
    return approve_list(merchant, Mode.LIVE, listed(*payouts), digest=of, actor=Actor(owner), now=NOON)


def reasons(owner: User, *payouts: Payout) -> list[str]:
    """Why each payout is left out, in their order."""
    found = review(payouts, owner, now=NOON)
    return [one.why for one in found.left_out]


def test_a_list_is_approved_at_once_and_each_payout_has_its_approval(merchant: Merchant, owner: User) -> None:
    payouts = [make_payout(merchant, number * DOLLAR) for number in (5, 6, 7)]
    done = approve(owner, *payouts)
    assert [one.pk for one in done.approved] == [one.pk for one in payouts]
    assert (done.waiting, done.left_out) == ([], [])
    assert {status_of(one) for one in payouts} == {PayoutStatus.APPROVED}
    rows = PayoutApproval.objects.order_by("pk").values_list("payout", "revision", "user")
    assert list(rows) == [(one.pk, 1, owner.pk) for one in payouts]
    assert AuditEntry.objects.filter(action="payout.approved", actor=owner).count() == 3


def test_the_list_is_audited_and_owners_get_one_mail_with_its_digest(merchant: Merchant, owner: User) -> None:
    payouts = [make_payout(merchant), make_payout(merchant, chain="polygon")]
    digest = review(payouts, owner, now=NOON).digest
    approve(owner, *payouts)
    after = AuditEntry.objects.get(action="payouts.approved").after
    assert after == {
        "payouts": 2,
        "sums": ["5.00 USDC on Base", "5.00 USDC on Polygon"],
        "waiting": 0,
        "left_out": 0,
        "digest": digest,
    }
    mail = OutgoingMail.objects.get(key__startswith="payouts-approved:")
    assert mail.recipient == owner.email
    assert digest[:SHOWN_DIGITS] in mail.text


def test_the_digest_is_of_ids_revisions_addresses_and_amounts(merchant: Merchant, owner: User) -> None:
    payouts = [make_payout(merchant), make_payout(merchant)]
    digest = review(payouts, owner, now=NOON).digest
    assert review(payouts[::-1], owner, now=NOON).digest == digest
    assert review(payouts[:1], owner, now=NOON).digest != digest
    changed = set_address(payouts[0], address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    assert review([changed, payouts[1]], owner, now=NOON).digest != digest


def test_what_changed_since_is_left_out_and_the_others_are_approved(merchant: Merchant, owner: User) -> None:
    stays, moves, ends = (make_payout(merchant) for _ in range(3))
    digest = review([stays, moves, ends], owner, now=NOON).digest
    set_address(moves, address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    cancel_payout(ends, now=NOON)
    done = approve(owner, stays, moves, ends, digest=digest)
    assert [one.pk for one in done.approved] == [stays.pk]
    assert {one.payout.pk: one.why.partition(".")[0] for one in done.left_out} == {
        moves.pk: "The address has changed since you looked",
        ends.pk: "It no longer waits for approval",
    }
    assert status_of(moves) == PayoutStatus.REQUESTED
    after = AuditEntry.objects.get(action="payouts.approved").after
    assert after
    assert after["left_out"] == 2


def test_a_form_that_is_sent_twice_approves_once(merchant: Merchant, owner: User) -> None:
    payouts = [make_payout(merchant), make_payout(merchant)]
    digest = review(payouts, owner, now=NOON).digest
    first, second = (approve(owner, *payouts, digest=digest) for _ in range(2))
    assert [one.pk for one in first.approved] == [one.pk for one in second.approved]
    assert second.left_out == []
    assert PayoutApproval.objects.count() == 2
    assert AuditEntry.objects.filter(action__endswith=".approved").count() == 3


def test_another_list_than_the_one_that_was_shown_is_refused(merchant: Merchant, owner: User) -> None:
    payout, other = make_payout(merchant), make_payout(merchant, 900 * DOLLAR)
    digest = review([payout], owner, now=NOON).digest
    with pytest.raises(ConflictError, match="not the list"):
        approve(owner, payout, other, digest=digest)
    assert not PayoutApproval.objects.exists()


def test_two_people_approve_what_is_worth_more_and_the_asker_is_neither(merchant: Merchant, owner: User) -> None:
    Merchant.objects.update(payout_approvals=2, payout_second_above=100)
    merchant.refresh_from_db()
    terms = Terms(address=BUYER, **USDC)
    own = request_payout(
        merchant, mode=Mode.LIVE, amount=Decimal(500), terms=terms, now=NOON, actor=Actor(owner)
    ).payout
    large, small = make_payout(merchant, 200 * DOLLAR), make_payout(merchant)
    assert reasons(owner, own, large, small) == [
        "You asked for this payout. Above your limit, two other people approve it."
    ]
    done = approve(owner, large, small)
    assert ([one.pk for one in done.waiting], [one.pk for one in done.approved]) == ([large.pk], [small.pk])
    assert reasons(owner, Payout.objects.get(pk=large.pk)) == ["You approved it already. It waits for another person."]
    done = approve(make_approver(merchant), large, own)
    assert [one.pk for one in done.approved] == [large.pk]
    assert [one.pk for one in done.waiting] == [own.pk]


def test_what_needs_a_look_of_its_own_is_left_out_with_the_reason(merchant: Merchant, owner: User) -> None:
    open_ = refund_of(make_paid(merchant)).payout
    done = approved(make_payout(merchant, 7 * DOLLAR), make_approver(merchant))
    checkout = make_paid(merchant)
    sourceless = refund_of(checkout, address=OTHER_BUYER).payout
    Transfer.objects.filter(payment__checkout=checkout).update(state=TransferState.ORPHANED)
    found = reasons(owner, open_, done, sourceless)
    assert [why.split(".")[0] for why in found] == [
        "Its address is not known yet",
        "It no longer waits for approval",
        "The network took back the payment that it returns",
    ]


def test_a_look_alike_is_decided_about_on_its_own_page(merchant: Merchant, owner: User) -> None:
    payout, alike = make_payout(merchant), make_payout(merchant, address=ALIKE)
    told = look_alikes([payout, alike], now=NOON)
    assert told == {payout.pk: [alike.address], alike.pk: [payout.address]}
    assert all("Compare every character" in why for why in reasons(owner, payout, alike))
    assert look_alikes([payout], now=NOON + timedelta(days=91)) == {}


def test_addresses_that_are_the_same_or_of_another_merchant_are_no_look_alikes(merchant: Merchant, owner: User) -> None:
    payouts = [make_payout(merchant), make_payout(merchant), make_payout(merchant, address=OTHER_BUYER)]
    make_payout(make_merchant(), address=ALIKE)
    assert look_alikes(payouts, now=NOON) == {}
    assert reasons(owner, *payouts) == []


def test_what_a_lost_time_may_have_paid_is_decided_about_on_its_own_page(merchant: Merchant, owner: User) -> None:
    Restore.objects.create(
        lost_from=NOON - timedelta(hours=2), restored_at=NOON - timedelta(hours=1), amounts_until=NOON
    )
    payout = make_payout(merchant)
    outflow_for(payout, block_time=NOON - timedelta(minutes=90))
    [why] = reasons(owner, payout)
    assert "lost" in why
    assert approve(owner, payout).approved == []


def test_who_may_not_approve_one_approves_no_list(merchant: Merchant) -> None:
    payout = make_payout(merchant)
    for person in (make_approver(merchant, Role.VIEWER), make_approver(make_merchant())):
        with pytest.raises(RoleError):
            approve(person, payout)


def test_another_merchants_and_modes_payouts_do_not_exist(merchant: Merchant, owner: User) -> None:
    mine, theirs = make_payout(merchant), make_payout(make_merchant())
    for mode, payouts in ((Mode.LIVE, [mine, theirs]), (Mode.TEST, [mine])):
        with pytest.raises(NotFoundError):
            approve_list(merchant, mode, listed(*payouts), digest="", actor=Actor(owner), now=NOON)
    assert not PayoutApproval.objects.exists()


@pytest.mark.parametrize("count", [0, MOST_AT_ONCE + 1])
def test_a_list_has_an_end(count: int, merchant: Merchant, owner: User) -> None:
    shown = {f"po_live_{number}": 1 for number in range(count)}
    with pytest.raises(InvalidRequestError):
        approve_list(merchant, Mode.LIVE, shown, digest="", actor=Actor(owner), now=NOON)
