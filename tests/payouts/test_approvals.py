"""Who approves a payout, and how many people it takes."""

from decimal import Decimal

import pytest

from accounts.audit.actors import Actor
from accounts.models import Membership, Merchant, User
from accounts.states import Mode, Role
from gateway.core.api.errors import ConflictError, RoleError
from payouts.approvals.service import approve_payout, needed_approvals, recheck_approval
from payouts.lifecycle.service import Terms, cancel_payout, request_payout, set_address
from payouts.models import Payout, PayoutApproval
from payouts.selectors import payout_named, payout_objects
from payouts.states import AddressBy, PayoutStatus
from tests.checkouts.watcher import DOLLAR
from tests.factories import NOON, make_merchant, make_user
from tests.payouts.factories import BUYER, OTHER_BUYER, USDC, approved, make_approver, make_payout, status_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cautious(merchant: Merchant) -> Merchant:
    """The merchant, which wants two approvals above 100 USD."""
    Merchant.objects.update(payout_approvals=2, payout_second_above=100)
    merchant.refresh_from_db()
    return merchant


def asked_by(person: User, merchant: Merchant, dollars: int) -> Payout:
    terms = Terms(address=BUYER, **USDC)
    asked = request_payout(
        merchant, mode=Mode.LIVE, amount=Decimal(dollars), terms=terms, now=NOON, actor=Actor(person)
    )
    return asked.payout


def test_one_owner_approves_what_somebody_asked_for_even_the_owner(merchant: Merchant) -> None:
    owner = make_approver(merchant)
    payout = approved(asked_by(owner, merchant, 5_000), owner)
    assert (payout.status, payout.approved_at) == (PayoutStatus.APPROVED, NOON)


@pytest.mark.parametrize(("dollars", "needed"), [(100, 1), (101, 2)])
def test_above_the_limit_two_people_approve(cautious: Merchant, dollars: int, needed: int) -> None:
    payout = make_payout(cautious, dollars * DOLLAR)
    assert needed_approvals(payout) == needed
    first = make_approver(cautious)
    for _ in range(2):
        after = approved(payout, first)
        assert (after.status == PayoutStatus.APPROVED) is (needed == 1)
    assert approved(payout).status == PayoutStatus.APPROVED
    assert PayoutApproval.objects.count() == 2


def test_the_asker_does_not_approve_above_the_limit(cautious: Merchant) -> None:
    asker = make_approver(cautious)
    with pytest.raises(ConflictError, match="You asked for"):
        approved(asked_by(asker, cautious, 101), asker)
    assert approved(asked_by(asker, cautious, 100), asker).status == PayoutStatus.APPROVED


def test_what_the_asker_approved_before_the_rule_counts_for_neither_of_two(merchant: Merchant) -> None:
    asker = make_approver(merchant)
    payout = approved(asked_by(asker, merchant, 200), asker)
    assert payout.status == PayoutStatus.APPROVED
    Merchant.objects.update(payout_approvals=2, payout_second_above=100)
    assert recheck_approval(payout, now=NOON).status == PayoutStatus.REQUESTED
    assert approved(payout).status == PayoutStatus.REQUESTED
    shown = payout_named(merchant.pk, Mode.LIVE, payout.public_id)
    assert payout_objects([shown], shows_claims=False)[0]["approvals"]["have"] == 1
    assert approved(payout).status == PayoutStatus.APPROVED


def test_an_approval_is_of_the_address_that_was_seen(cautious: Merchant) -> None:
    payout = make_payout(cautious, 200 * DOLLAR)
    approved(payout)
    set_address(payout, address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    person = make_approver(cautious)
    with pytest.raises(ConflictError, match="has changed"):
        approve_payout(payout, revision=1, actor=Actor(person), now=NOON)
    after = approve_payout(payout, revision=2, actor=Actor(person), now=NOON)
    assert after.status == PayoutStatus.REQUESTED


def test_strangers_viewers_and_admins_do_not_approve_unless_admins_may(merchant: Merchant) -> None:
    payout, admin = make_payout(merchant), make_approver(merchant, Role.ADMIN)
    owner_elsewhere = make_approver(make_merchant())
    for person in (make_user(), make_approver(merchant, Role.VIEWER), owner_elsewhere, admin):
        with pytest.raises(RoleError):
            approved(payout, person)
    Merchant.objects.update(admins_approve=True)
    assert approved(payout, admin).status == PayoutStatus.APPROVED


def test_the_approval_of_somebody_who_left_is_void(merchant: Merchant) -> None:
    person = make_approver(merchant)
    payout = approved(make_payout(merchant), person)
    assert recheck_approval(payout, now=NOON).status == PayoutStatus.APPROVED
    Membership.objects.filter(user=person).delete()
    assert recheck_approval(payout, now=NOON).status == PayoutStatus.REQUESTED
    assert approved(payout).status == PayoutStatus.APPROVED


def test_what_ended_is_not_approved() -> None:
    payout = make_payout()
    cancel_payout(payout, now=NOON)
    with pytest.raises(ConflictError, match="does not wait"):
        approved(payout)
    assert status_of(payout) == PayoutStatus.CANCELLED
