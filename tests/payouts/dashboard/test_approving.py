"""The pages that approve many payouts at once."""

import re
from typing import Any

import pytest

from accounts.models import Merchant
from accounts.states import Mode, Role
from payouts.approvals.reviews import MOST_AT_ONCE
from payouts.lifecycle.service import set_address
from payouts.models import Payout, PayoutApproval
from payouts.states import AddressBy, PayoutStatus
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, make_merchant
from tests.payouts.factories import OTHER_BUYER, make_paid, make_payout, refund_of, status_of

pytestmark = pytest.mark.usefixtures("db", "still_noon")


def look(desk: Desk, *payouts: Payout) -> Any:
    """Open the list of some payouts, or of all that wait."""
    ids = [one.public_id for one in payouts]
    return desk.post("dashboard_review_payouts", {"payout": ids} if ids else {"all": "1"})


def confirm(desk: Desk, page: Any) -> Any:
    """Send the form of a list as it is."""
    sent = {
        "digest": re.search(r'name="digest" value="(\w+)"', page.text)[1],  # type: ignore[index]
        "payout": re.findall(r'name="payout" value="(.*?)"', page.text),
    }
    return desk.post("dashboard_approve_payouts", sent)


def test_those_who_may_approve_select_what_waits(owner: Desk, viewer: Desk) -> None:
    waits, unknown = make_payout(owner.merchant), refund_of(make_paid(owner.merchant)).payout
    text = owner.get("dashboard_payouts").text
    assert f'value="{waits.public_id}"' in text
    # It has no address to approve.
    assert f'value="{unknown.public_id}"' not in text
    assert "Review all 1" in text
    assert 'type="checkbox"' not in viewer.get("dashboard_payouts").text


def test_the_list_shows_each_address_the_sums_and_the_digest(owner_by_factor: Desk) -> None:
    desk = owner_by_factor
    payouts = [make_payout(desk.merchant, reference="wage-ada"), make_payout(desk.merchant, 7 * DOLLAR)]
    page = look(desk, *payouts)
    assert page.status_code == 200
    text = page.text
    for words in ("wage-ada", "12.00 USDC", "Base", "Digest", "Approve all 2"):
        assert words in text
    for payout in payouts:
        assert f'value="{payout.public_id}:1"' in text
    assert {status_of(one) for one in payouts} == {PayoutStatus.REQUESTED}


def test_one_confirmation_approves_the_list(owner_by_factor: Desk) -> None:
    desk = owner_by_factor
    payouts = [make_payout(desk.merchant) for _ in range(3)]
    answer = confirm(desk, look(desk))
    assert answer["Location"] == f"{desk.url('dashboard_payouts')}?status=pay"
    assert {status_of(one) for one in payouts} == {PayoutStatus.APPROVED}
    assert PayoutApproval.objects.count() == 3
    assert "3 approved. Pay them under To pay." in desk.get("dashboard_payouts", "?status=pay").text


def test_what_changed_meanwhile_is_named_with_its_reason(owner_by_factor: Desk) -> None:
    desk = owner_by_factor
    stays, moves = make_payout(desk.merchant), make_payout(desk.merchant)
    page = look(desk, stays, moves)
    set_address(moves, address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    answer = confirm(desk, page)
    assert answer.status_code == 409
    assert "1 approved." in answer.text
    assert "The address has changed since you looked." in answer.text
    assert desk.url("dashboard_payout", payout_id=moves.public_id) in answer.text
    assert (status_of(stays), status_of(moves)) == (PayoutStatus.APPROVED, PayoutStatus.REQUESTED)


def test_what_cannot_be_approved_at_once_is_left_out_of_the_form(owner_by_factor: Desk) -> None:
    desk = owner_by_factor
    open_ = refund_of(make_paid(desk.merchant)).payout
    page = look(desk, open_)
    assert "You can approve none of these at once." in page.text
    assert "Its address is not known yet." in page.text
    assert "Approve all" not in page.text
    assert f"{open_.public_id}:0" not in page.text


def test_of_very_many_the_oldest_are_listed_first(owner_by_factor: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("payouts.dashboard.approving.MOST_AT_ONCE", 2)
    payouts = [make_payout(owner_by_factor.merchant) for _ in range(3)]
    text = look(owner_by_factor).text
    assert "1 more waits for the next list." in text
    assert f'value="{payouts[2].public_id}:1"' not in text
    assert MOST_AT_ONCE == 100


def test_looking_and_approving_take_a_second_factor(owner: Desk, owner_by_factor: Desk) -> None:
    payout = make_payout(owner.merchant)
    assert "security" in look(owner, payout)["Location"]
    page = look(owner_by_factor, payout)
    assert "security" in confirm(owner, page)["Location"]
    stale = make_desk(owner.merchant, factor=True, fresh=False)
    assert "reauthenticate" in confirm(stale, page)["Location"]
    assert status_of(payout) == PayoutStatus.REQUESTED


def test_test_mode_needs_no_second_factor(owner_in_test_mode: Desk) -> None:
    payout = make_payout(owner_in_test_mode.merchant)
    Payout.objects.update(mode=Mode.TEST)
    assert confirm(owner_in_test_mode, look(owner_in_test_mode)).status_code == 302
    assert status_of(payout) == PayoutStatus.APPROVED


def test_no_role_below_approves_a_list(merchant: Merchant) -> None:
    payout = make_payout(merchant)
    for role in (Role.VIEWER, Role.ADMIN):
        desk = make_desk(merchant, role, factor=True)
        assert look(desk, payout).status_code == 403
        assert desk.post("dashboard_approve_payouts", {"payout": f"{payout.public_id}:1"}).status_code == 403
    assert status_of(payout) == PayoutStatus.REQUESTED


def test_what_is_not_there_is_not_found(owner_by_factor: Desk) -> None:
    desk, elsewhere = owner_by_factor, make_payout(make_merchant())
    make_payout(desk.merchant)
    assert look(desk, elsewhere).status_code == 404
    sent = {"payout": f"{elsewhere.public_id}:1", "digest": "0" * 64}
    assert desk.post("dashboard_approve_payouts", sent).status_code == 404


@pytest.mark.parametrize("value", ["po_live_x", "po_live_x:", "po_live_x:-1", "po_live_x:¹", "po\x00:1", ":"])
def test_no_other_form_than_the_pages_own_approves_a_list(value: str, owner_by_factor: Desk) -> None:
    assert owner_by_factor.post("dashboard_approve_payouts", {"payout": value}).status_code == 400


def test_nothing_selected_says_so(owner_by_factor: Desk) -> None:
    make_payout(owner_by_factor.merchant)
    answer = owner_by_factor.post("dashboard_review_payouts", {})
    assert answer["Location"] == owner_by_factor.url("dashboard_payouts")
