"""Refunds and payouts: what can be sent back, to whom, and what ends a promise."""

from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from accounts.audit.actors import Actor
from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.inbox.service import decide_item
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxAct, InboxStatus
from gateway.core.api.errors import ConflictError, InvalidRequestError, NotFoundError
from gateway.core.money import from_units
from payouts.errors import AmountNotRefundableError
from payouts.lifecycle.service import (
    CLAIM_SPAN,
    Terms,
    amount_of,
    cancel_payout,
    cancel_sourceless,
    conclude_payout,
    expire_claims,
    request_payout,
    request_refund,
    set_address,
)
from payouts.lifecycle.sources import Source, source_transfers
from payouts.models import Payout
from payouts.states import FINAL, MOVES, UNSENT, AddressBy, PayoutException, PayoutKind, PayoutStatus
from tests.checkouts.inboxes import extra_item
from tests.checkouts.schema import alter
from tests.checkouts.watcher import DOLLAR, SOON, pay
from tests.factories import (
    NOON,
    USDC_ON_BASE,
    WALLET,
    make_checkout,
    make_live_chain,
    make_merchant,
    make_transfer,
    make_user,
    make_wallet,
)
from tests.payouts.factories import (
    BUYER,
    OTHER_BUYER,
    USDC,
    approved,
    make_paid,
    make_payout,
    outflow_for,
    promised,
    refund_of,
    status_of,
)
from wallets.models import Transfer, TransferClaim, TransferReturn
from wallets.states import ClaimKind, TransferState
from x402.models import X402Payment

pytestmark = pytest.mark.django_db

LATER = NOON + timedelta(days=31)


def of(source: Source, checkout: Any, units: int | None = None) -> Payout:
    asked = request_refund(
        checkout.merchant,
        mode=Mode(checkout.mode),
        source=source,
        amount=None if units is None else from_units(units),
        terms=Terms(address=BUYER),
        now=NOON,
    )
    return asked.payout


# What can be sent back.


def test_a_refund_is_of_all_that_came_and_reserves_it() -> None:
    checkout = make_paid()
    payout = refund_of(checkout, address=BUYER).payout
    assert (payout.kind, payout.status, payout.revision) == (PayoutKind.REFUND, PayoutStatus.REQUESTED, 1)
    assert (payout.chain, payout.token, int(payout.units), payout.address) == ("base", "USDC", 25 * DOLLAR, BUYER)
    assert [int(source.units) for source in payout.sources.all()] == [25 * DOLLAR]
    assert promised(checkout) == (25 * DOLLAR, 0)


def test_parts_are_sent_back_until_nothing_is_left() -> None:
    checkout = make_paid()
    refund_of(checkout, 10 * DOLLAR)
    with pytest.raises(AmountNotRefundableError) as refused:
        refund_of(checkout, 16 * DOLLAR)
    assert refused.value.refundable == "15.000000"
    assert int(refund_of(checkout).payout.units) == 15 * DOLLAR
    with pytest.raises(AmountNotRefundableError, match=r"Only 0\.000000"):
        refund_of(checkout)
    assert promised(checkout) == (25 * DOLLAR, 0)


def test_of_several_transfers_the_newest_is_sent_back_first() -> None:
    checkout = make_checkout()
    first = pay(checkout, 10 * DOLLAR)
    second = pay(checkout, 15 * DOLLAR)
    shares = {s.transfer_id: int(s.units) for s in refund_of(checkout, 20 * DOLLAR).payout.sources.all()}
    assert shares == {second.pk: 15 * DOLLAR, first.pk: 5 * DOLLAR}


def test_a_repeat_that_comes_while_the_first_is_written_gets_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    checkout, asked = make_paid(), "payouts.lifecycle.service.source_transfers"
    made: list[Payout] = []

    def after_the_first(*args: Any, **named: Any) -> Any:
        monkeypatch.setattr(asked, source_transfers)
        made.append(refund_of(checkout, reference="rma-17").payout)
        return source_transfers(*args, **named)

    monkeypatch.setattr(asked, after_the_first)
    again = refund_of(checkout, reference="rma-17")
    assert ([again.payout], again.is_new) == (made, False)
    assert promised(checkout) == (25 * DOLLAR, 0)


def test_money_in_doubt_is_not_sent_back_until_its_network_is_read_again() -> None:
    checkout = make_paid()
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0)
    with pytest.raises(ConflictError, match="may be lost"):
        refund_of(checkout)
    assert promised(checkout) == (0, 0)
    make_live_chain("base", halted_reason="", doubted_above=None)
    assert int(refund_of(checkout).payout.units) == 25 * DOLLAR


@pytest.mark.parametrize("units", [0, -1])
def test_nothing_and_less_are_no_amounts(units: int) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        refund_of(make_paid(), units)
    assert refused.value.code == "amount_out_of_range"
    with pytest.raises(InvalidRequestError):
        make_payout(units=units)


@pytest.mark.parametrize(
    ("amount", "code"), [("1.0000001", "amount_invalid"), ("1e15", None), ("1e16", "amount_out_of_range")]
)
def test_an_amount_has_whole_base_units_and_a_limit(amount: str, code: str | None) -> None:
    asked = partial(
        request_payout,
        make_merchant(),
        mode=Mode.LIVE,
        terms=Terms(address=BUYER, **USDC),
        now=NOON,
        amount=Decimal(amount),
    )
    if code is None:
        assert amount_of(asked().payout) == Decimal(amount)
        return
    with pytest.raises(InvalidRequestError) as refused:
        asked()
    assert refused.value.code == code


def test_a_transfer_is_named_by_chain_and_hash() -> None:
    checkout = make_paid()
    transfer = Transfer.objects.get()
    named = Source(chain="base", tx_hash=transfer.tx_hash.upper().replace("0X", ""))
    assert of(named, checkout).sources.get().transfer == transfer
    with pytest.raises(NotFoundError):
        of(Source(chain="polygon", tx_hash=transfer.tx_hash), checkout)
    with pytest.raises(NotFoundError):
        of(Source(chain="base", tx_hash=transfer.tx_hash, position=1), checkout)
    with pytest.raises(InvalidRequestError):
        of(Source(chain="base", tx_hash="no hash"), checkout)


def test_money_of_the_inbox_can_be_sent_back_and_not_while_somebody_decides() -> None:
    item = extra_item()
    named = Source(chain="base", tx_hash=item.transfer.tx_hash)
    refund = of(named, item, 5 * DOLLAR)
    assert refund.sources.get().transfer_id == item.transfer_id
    with pytest.raises(ConflictError, match="Cancel that first"):
        decide_item(item, act=InboxAct.DISMISS, now=NOON, actor=Actor(make_user()))
    cancel_payout(refund, now=NOON)
    decide_item(item, act=InboxAct.DISMISS, now=NOON, actor=Actor(make_user()))
    with pytest.raises(ConflictError, match="has just decided"):
        of(named, item, 5 * DOLLAR)


def test_money_in_the_inbox_that_was_called_refunded_is_not_sent_back_again() -> None:
    item = extra_item()
    InboxItem.objects.update(status=InboxStatus.REFUNDED)
    with pytest.raises(ConflictError, match="already recorded"):
        of(Source(chain="base", tx_hash=item.transfer.tx_hash), item)


def test_what_came_twice_for_a_checkout_is_part_of_its_refund() -> None:
    item = extra_item()
    assert item.checkout is not None
    assert int(refund_of(item.checkout).payout.units) == 50 * DOLLAR


def test_a_machines_payment_is_sent_back_once_a_watcher_has_recorded_it() -> None:
    transfer = make_transfer(make_checkout())
    confirm(transfer)
    payment = X402Payment.objects.create(
        merchant=transfer.merchant,
        mode=Mode.LIVE,
        protocol="hash",
        chain="base",
        tx_hash=transfer.tx_hash,
        position=0,
        token="USDC",
        units=transfer.units,
        required_units=transfer.units,
        payer=BUYER,
        pay_to=WALLET,
        verified_at=NOON,
    )
    source = Source(x402_payment=payment.public_id)
    with pytest.raises(ConflictError, match="No watcher"):
        of(source, payment)
    TransferClaim.objects.create(transfer=transfer, kind=ClaimKind.X402, claimed_at=NOON)
    X402Payment.objects.update(transfer=transfer)
    assert of(source, payment).sources.get().transfer == transfer
    with pytest.raises(NotFoundError):
        of(Source(x402_payment="x4p_none"), payment)


def confirm(transfer: Transfer) -> None:
    Transfer.objects.filter(pk=transfer.pk).update(state=TransferState.CONFIRMED, confirmed_at=NOON)


@pytest.mark.parametrize(
    ("state", "told"), [(TransferState.DETECTED, "not final"), (TransferState.ORPHANED, "reversed this payment")]
)
def test_only_money_that_is_final_is_sent_back(state: TransferState, told: str) -> None:
    checkout = make_paid()
    Transfer.objects.update(state=state)
    with pytest.raises(ConflictError, match=told):
        refund_of(checkout)
    assert not TransferReturn.objects.exists()


@pytest.mark.parametrize("is_named", [False, True], ids=["of its checkout", "by its hash"])
def test_a_part_of_a_price_is_sent_back_once_the_rest_completes_nothing(is_named: bool) -> None:
    checkout = make_checkout()
    part = pay(checkout, 20 * DOLLAR)
    named: dict[str, Any] = {"transfer": part} if is_named else {}
    with pytest.raises(ConflictError, match="still waits for the rest"):
        refund_of(checkout, **named)
    assert not TransferReturn.objects.exists()
    with transaction.atomic():
        expire(list(Checkout.objects.locked()), now=LATER)
    assert int(refund_of(checkout, **named).payout.units) == 20 * DOLLAR


def test_money_that_nobody_has_looked_at_is_not_sent_back() -> None:
    transfer = make_transfer(make_checkout())
    confirm(transfer)
    with pytest.raises(ConflictError, match="not processed yet"):
        of(Source(chain="base", tx_hash=transfer.tx_hash), transfer)


def test_a_checkout_without_money_has_no_refund() -> None:
    # No other checkout has taken it.
    with pytest.raises(ConflictError, match=r"no money to send back\.$"):
        refund_of(make_checkout())


def test_another_merchants_checkout_and_the_other_modes_do_not_exist() -> None:
    checkout = make_paid()
    for merchant, mode in ((make_merchant(), Mode.LIVE), (checkout.merchant, Mode.TEST)):
        for source in (
            Source(checkout=checkout.public_id),
            Source(chain="base", tx_hash=Transfer.objects.get().tx_hash),
        ):
            with pytest.raises(NotFoundError):
                request_refund(merchant, mode=mode, source=source, terms=Terms(), now=NOON)


# Asking twice.


def test_the_same_reference_is_the_same_refund() -> None:
    checkout = make_paid()
    first = refund_of(checkout, 5 * DOLLAR, reference="rma-17")
    again = refund_of(checkout, 5 * DOLLAR, reference="rma-17")
    assert (first.is_new, again.is_new, again.payout) == (True, False, first.payout)
    assert refund_of(checkout, reference="rma-17").payout == first.payout
    assert promised(checkout) == (5 * DOLLAR, 0)


def test_a_reference_never_names_two_things() -> None:
    checkout = make_paid()
    refund_of(checkout, 5 * DOLLAR, reference="rma-17")
    with pytest.raises(ConflictError) as refused:
        refund_of(checkout, 6 * DOLLAR, reference="rma-17")
    assert refused.value.code == "duplicate"
    with pytest.raises(ConflictError):
        make_payout(checkout.merchant, 5 * DOLLAR, reference="rma-17")
    assert make_payout(reference="rma-17").merchant != checkout.merchant


def test_a_reference_of_one_buyers_refund_gives_no_other_buyer_its_link() -> None:
    first = make_paid()
    other = make_paid(first.merchant)
    asked = refund_of(first, reference="rma-17").payout
    with pytest.raises(ConflictError) as refused:
        refund_of(other, reference="rma-17")
    assert refused.value.code == "duplicate"
    transfer = first.payments.get().transfer
    assert refund_of(first, reference="rma-17", transfer=transfer).payout == asked
    with pytest.raises(ConflictError):
        refund_of(first, reference="rma-17", transfer=other.payments.get().transfer)


def test_late_money_is_the_same_refund_for_the_checkout_and_by_its_hash() -> None:
    item = extra_item()
    assert item.checkout is not None
    asked = refund_of(item.checkout, 5 * DOLLAR, reference="rma-17").payout
    assert refund_of(item.checkout, reference="rma-17", transfer=item.transfer).payout == asked


@pytest.mark.parametrize(
    "other", [{"address": OTHER_BUYER}, {"chain": "polygon"}, {"chain": "polygon", "token": "USDT"}]
)
def test_a_reference_names_no_payout_to_another_address_or_network(other: dict[str, Any]) -> None:
    merchant = make_merchant()
    first = make_payout(merchant, reference="wage-ada")
    with pytest.raises(ConflictError) as refused:
        make_payout(merchant, reference="wage-ada", **other)
    assert refused.value.code == "duplicate"
    assert make_payout(merchant, reference="wage-ada", address=BUYER.lower()) == first
    # The address was changed since: a repeat of the first request still finds it.
    set_address(first, address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    assert make_payout(merchant, reference="wage-ada") == first


# Where it goes.


@pytest.mark.parametrize(
    ("address", "code"),
    [
        (BUYER.replace("976EA", "976ea"), "address_invalid"),
        ("ann", "address_invalid"),
        (USDC_ON_BASE, "address_forbidden"),
        ("0x" + "00" * 20, "address_invalid"),
        (WALLET, "address_forbidden"),
    ],
)
def test_an_address_that_loses_the_money_or_is_the_merchants_own_is_refused(address: str, code: str) -> None:
    merchant = make_merchant()
    make_wallet(merchant)
    with pytest.raises(InvalidRequestError) as refused:
        make_payout(merchant, address=address)
    assert refused.value.code == code


def test_a_deposit_address_is_refused() -> None:
    offered = make_checkout().offers["base"]["address"]
    with pytest.raises(InvalidRequestError) as refused:
        make_payout(address=offered)
    assert refused.value.code == "address_forbidden"


def test_without_an_address_the_recipient_gives_one() -> None:
    checkout = make_paid()
    asked = refund_of(checkout, choices=[("polygon", "USDC")])
    payout = asked.payout
    assert (payout.status, payout.claim_until, len(asked.code)) == (PayoutStatus.OPEN, NOON + CLAIM_SPAN, 20)
    claimed = set_address(payout, chain="polygon", address=BUYER.lower(), by=AddressBy.CLAIM, now=NOON)
    assert (claimed.status, claimed.revision, claimed.chain) == (PayoutStatus.REQUESTED, 1, "polygon")
    assert (claimed.address, claimed.address_by) == (BUYER, AddressBy.CLAIM)
    again = set_address(payout, chain="polygon", address=BUYER, by=AddressBy.CLAIM, now=NOON)
    assert again.revision == 1
    changed = set_address(payout, address=OTHER_BUYER, by=AddressBy.CLAIM, now=NOON)
    assert (changed.revision, changed.chain) == (2, "polygon")


def test_the_recipient_chooses_among_what_is_offered() -> None:
    payout = refund_of(make_paid(), choices=[("polygon", "USDT")]).payout
    wrongs: tuple[dict[str, Any], ...] = ({"chain": "ethereum"}, {"chain": "polygon", "token": "USDC"})
    for wrong in wrongs:
        with pytest.raises(InvalidRequestError):
            set_address(payout, address=BUYER, by=AddressBy.CLAIM, now=NOON, **wrong)
    assert set_address(payout, chain="polygon", address=BUYER, by=AddressBy.CLAIM, now=NOON).token == "USDT"


@pytest.mark.parametrize("pair", [{"chain": "mars"}, {"token": "DOGE"}, {"chain": "base", "token": "USDT"}])
def test_only_what_is_worth_the_same_is_offered(pair: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        refund_of(make_paid(), address=BUYER, **pair)


def test_money_of_another_token_goes_back_as_it_came() -> None:
    item = extra_item()
    Transfer.objects.filter(pk=item.transfer_id).update(token="USDbC", state=TransferState.CONFIRMED, confirmed_at=NOON)
    named = Source(chain="base", tx_hash=item.transfer.tx_hash)
    with pytest.raises(InvalidRequestError, match="own network"):
        request_refund(
            item.merchant, mode=Mode.LIVE, source=named, terms=Terms(chain="polygon", token="USDC"), now=NOON
        )
    assert of(named, item).token == "USDbC"


def test_an_approved_address_is_changed_by_a_person_alone_and_approved_anew() -> None:
    payout = approved(make_payout())
    for by in (AddressBy.CLAIM, AddressBy.API):
        with pytest.raises(ConflictError, match="can no longer change"):
            set_address(payout, address=OTHER_BUYER, by=by, now=NOON)
    changed = set_address(payout, address=OTHER_BUYER, by=AddressBy.PERSON, now=NOON)
    assert (changed.status, changed.revision, changed.approved_at) == (PayoutStatus.REQUESTED, 2, None)


def test_a_key_changes_no_address_that_a_person_gave() -> None:
    payout = make_payout(address_by=AddressBy.PERSON)
    with pytest.raises(ConflictError, match="your team gave this address"):
        set_address(payout, address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    same = set_address(payout, address=BUYER, by=AddressBy.API, now=NOON)
    assert (same.address, same.revision, same.address_by) == (BUYER, 1, AddressBy.PERSON)
    corrected = set_address(payout, address=OTHER_BUYER, by=AddressBy.PERSON, now=NOON)
    with pytest.raises(ConflictError, match="your team gave this address"):
        set_address(corrected, address=BUYER, by=AddressBy.API, now=NOON)


def test_what_is_being_sent_keeps_its_address_and_is_not_cancelled() -> None:
    payout = approved(make_payout())
    Payout.objects.update(status=PayoutStatus.SENDING)
    with pytest.raises(ConflictError):
        set_address(payout, address=OTHER_BUYER, by=AddressBy.PERSON, now=NOON)
    with pytest.raises(ConflictError):
        cancel_payout(payout, now=NOON)


# How a promise ends.


def test_cancelling_frees_what_was_reserved_once() -> None:
    checkout = make_paid()
    payout = refund_of(checkout).payout
    for _ in range(2):
        assert cancel_payout(payout, now=NOON).status == PayoutStatus.CANCELLED
    assert promised(checkout) == (0, 0)
    assert int(refund_of(checkout).payout.units) == 25 * DOLLAR


def test_a_claim_that_nobody_made_in_time_expires() -> None:
    checkout = make_paid()
    payout = refund_of(checkout).payout
    addressed = make_payout()
    assert expire_claims(now=NOON + CLAIM_SPAN - timedelta(seconds=1)) == 0
    with pytest.raises(ConflictError, match="is over"):
        set_address(payout, address=BUYER, by=AddressBy.CLAIM, now=LATER)
    assert expire_claims(now=LATER) == 1
    assert (status_of(payout), status_of(addressed)) == (PayoutStatus.EXPIRED, PayoutStatus.REQUESTED)
    assert promised(checkout) == (0, 0)


@pytest.mark.parametrize("is_approved", [False, True])
def test_a_refund_ends_with_the_payment_that_a_reorg_removed(is_approved: bool) -> None:
    checkout = make_paid()
    payout = refund_of(checkout, address=BUYER).payout
    if is_approved:
        assert approved(payout).status == PayoutStatus.APPROVED
    assert cancel_sourceless(now=NOON) == 0
    Transfer.objects.update(state=TransferState.ORPHANED)
    assert cancel_sourceless(now=NOON) == 1
    assert status_of(payout) == PayoutStatus.CANCELLED
    assert promised(checkout) == (0, 0)


def test_an_outflow_that_is_final_pays_and_counts_as_sent_back() -> None:
    checkout = make_paid()
    payout = approved(refund_of(checkout, 10 * DOLLAR, address=BUYER).payout)
    paid = conclude_payout(payout, outflow_for(payout), now=SOON)
    assert (paid.status, paid.paid_at, paid.exception) == (PayoutStatus.PAID, SOON, PayoutException.NONE)
    assert promised(checkout) == (10 * DOLLAR, 10 * DOLLAR)
    actions = AuditEntry.objects.filter(object_id=payout.public_id).order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["payout.requested", "payout.approved", "payout.paid"]


def test_of_a_smaller_outflow_that_a_person_accepted_the_rest_is_free_again() -> None:
    checkout = make_paid()
    payout = approved(refund_of(checkout, 10 * DOLLAR, address=BUYER).payout)
    conclude_payout(payout, outflow_for(payout, 9 * DOLLAR), now=SOON, exception=PayoutException.WRONG_AMOUNT)
    assert promised(checkout) == (9 * DOLLAR, 9 * DOLLAR)


def test_no_outflow_pays_that_is_not_final_or_another_merchants() -> None:
    payout = approved(make_payout())
    for outflow in (outflow_for(payout, state=TransferState.DETECTED), outflow_for(make_payout())):
        with pytest.raises(ConflictError, match="not final, or not yours"):
            conclude_payout(payout, outflow, now=SOON)


def test_nothing_is_paid_that_nobody_approved() -> None:
    payout = make_payout()
    with pytest.raises(ConflictError, match="is requested"):
        conclude_payout(payout, outflow_for(payout), now=SOON)


def test_an_outflow_pays_one_payout() -> None:
    merchant = make_merchant()
    first, second = approved(make_payout(merchant)), approved(make_payout(merchant))
    outflow = outflow_for(first)
    conclude_payout(first, outflow, now=SOON)
    with pytest.raises(ConflictError, match="another payout"):
        conclude_payout(second, outflow, now=SOON)
    assert status_of(second) == PayoutStatus.APPROVED


# The database's own promises.


def in_final(status: PayoutStatus) -> Payout:
    payout = approved(make_payout())
    if status == PayoutStatus.PAID:
        return conclude_payout(payout, outflow_for(payout), now=SOON)
    Payout.objects.filter(pk=payout.pk).update(status=status)
    return payout


@pytest.mark.parametrize("status", sorted(FINAL))
def test_the_database_refuses_to_change_a_final_status(status: PayoutStatus) -> None:
    payout = in_final(status)
    with pytest.raises(IntegrityError, match="stays so"), transaction.atomic():
        Payout.objects.filter(pk=payout.pk).update(status=PayoutStatus.APPROVED, paid_at=None)


@pytest.mark.parametrize("status", sorted(FINAL))
def test_without_the_trigger_a_final_status_would_move(status: PayoutStatus) -> None:
    payout = in_final(status)
    alter("ALTER TABLE payouts_payout DISABLE TRIGGER payout_final_status_guard")
    Payout.objects.filter(pk=payout.pk).update(status=PayoutStatus.APPROVED, paid_at=None)
    assert status_of(payout) == PayoutStatus.APPROVED


def test_each_status_has_its_moves_and_what_is_unsent_can_be_cancelled() -> None:
    assert set(MOVES) == set(PayoutStatus)
    assert {status for status, moves in MOVES.items() if PayoutStatus.CANCELLED in moves} == set(UNSENT)
    assert {status for status, moves in MOVES.items() if PayoutStatus.PAID in moves} == {
        PayoutStatus.APPROVED,
        PayoutStatus.SENDING,
    }
