"""Paying approved payouts: the wallet and the method, and what the batch's page hands out."""

import csv
import hashlib
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest

from accounts.models import AuditEntry, Merchant
from accounts.states import Role
from gateway.core.money import from_units
from payouts.batches.instructions import safe_checksum
from payouts.following.service import COOLING
from payouts.models import Payout, PayoutBatch, PayoutSource
from payouts.states import BatchStatus, Method, PayoutStatus
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, WALLET, make_live_chain, make_wallet
from tests.payouts.factories import BUYER, OTHER_BUYER, approved, make_paid, make_payout, outflow_for, status_of
from wallets.models import Transfer, WatchedMovement
from wallets.networks import chain_spec
from wallets.states import TransferState

pytestmark = pytest.mark.usefixtures("db", "still_noon", "local_nodes")


@pytest.fixture
def two(owner: Desk) -> list[Payout]:
    """Two approved payouts, of 5 and 1,234.5 USDC."""
    made = [make_payout(owner.merchant), make_payout(owner.merchant, 1_234_500_000, address=OTHER_BUYER)]
    return [approved(payout, owner.user) for payout in made]


def pay(desk: Desk, payouts: list[Payout], **sent: str) -> Any:
    return desk.post("dashboard_pay_payouts", {"payout": [payout.public_id for payout in payouts], **sent})


def hand_out(desk: Desk, payouts: list[Payout], method: Method = Method.LIST) -> PayoutBatch:
    answer = pay(desk, payouts, wallet=WALLET, method=method)
    batch = PayoutBatch.objects.get()
    assert answer["Location"] == desk.url("dashboard_payout_batch", batch_id=batch.public_id)
    return batch


def test_the_first_step_suggests_the_receiving_wallet_and_changes_nothing(owner: Desk, two: list[Payout]) -> None:
    wallet = make_wallet(owner.merchant)
    page = pay(owner, two)
    assert page.status_code == 200
    for words in ("1,239.50 USDC", wallet.address, "Sign in this browser", "Safe file", "List and QR codes"):
        assert words in page.text
    assert not PayoutBatch.objects.exists()
    assert [status_of(payout) for payout in two] == [PayoutStatus.APPROVED] * 2


def test_the_next_batch_suggests_the_wallet_and_the_method_of_the_last(owner: Desk, two: list[Payout]) -> None:
    make_wallet(owner.merchant)
    batch = hand_out(owner, two[:1], Method.LIST)
    suggested = pay(owner, two[1:]).context["form"].initial
    assert suggested == {"wallet": batch.wallet.address, "method": Method.LIST}


AS_BEFORE = "Approve and pay as before…"


def approve_and_pay(desk: Desk, payout: Payout, **sent: str) -> Any:
    """Press the button of a payout's page that approves it and pays it as before."""
    given = {"revision": payout.revision, "wallet": WALLET, "method": Method.LIST.value} | sent
    return desk.post("dashboard_approve_payout", given, payout_id=payout.public_id)


def test_an_approved_payout_is_handed_out_as_before_by_one_press(owner: Desk, two: list[Payout]) -> None:
    first, second = two
    assert "Pay as before…" not in owner.get("dashboard_payout", payout_id=first.public_id).text
    batch = hand_out(owner, [first], Method.SAFE)
    page = owner.get("dashboard_payout", payout_id=second.public_id).text
    assert f'name="wallet" value="{WALLET}"' in page
    assert re.search(r'name="method"\s+value="safe">Pay as before…', page)
    assert "“Safe file”" in page
    answer = pay(owner, [second], wallet=WALLET, method=Method.SAFE)
    assert answer["Location"] != owner.url("dashboard_payout_batch", batch_id=batch.public_id)
    assert status_of(second) == PayoutStatus.SENDING


def test_who_approves_alone_and_may_pay_does_both_by_one_press(owner_by_factor: Desk) -> None:
    desk = owner_by_factor
    earlier = approved(make_payout(desk.merchant), desk.user)
    payout = make_payout(desk.merchant, address=OTHER_BUYER)
    assert AS_BEFORE not in desk.get("dashboard_payout", payout_id=payout.public_id).text, "nothing was paid before"
    hand_out(desk, [earlier])
    assert AS_BEFORE in desk.get("dashboard_payout", payout_id=payout.public_id).text
    answer = approve_and_pay(desk, payout)
    batch = PayoutBatch.objects.latest("pk")
    assert answer["Location"] == desk.url("dashboard_payout_batch", batch_id=batch.public_id)
    assert [one.public_id for one in batch.payouts.all()] == [payout.public_id]
    # Each is noted and mailed as if there had been two pages.
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions[-2:] == ["payout.approved", "payout_batch.made"]


def test_what_two_people_must_approve_is_not_paid_by_the_first(owner_by_factor: Desk) -> None:
    desk = owner_by_factor
    hand_out(desk, [approved(make_payout(desk.merchant), desk.user)])
    type(desk.merchant).objects.update(payout_approvals=2, payout_second_above=0)
    payout = make_payout(desk.merchant, address=OTHER_BUYER)
    assert AS_BEFORE not in desk.get("dashboard_payout", payout_id=payout.public_id).text
    answer = approve_and_pay(desk, payout)
    assert answer["Location"] == desk.url("dashboard_payout", payout_id=payout.public_id)
    assert (status_of(payout), PayoutBatch.objects.count()) == (PayoutStatus.REQUESTED, 1)
    second = make_desk(desk.merchant, factor=True)
    assert AS_BEFORE in second.get("dashboard_payout", payout_id=payout.public_id).text
    approve_and_pay(second, payout)
    assert (status_of(payout), PayoutBatch.objects.count()) == (PayoutStatus.SENDING, 2)


def test_paying_at_once_asks_all_that_approving_asks(owner_by_factor: Desk) -> None:
    """The second factor is asked for in test_pages.py: a developer's own chains need none."""
    desk = owner_by_factor
    hand_out(desk, [approved(make_payout(desk.merchant), desk.user)])
    payout = make_payout(desk.merchant, address=OTHER_BUYER)
    stale = make_desk(desk.merchant, factor=True, fresh=False)
    admin = make_desk(desk.merchant, Role.ADMIN, factor=True)
    assert "reauthenticate" in approve_and_pay(stale, payout)["Location"]
    assert approve_and_pay(admin, payout).status_code == 403
    assert approve_and_pay(make_desk(factor=True), payout).status_code == 404
    approve_and_pay(desk, payout, revision="7")
    assert (status_of(payout), PayoutBatch.objects.count()) == (PayoutStatus.REQUESTED, 1)


def test_paying_takes_a_fresh_login(merchant: Merchant) -> None:
    desk = make_desk(merchant, fresh=False)
    payout = approved(make_payout(merchant), desk.user)
    assert "reauthenticate" in pay(desk, [payout], wallet=WALLET, method="list")["Location"]
    assert not PayoutBatch.objects.exists()


def test_a_batch_shows_the_frozen_list_and_its_digest(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two, Method.CALLS)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    digest = bytes(batch.digest).hex()
    for words in (digest, digest[:8], "1,239.50 USDC", "1,234.50 USDC", BUYER[8:-6], WALLET[8:-6]):
        assert words in page.text
    called = page.context["calls"]
    assert {call["id"] for call in called} == {f"{batch.public_id}/{payout.public_id}" for payout in two}
    assert "js/calls.js" in page.text


def test_what_was_seen_is_not_asked_for_again(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two, Method.CALLS)
    Payout.objects.filter(pk=two[0].pk).update(movement=outflow_for(two[0]))
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert [call["id"] for call in page.context["calls"]] == [f"{batch.public_id}/{two[1].public_id}"]
    codes = owner.get("dashboard_payout_batch_codes", batch_id=batch.public_id)
    assert [card.payout_id for card in codes.context["cards"]] == [two[1].public_id]


def test_what_left_the_wallet_and_is_not_followed_yet_is_not_asked_for_again(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two, Method.CALLS)
    outflow_for(two[0], queued_at=NOON)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert [call["id"] for call in page.context["calls"]] == [f"{batch.public_id}/{two[1].public_id}"]
    codes = owner.get("dashboard_payout_batch_codes", batch_id=batch.public_id)
    assert [card.payout_id for card in codes.context["cards"]] == [two[1].public_id]


def test_what_a_reorg_took_back_is_not_asked_for_again_while_it_may_return(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two, Method.CALLS)
    gone = outflow_for(two[0], state=TransferState.ORPHANED, orphaned_at=NOON - COOLING)
    for since, asked in ((timedelta(), two[1:]), (timedelta(seconds=-1), two)):
        WatchedMovement.objects.filter(pk=gone.pk).update(orphaned_at=NOON - COOLING + since)
        page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
        assert {call["id"] for call in page.context["calls"]} == {f"{batch.public_id}/{one.public_id}" for one in asked}
        codes = owner.get("dashboard_payout_batch_codes", batch_id=batch.public_id)
        assert {card.payout_id for card in codes.context["cards"]} == {one.public_id for one in asked}


@pytest.mark.parametrize(
    ("state", "halted", "words"),
    [
        (TransferState.ORPHANED, "", "The network took back the payment that this refund returns."),
        (TransferState.CONFIRMED, "a deep fork", "may be lost: its network was stopped."),
    ],
)
def test_a_refund_whose_payment_is_gone_or_in_doubt_is_in_no_call_code_or_file(
    owner: Desk, two: list[Payout], state: TransferState, halted: str, words: str
) -> None:
    batch = hand_out(owner, two, Method.CALLS)
    make_paid(owner.merchant)
    PayoutSource.objects.create(payout=two[0], transfer=Transfer.objects.get(), units=1)
    files = ("csv", "safe", "airdrop_csv")
    for name in files:
        assert owner.get(f"dashboard_payout_batch_{name}", batch_id=batch.public_id).status_code == 200
    Transfer.objects.update(state=state)
    make_live_chain("base", halted_reason=halted, doubted_above=0)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert [call["id"] for call in page.context["calls"]] == [f"{batch.public_id}/{two[1].public_id}"]
    assert words in page.text
    assert owner.url("dashboard_payout_batch_csv", batch_id=batch.public_id) not in page.text
    codes = owner.get("dashboard_payout_batch_codes", batch_id=batch.public_id)
    assert [card.payout_id for card in codes.context["cards"]] == [two[1].public_id]
    # A file has all of the list, as its digest says.
    for name in files:
        assert owner.get(f"dashboard_payout_batch_{name}", batch_id=batch.public_id).status_code == 404


def test_the_list_is_a_file_whose_hash_is_the_digest(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two)
    answer = owner.get("dashboard_payout_batch_csv", batch_id=batch.public_id)
    data = b"".join(answer.streaming_content)
    assert hashlib.sha256(data).digest() == bytes(batch.digest)
    assert bytes(batch.digest).hex()[:8] in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    assert {(row["address"], row["amount"], row["payout id"]) for row in rows} == {
        (BUYER, "5.000000", two[0].public_id),
        (OTHER_BUYER, "1234.500000", two[1].public_id),
    }


def test_the_safes_file_names_the_digest(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two, Method.SAFE)
    answer = owner.get("dashboard_payout_batch_safe", batch_id=batch.public_id)
    file = json.loads(answer.content)
    assert bytes(batch.digest).hex()[:8] in answer["Content-Disposition"]
    assert file["meta"]["createdFromSafeAddress"] == WALLET
    assert file["meta"]["checksum"] == safe_checksum(file)
    assert len(file["transactions"]) == 2


def test_the_safes_airdrop_pays_the_same_list(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two, Method.SAFE)
    assert "CSV Airdrop" in owner.get("dashboard_payout_batch", batch_id=batch.public_id).text
    answer = owner.get("dashboard_payout_batch_airdrop_csv", batch_id=batch.public_id)
    assert bytes(batch.digest).hex()[:8] in answer["Content-Disposition"]
    header, *lines = answer.getvalue().decode().splitlines()
    assert header == "token_type,token_address,receiver,amount,id"
    token = chain_spec("base").tokens["USDC"].address
    wanted = {f"erc20,{token},{one.address},{from_units(int(one.units)):f}," for one in two}
    assert {*lines} == wanted


def test_only_a_safes_batch_has_an_airdrop(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two)
    assert "CSV Airdrop" not in owner.get("dashboard_payout_batch", batch_id=batch.public_id).text


def test_each_payment_has_a_code(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two)
    page = owner.get("dashboard_payout_batch_codes", batch_id=batch.public_id)
    assert len(page.context["cards"]) == 2
    assert 'data-copy="1234.50"' in page.text


@pytest.mark.parametrize(
    ("change", "status"),
    [({"wallet": "0x12"}, 422), ({"wallet": BUYER}, 422), ({"method": "ton"}, 422), ({"wallet": ""}, 422)],
)
def test_what_cannot_be_paid_is_refused_on_the_form(
    change: dict[str, str], status: int, owner: Desk, two: list[Payout]
) -> None:
    assert pay(owner, two, **({"wallet": WALLET, "method": "list"} | change)).status_code == status
    assert not PayoutBatch.objects.exists()


def test_only_approved_payouts_of_one_network_and_token_go_on(owner: Desk, two: list[Payout]) -> None:
    back = f"{owner.url('dashboard_payouts')}?status=pay"
    other = approved(make_payout(owner.merchant, chain="polygon", token="USDT"), owner.user)
    waits = make_payout(owner.merchant)
    strange = approved(make_payout())
    for chosen in ([], [*two, other], [*two, waits], [*two, strange]):
        assert pay(owner, chosen, wallet=WALLET, method="list")["Location"] == back
    # No id has a NUL byte, and PostgreSQL takes none.
    assert owner.post("dashboard_pay_payouts", {"payout": ["po_live_\x00"]})["Location"] == back
    assert not PayoutBatch.objects.exists()


def test_a_cancelled_batch_hands_out_nothing_and_says_when_its_payouts_are_free(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two, Method.CALLS)
    owner.post("dashboard_cancel_payout_batch", batch_id=batch.public_id)
    batch.refresh_from_db()
    assert batch.status == BatchStatus.CANCELLED
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id)
    assert "21 Nov 2026" in page.text
    assert "This time is a guess: a list or file has no end." in page.text
    assert "calls.js" not in page.text
    for name in ("csv", "safe", "airdrop_csv", "codes"):
        assert owner.get(f"dashboard_payout_batch_{name}", batch_id=batch.public_id).status_code == 404
    assert owner.post("dashboard_cancel_payout_batch", batch_id=batch.public_id).status_code == 302
    assert [status_of(payout) for payout in two] == [PayoutStatus.SENDING] * 2


def test_a_safes_batch_says_to_reject_it_in_the_safe_and_that_its_end_is_a_guess(
    owner: Desk, two: list[Payout]
) -> None:
    reject = "If it waits in your Safe, reject it there and execute the rejection."
    batch = hand_out(owner, two, Method.SAFE)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id).text
    assert f"Do this only if your Safe did not send it. {reject} Then delete the file: it can be loaded again." in page
    owner.post("dashboard_cancel_payout_batch", batch_id=batch.public_id)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id).text
    assert "21 Nov 2026" in page
    assert "This time is a guess: a list or file has no end." in page
    assert reject in page


def test_only_a_safes_batch_is_rejected_in_a_safe(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two, Method.CALLS)
    assert "reject it there" not in owner.get("dashboard_payout_batch", batch_id=batch.public_id).text
    owner.post("dashboard_cancel_payout_batch", batch_id=batch.public_id)
    assert "reject it there" not in owner.get("dashboard_payout_batch", batch_id=batch.public_id).text


def test_where_the_network_ends_what_was_signed_nothing_is_called_a_guess(owner: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two, Method.CALLS)
    PayoutBatch.objects.update(method=Method.AUTHORIZATION)
    owner.post("dashboard_cancel_payout_batch", batch_id=batch.public_id)
    page = owner.get("dashboard_payout_batch", batch_id=batch.public_id).text
    assert "After that, nobody can." in page
    assert "guess" not in page


def test_a_viewer_sees_no_instructions(owner: Desk, viewer: Desk, two: list[Payout]) -> None:
    batch = hand_out(owner, two)
    for name in ("batch", "batch_csv", "batch_safe", "batch_airdrop_csv", "batch_codes"):
        assert viewer.get(f"dashboard_payout_{name}", batch_id=batch.public_id).status_code == 403


def test_many_codes_come_some_at_a_time(owner: Desk) -> None:
    made = [approved(make_payout(owner.merchant, DOLLAR + n), owner.user) for n in range(22)]
    batch = hand_out(owner, made)
    page = owner.get("dashboard_payout_batch_codes", batch_id=batch.public_id)
    assert (len(page.context["cards"]), page.context["more"]) == (20, 2)


def test_the_tab_of_what_was_sent_leads_to_batches_that_may_still_be_paid(
    owner: Desk, viewer: Desk, two: list[Payout]
) -> None:
    batch = hand_out(owner, two)
    link = owner.url("dashboard_payout_batch", batch_id=batch.public_id)
    page = owner.get("dashboard_payouts", "?status=sent")
    assert link in page.text
    assert "1,239.50 USDC" in page.text
    assert bytes(batch.digest).hex()[:8] in page.text
    # It hands out what is signed, which viewers do not see.
    assert link not in viewer.get("dashboard_payouts", "?status=sent").text
    PayoutBatch.objects.update(status=BatchStatus.CLOSED)
    assert link not in owner.get("dashboard_payouts", "?status=sent").text
