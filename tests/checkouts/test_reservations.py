"""An exact amount belongs to one checkout, from the moment it is chosen until some days after the checkout ended."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import override_settings

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode
from checkouts.amounts import CAPACITY, KEPT_FROM_LINKS, memo_of, price_of
from checkouts.inbox.service import apply_decisions, decide_item
from checkouts.models import AmountReservation, Checkout
from checkouts.payloads import remaining_units
from checkouts.reservations import (
    FOR_SECONDS,
    choose_exact_amount,
    is_exhausted,
    note_exhausted,
    release_amounts,
    reserve_rest,
)
from checkouts.selectors import reserved_amount
from checkouts.states import CheckoutStatus, InboxAct
from gateway.core.api.errors import ConflictError
from tests.cases import case
from tests.checkouts.arrivals import SUFFIX, Till, exact, inbox_item
from tests.checkouts.crowds import HALF_PAST, PRICE, make_exact_checkout, make_holders
from tests.checkouts.factories import EXACT_OFFERS
from tests.checkouts.watcher import attribute, fresh, pay
from tests.factories import NOON, make_checkout, make_merchant, make_user, make_wallet
from wallets.models import ReceivingWallet, Transfer

pytestmark = pytest.mark.django_db

SOON = NOON + timedelta(minutes=1)
EVERY = range(1, 10_000)
ROUND = range(100, 10_000, 100)
HOUR = timedelta(hours=1)
ENDED = {
    CheckoutStatus.EXPIRED: {"expires_at": HALF_PAST},
    CheckoutStatus.COMPLETED: {"paid_at": HALF_PAST, "expires_at": NOON - 9 * HOUR},
}


def choose(checkout: Checkout, now: datetime = SOON) -> AmountReservation:
    return choose_exact_amount(checkout.pk, now=now)


def refusal(checkout: Checkout, now: datetime = SOON) -> str | None:
    with pytest.raises(ConflictError) as caught:
        choose(checkout, now)
    return caught.value.code


def change(checkout: Checkout, **facts: Any) -> Checkout:
    Checkout.objects.filter(pk=checkout.pk).update(**facts)
    checkout.refresh_from_db()
    return checkout


def held_suffixes() -> set[int]:
    held = AmountReservation.objects.filter(released_at=None)
    return set(held.values_list("suffix", flat=True))


def test_choosing_again_gives_the_same_amount(merchant: Merchant) -> None:
    checkout = make_exact_checkout(merchant)
    first = choose(checkout)
    again = choose(checkout, SOON + timedelta(minutes=5))
    assert (first.price, first.suffix % 100) == (PRICE, 0)
    assert (again.pk, again.suffix, again.memo) == (first.pk, first.suffix, first.memo)
    assert bytes(again.reference) == bytes(first.reference)
    held = AmountReservation.objects.get()
    assert held.reserved_at == SOON
    assert held.memo == memo_of(bytes(held.reference))


def test_creating_and_looking_reserves_nothing(merchant: Merchant) -> None:
    checkout = make_exact_checkout(merchant)
    assert reserved_amount(checkout, now=SOON) is None
    assert not AmountReservation.objects.exists()


def test_the_round_suffixes_come_first_and_no_other_before_they_are_gone(merchant: Merchant) -> None:
    for _ in ROUND:
        choose(make_exact_checkout(merchant))
    assert held_suffixes() == set(ROUND)
    assert choose(make_exact_checkout(merchant)).suffix in range(1, 100)


def test_a_short_payment_gets_a_fresh_amount_for_what_is_missing(merchant: Merchant) -> None:
    checkout = make_exact_checkout(merchant)
    first = choose(checkout)
    short = Decimal("19.990001")
    change(checkout, status=CheckoutStatus.UNDERPAID, amount_received=short)
    rest = choose(checkout)
    assert rest.price == Decimal("5.01")
    assert rest.pk != first.pk
    assert reserved_amount(checkout, now=SOON) == rest
    # What was chosen first may still arrive, late or twice.
    assert AmountReservation.objects.filter(released_at=None).count() == 2


def part_paid(till: Till, **overrides: Any) -> tuple[Checkout, Transfer]:
    """A checkout of 25 USD of which five are missing: an exchange took its fee out of the exact amount."""
    checkout = till.checkout(suffix=SUFFIX, **overrides)
    transfer = till.sees(exact(checkout) - 5_000_000)
    attribute()
    return fresh(checkout), transfer


def rests(checkout: Checkout) -> list[Decimal]:
    """The prices of the amounts that a checkout holds, as they were asked for."""
    return list(checkout.reservations.filter(released_at=None).order_by("pk").values_list("price", flat=True))


def test_a_part_payment_reserves_the_exact_amount_of_the_rest_with_its_credit(till: Till) -> None:
    checkout, _ = part_paid(till)
    assert rests(checkout) == [Decimal(25), Decimal(5)]
    held = reserved_amount(checkout, now=SOON)
    assert held is not None
    assert (held.price, held.suffix % 100) == (Decimal(5), 0)
    # The buyer's choice finds it, and each further part is followed by its own.
    assert choose(checkout) == held
    till.sees(2_000_000 + held.suffix)
    attribute()
    assert rests(checkout) == [Decimal(25), Decimal(5), price_of(remaining_units(fresh(checkout)))]


def test_what_a_reorganisation_takes_asks_for_the_first_amount_again(till: Till) -> None:
    checkout, transfer = part_paid(till)
    till.watcher().loses(transfer)
    attribute()
    held = reserved_amount(fresh(checkout), now=SOON)
    assert held is not None
    assert (held.price, held.suffix) == (Decimal(25), SUFFIX)


def test_a_part_at_a_deposit_address_reserves_nothing_before_a_choice_of_exact_amounts(till: Till) -> None:
    plain = make_checkout(till.merchant)
    plain.offers |= {"ethereum": till.offer("ethereum")}
    plain.save(update_fields=["offers"])
    pay(plain, 20_000_000)
    assert rests(plain) == []
    choose(plain)
    pay(plain, 2_000_000)
    assert rests(plain) == [Decimal(5), Decimal(3)]


def test_a_part_that_a_person_credited_is_followed_by_the_rest_too(till: Till) -> None:
    checkout = till.checkout()
    item = inbox_item(attributed(till.sees(20_000_000)))
    decided = decide_item(item, act=InboxAct.CREDIT, checkout=checkout, actor=Actor(make_user()), now=SOON)
    apply_decisions(now=decided.due_at)
    assert rests(checkout) == [Decimal(5)]


def attributed(transfer: Transfer) -> Transfer:
    attribute()
    return transfer


@pytest.mark.parametrize("received", [Decimal(0), Decimal("24.90"), Decimal(25)])
def test_nothing_is_reserved_for_what_is_not_a_part(till: Till, received: Decimal) -> None:
    checkout = till.checkout(suffix=SUFFIX, amount_received=received)
    reserve_rest([checkout], now=SOON)
    assert rests(checkout) == [Decimal(25)]


def test_money_is_credited_also_where_no_amount_is_left_for_the_rest(till: Till) -> None:
    make_holders(till.merchant, EVERY, price=Decimal(5))
    checkout, transfer = part_paid(till)
    assert checkout.amount_received == Decimal("20.0037")
    assert rests(checkout) == [Decimal(25)]
    assert Transfer.objects.get(pk=transfer.pk).decided_at is not None


@pytest.mark.parametrize("status", ["completed", "expired", "processing"])
def test_a_checkout_that_takes_no_money_gets_no_amount(merchant: Merchant, status: str) -> None:
    checkout = make_exact_checkout(merchant)
    paid_at = NOON if status == "completed" else None
    change(checkout, status=status, paid_at=paid_at)
    assert refusal(checkout) == "state_conflict"
    assert AmountReservation.objects.count() == 0


def test_nothing_is_reserved_once_the_time_to_pay_is_over(merchant: Merchant) -> None:
    checkout = make_exact_checkout(merchant)
    assert refusal(checkout, HALF_PAST) == "state_conflict"
    choose(checkout, HALF_PAST - timedelta(seconds=1))


def test_every_wallet_of_a_choice_is_expected_to_be_paid(merchant: Merchant) -> None:
    chains = ("solana", "ton", "tron", "ethereum")
    for chain in chains:
        make_wallet(merchant, chain, EXACT_OFFERS[chain]["wallet"])
    choose(make_exact_checkout(merchant, mode=Mode.TEST))
    assert set(ReceivingWallet.objects.values_list("expected_until", flat=True)) == {None}
    choose(make_exact_checkout(merchant))
    expected = HALF_PAST + timedelta(minutes=5)
    assert {w.chain: w.expected_until for w in ReceivingWallet.objects.all()} == (dict.fromkeys(chains, expected))
    choose(make_exact_checkout(merchant, expires_at=HALF_PAST - timedelta(minutes=9)))
    assert {w.expected_until for w in ReceivingWallet.objects.all()} == {expected}


@pytest.mark.parametrize("status", ENDED)
def test_an_amount_cools_for_three_days_after_its_checkout_ended(merchant: Merchant, status: CheckoutStatus) -> None:
    make_holders(merchant, [100, 200], status=status, **ENDED[status])
    assert release_amounts(now=HALF_PAST + 72 * HOUR - timedelta(seconds=1)) == 0
    assert release_amounts(now=HALF_PAST + 72 * HOUR) == 2
    assert held_suffixes() == set()
    assert release_amounts(now=HALF_PAST + 73 * HOUR) == 0


@pytest.mark.parametrize("status", ["pending", "underpaid", "processing"])
def test_a_live_checkout_keeps_its_amount_however_old_it_is(merchant: Merchant, status: str) -> None:
    make_holders(merchant, [100], status=CheckoutStatus(status))
    assert release_amounts(now=NOON + 10_000 * HOUR) == 0


def test_more_than_a_batch_is_released(merchant: Merchant) -> None:
    make_holders(merchant, EVERY[:25], status=CheckoutStatus.EXPIRED)
    assert release_amounts(now=NOON + 100 * HOUR, batch=10) == 25


def test_a_released_amount_is_another_checkouts(merchant: Merchant) -> None:
    make_holders(merchant, EVERY[:-1])
    make_holders(merchant, EVERY[-1:], status=CheckoutStatus.EXPIRED)
    release_amounts(now=NOON + 73 * HOUR)
    late = make_exact_checkout(merchant, expires_at=NOON + 99 * HOUR)
    assert choose(late, NOON + 73 * HOUR).suffix == 9_999


def test_a_price_that_runs_short_takes_back_what_ended_first_but_nothing_of_the_last_day(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkouts.reservations._EARLY_BATCH", 1)
    ended = CheckoutStatus.EXPIRED
    make_holders(merchant, EVERY[:-3])
    make_holders(merchant, [9_997], status=ended, expires_at=NOON - 25 * HOUR)
    make_holders(merchant, [9_998], status=ended, expires_at=NOON - 26 * HOUR)
    make_holders(merchant, [9_999], status=ended, expires_at=NOON - 23 * HOUR)
    assert choose(make_exact_checkout(merchant)).suffix == 9_998
    assert choose(make_exact_checkout(merchant)).suffix == 9_997
    assert refusal(make_exact_checkout(merchant)) == "capacity_exhausted"


def test_an_exhausted_price_is_refused_and_remembered_for_a_minute(merchant: Merchant) -> None:
    checkout = make_exact_checkout(merchant)
    mine = choose(checkout)
    # Ten thousand checkouts take longer to make than all that is asked here.
    make_holders(merchant, sorted(set(EVERY) - {mine.suffix}))
    assert held_suffixes() == set(EVERY)
    about = (merchant.pk, Mode.LIVE, PRICE)
    with case("a checkout that holds an amount keeps it"):
        assert choose(checkout) == mine
    with case("other prices, modes and merchants have amounts of their own"):
        for other in (
            make_exact_checkout(merchant, price=Decimal("25.01")),
            make_exact_checkout(merchant, mode=Mode.TEST),
            make_exact_checkout(make_merchant()),
        ):
            assert choose(other).suffix in ROUND
    with case("without Valkey nothing is remembered"), override_settings(REDIS_URL=""):
        assert refusal(make_exact_checkout(merchant)) == "capacity_exhausted"
        assert not is_exhausted(*about, now=SOON)
    with case("it is remembered"):
        assert not is_exhausted(*about, now=SOON)
        assert refusal(make_exact_checkout(merchant)) == "capacity_exhausted"
        assert is_exhausted(*about, now=SOON)
        assert not is_exhausted(merchant.pk, Mode.TEST, PRICE, now=SOON)
        assert not is_exhausted(merchant.pk, Mode.LIVE, Decimal("25.01"), now=SOON)
    with case("what keys ran out of, links have not either"):
        assert is_exhausted(*about, now=SOON, for_links=True)
    with case("it is forgotten"):
        later = SOON + timedelta(seconds=FOR_SECONDS)
        other_id = make_merchant().pk
        # Its note makes this process read the list anew.
        note_exhausted(other_id, Mode.LIVE, PRICE, now=later)
        assert is_exhausted(other_id, Mode.LIVE, PRICE, now=later)
        assert not is_exhausted(*about, now=later)


def test_whoever_takes_the_last_amount_says_so(merchant: Merchant) -> None:
    make_holders(merchant, EVERY[:-1])
    choose(make_exact_checkout(merchant))
    assert is_exhausted(merchant.pk, Mode.LIVE, PRICE, now=SOON)


def test_the_database_refuses_an_amount_to_a_second_checkout(merchant: Merchant) -> None:
    make_holders(merchant, [137])
    with pytest.raises(IntegrityError), transaction.atomic():
        make_holders(merchant, [137])


# Strangers who open payment links take half of a price's exact amounts at most.


KEPT = set(KEPT_FROM_LINKS)
FOR_LINKS = sorted(set(range(1, CAPACITY + 1)) - KEPT)


def of_a_link(merchant: Merchant) -> Checkout:
    """A checkout that a stranger made by pressing Pay on a link."""
    checkout = make_exact_checkout(merchant)
    checkout.again_url = "https://pay.example/p/abc"
    checkout.save()
    return checkout


def test_links_have_half_of_all_amounts_and_of_those_that_every_wallet_shows() -> None:
    assert len(FOR_LINKS) == CAPACITY // 2
    assert len([suffix for suffix in FOR_LINKS if suffix % 100 == 0]) == 99 // 2
    assert len([suffix for suffix in FOR_LINKS if suffix < 50]) == 49 // 2


def test_links_fill_their_half_and_leave_the_other_to_keys(merchant: Merchant) -> None:
    make_holders(merchant, FOR_LINKS[:-1])
    assert choose(of_a_link(merchant)).suffix == FOR_LINKS[-1]
    assert refusal(of_a_link(merchant)) == "capacity_exhausted"
    assert choose(make_exact_checkout(merchant)).suffix in KEPT


def test_links_that_ran_short_are_noted_for_links_alone(merchant: Merchant) -> None:
    make_holders(merchant, FOR_LINKS)
    refusal(of_a_link(merchant))
    about = (merchant.pk, Mode.LIVE, PRICE)
    assert is_exhausted(*about, now=SOON, for_links=True)
    assert not is_exhausted(*about, now=SOON)
    other = (merchant.pk, Mode.LIVE, Decimal("25.01"))
    assert not is_exhausted(*other, now=SOON, for_links=True)


def test_a_link_that_runs_short_takes_back_nothing_of_the_keys_half(merchant: Merchant) -> None:
    ended = CheckoutStatus.EXPIRED
    mine, theirs = FOR_LINKS[-1], KEPT_FROM_LINKS[0]
    make_holders(merchant, FOR_LINKS[:-1])
    make_holders(merchant, [theirs], status=ended, expires_at=NOON - 26 * HOUR)
    make_holders(merchant, [mine], status=ended, expires_at=NOON - 25 * HOUR)
    assert choose(of_a_link(merchant)).suffix == mine
    held = AmountReservation.objects.get(suffix=theirs)
    assert held.released_at is None
