from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from checkouts.attribution.deposit_rules import CheckoutFacts, Credit, ToInbox, TransferFacts, decide_deposit, is_older
from checkouts.states import CheckoutStatus, InboxReason
from tests.factories import NOON

OFFERS = {"base": {"tokens": ["USDC"], "address": "0xA"}, "polygon": {"tokens": ["USDC", "USDT"], "address": "0xA"}}
TRANSFER = TransferFacts(chain="base", token="USDC", accepted=True, units=25_000_000, block_time=NOON, recipient="0xA")
CHECKOUT = CheckoutFacts(status=CheckoutStatus.PENDING, offers=OFFERS, expires_at=NOON + timedelta(minutes=30))


def reason_of(
    transfer: TransferFacts = TRANSFER, checkout: CheckoutFacts = CHECKOUT, **changes: Any
) -> InboxReason | None:
    """Why the transfer goes to the inbox, None where it is credited."""
    decision = decide_deposit(replace(transfer, **changes), checkout)
    return decision.reason if isinstance(decision, ToInbox) else None


@pytest.mark.parametrize("status", [CheckoutStatus.PENDING, CheckoutStatus.PROCESSING, CheckoutStatus.UNDERPAID])
def test_money_that_comes_in_time_is_credited_whatever_live_status_there_is(status):
    decision = decide_deposit(TRANSFER, replace(CHECKOUT, status=status))
    assert decision == Credit("sent to this checkout's own address")


@pytest.mark.parametrize(("chain", "token"), [("base", "USDC"), ("polygon", "USDC"), ("polygon", "USDT")])
def test_every_offered_chain_and_token_is_credited(chain, token):
    assert reason_of(chain=chain, token=token) is None


@pytest.mark.parametrize(
    ("seconds", "expected"), [(-1, None), (0, None), (60, None), (61, InboxReason.LATE), (86_400, InboxReason.LATE)]
)
def test_a_minute_after_expiry_money_begins_to_be_late(seconds, expected):
    late = CHECKOUT.expires_at + timedelta(seconds=seconds)
    assert reason_of(block_time=late) == expected


def test_a_microsecond_more_than_a_minute_is_late():
    late = CHECKOUT.expires_at + timedelta(seconds=60, microseconds=1)
    assert reason_of(block_time=late) == InboxReason.LATE


def test_the_inbox_says_how_late_it_was():
    late = CHECKOUT.expires_at + timedelta(seconds=61)
    decision = decide_deposit(replace(TRANSFER, block_time=late), CHECKOUT)
    assert decision == ToInbox(InboxReason.LATE, "arrived 61 s after the checkout expired")


def test_money_for_a_paid_checkout_is_extra_also_when_it_is_late():
    paid = replace(CHECKOUT, status=CheckoutStatus.COMPLETED)
    late = CHECKOUT.expires_at + timedelta(days=1)
    assert reason_of(checkout=paid) == InboxReason.EXTRA
    assert reason_of(checkout=paid, block_time=late) == InboxReason.EXTRA


def test_money_sent_in_time_and_seen_after_expiry_is_our_fault():
    expired = replace(CHECKOUT, status=CheckoutStatus.EXPIRED)
    late = CHECKOUT.expires_at + timedelta(seconds=61)
    assert reason_of(checkout=expired) == InboxReason.LATE_OUTAGE
    assert reason_of(checkout=expired, block_time=late) == InboxReason.LATE


@pytest.mark.parametrize(("units", "expected"), [(9_999, InboxReason.DUST), (10_000, None)])
def test_less_than_a_cent_is_dust(units, expected):
    assert reason_of(units=units) == expected


def test_a_look_alike_is_the_wrong_token_even_if_it_carries_our_name():
    assert reason_of(token="USDbC", accepted=False) == InboxReason.WRONG_TOKEN
    assert reason_of(accepted=False) == InboxReason.WRONG_TOKEN


@pytest.mark.parametrize(("chain", "token"), [("ethereum", "USDC"), ("base", "USDT"), ("tron", "USDT")])
def test_a_token_of_ours_where_it_was_not_offered_is_on_the_wrong_network(chain, token):
    assert reason_of(chain=chain, token=token) == InboxReason.WRONG_NETWORK


def test_dust_of_a_wrong_token_asks_for_nobodys_attention():
    assert reason_of(units=1, accepted=False) == InboxReason.DUST


@pytest.mark.parametrize("status", list(CheckoutStatus))
def test_what_was_never_offered_is_never_credited(status):
    checkout = replace(CHECKOUT, status=status)
    assert reason_of(checkout=checkout, accepted=False) == InboxReason.WRONG_TOKEN


def test_the_largest_amount_a_token_can_carry_is_credited_like_any_other():
    assert reason_of(units=2**256 - 1) is None


def test_the_address_of_another_chains_wallet_pays_a_wallet_not_set_for_this_chain():
    """Where the receiving wallets differ, so do the deposit addresses, and each is right on its own chain alone."""
    offers = {**OFFERS, "polygon": {"tokens": ["USDC"], "address": "0xB"}}
    checkout = replace(CHECKOUT, offers=offers)
    to_base, to_polygon = (replace(TRANSFER, recipient="0xA"), replace(TRANSFER, recipient="0xB"))
    assert isinstance(decide_deposit(to_base, checkout), Credit)
    wrong = decide_deposit(to_polygon, checkout)
    assert isinstance(wrong, ToInbox)
    assert wrong.reason == InboxReason.WRONG_NETWORK


@pytest.mark.parametrize(
    ("before", "by_price", "by_name"),
    [
        (timedelta(seconds=-1), False, False),
        (timedelta(0), False, False),
        (timedelta(microseconds=999_999), False, False),
        (timedelta(seconds=1), True, False),
        (timedelta(seconds=60), True, False),
        (timedelta(seconds=60, microseconds=1), True, True),
    ],
)
def test_a_block_of_the_checkouts_own_second_is_not_older(before, by_price, by_name):
    """A name has a minute, for clocks that differ."""
    older = [is_older(NOON - before, NOON, named=named) for named in (False, True)]
    assert older == [by_price, by_name]
