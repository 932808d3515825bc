"""What a seller gets within an hour is believed as one large payment is: by two nodes. From one payer, it must be final too."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Merchant
from localnet.anvil import Anvil
from tests.concurrency.races import behind
from tests.contract.client import ApiClient
from tests.factories import NOON
from tests.settlements.gas.test_ledger import scanned
from tests.x402.calls import verdict
from tests.x402.payers import paid
from tests.x402.recorded import make_machine_transfer, make_seller, verify_it
from wallets.models import Transfer, WitnessRequest
from x402.models import X402Payment
from x402.payments import large
from x402.payments.transfers import follow_transfers
from x402.states import PaymentStatus, Protocol

pytestmark = pytest.mark.django_db

DOLLAR = 1_000_000
STRANGER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def pay_to(merchant: Merchant, settings: Any) -> str:
    """Where they pay, on Base."""
    return make_seller(merchant, settings)


def told(merchant: Merchant, pay_to: str, dollars: int, **values: Any) -> str:
    """Pay at three blocks' depth, which one node may have made up, and ask."""
    transfer = make_machine_transfer(merchant, pay_to, dollars * DOLLAR, **values)
    return ask(transfer)


def ask(transfer: Transfer, **values: Any) -> str:
    answer = verify_it(transfer, price=int(transfer.units), **values)
    is_waiting = answer.get("reason") == "not_confirmed"
    assert is_waiting == (answer.get("retryAfter") is not None)
    return str(answer.get("reason", "valid"))


def second_node_agrees() -> None:
    """Answer as `LargeAmounts` does."""
    now = timezone.now()
    WitnessRequest.objects.update(answered_at=now)
    Transfer.objects.update(state="confirmed", confirmed_at=now, witnessed_at=now)


@pytest.mark.parametrize("parts", [(12_000,), (6_000, 6_000), (4_000, 4_000, 4_000), (9_999, 1)])
def test_a_large_sum_of_one_payer_waits_for_a_second_node(
    merchant: Merchant, pay_to: str, parts: tuple[int, ...]
) -> None:
    *before, last = parts
    for part in before:
        assert told(merchant, pay_to, part) == "valid"
    assert told(merchant, pay_to, last) == "not_confirmed"
    transfer = Transfer.objects.latest("pk")
    assert WitnessRequest.objects.count() == len(before[:1])
    later = timezone.now() + timedelta(minutes=90)
    assert ask(transfer, now=later) == "not_confirmed"
    second_node_agrees()
    assert ask(transfer, now=later) == "valid"
    assert ask(transfer, now=later) == "already_used"


def test_what_no_watcher_recorded_waits_too(
    base: Anvil, base_seller: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is lowered to two parts, for the payer of the local chain."""
    limits = {"payers_limit": 1_000_000, "sellers_limit": None, "window": large.WINDOW}
    monkeypatch.setattr(large, "limits_for", lambda *_, **__: limits)
    monkeypatch.setattr("x402.payments.claims.limits_for", large.limits_for)
    assert verdict(base_seller, paid(base, base_seller)) == "valid"
    assert verdict(base_seller, paid(base, base_seller)) == "not_confirmed"


def test_other_payers_sellers_and_hours_are_other_sums(merchant: Merchant, pay_to: str) -> None:
    assert told(merchant, pay_to, 6_000) == "valid"
    assert told(merchant, pay_to, 6_000, sender=STRANGER) == "valid"
    X402Payment.objects.update(verified_at=timezone.now() - timedelta(minutes=61))
    assert told(merchant, pay_to, 6_000) == "valid"
    assert not WitnessRequest.objects.exists()


@pytest.fixture
def pay_two(pay_to: str, settings: Any) -> str:
    """Where they pay, on Base with two nodes."""
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "http://127.0.0.1:1,http://127.0.0.1:2"}
    large._unwitnessed_lately.cache_clear()
    return pay_to


# As many of an hour that two nodes know, and as many of the day before.
MANY = """
    INSERT INTO x402_payment (public_id, merchant_id, mode, protocol, chain, tx_hash, position, token, units, required_units,
        payer, pay_to, is_signed, resource, status, verified_at, witnessed_at)
    SELECT 'x4p_' || n || '_' || days, merchant_id, mode, protocol, chain, n || '/' || days, 0, token, units, units,
        payer, pay_to, false, '', status, verified_at - make_interval(days => days),
        CASE WHEN days = 0 THEN verified_at END
    FROM x402_payment, generate_series(1, 4000) AS n, generate_series(0, 1) AS days
    WHERE id = %(id)s AND (days = 1 OR n <= 20)
"""
# Few are recent, as in a table of months: the planner knows the shares of recent and of unwitnessed payments apart, and with half
# of the table in each it takes the index or reads the table by the number of its pages.


def machine(number: int) -> str:
    return f"0x{number:040x}"


def make_signed(merchant: Merchant, pay_to: str, dollars: int, *, chain: str = "base") -> X402Payment:
    """A payment that was settled by signature."""
    transfer = make_machine_transfer(merchant, pay_to, dollars * DOLLAR, sender=machine(99), chain=chain)
    now = timezone.now()
    return X402Payment.objects.create(
        **{
            name: getattr(transfer, name)
            for name in ("merchant", "mode", "chain", "tx_hash", "position", "token", "units")
        },
        protocol=Protocol.EXACT,
        required_units=transfer.units,
        payer=transfer.sender,
        pay_to=pay_to,
        block_height=transfer.block_height,
        block_time=now,
        verified_at=now,
    )


@pytest.mark.parametrize("parts", [(6_000, 6_000), (4_000,) * 3, (1_000,) * 10, (9_999, 1)])
def test_what_one_node_says_of_many_payers_is_no_large_sum(
    merchant: Merchant, pay_two: str, parts: tuple[int, ...]
) -> None:
    *before, last = parts
    for number, part in enumerate(before):
        assert told(merchant, pay_two, part, sender=machine(number)) == "valid"
    assert told(merchant, pay_two, last, sender=STRANGER) == "not_confirmed"
    transfer = Transfer.objects.latest("pk")
    assert WitnessRequest.objects.filter(transfer=transfer).exists()
    # Final or not.
    Transfer.objects.filter(pk=transfer.pk).update(witnessed_at=timezone.now())
    assert ask(transfer) == "valid"
    assert ask(transfer) == "already_used"
    assert told(merchant, pay_two, last, sender=machine(98)) == "not_confirmed"


@pytest.mark.parametrize("chain", ["base", "polygon"])
def test_signed_payments_of_every_chain_count_in_a_sellers_sum(merchant: Merchant, pay_two: str, chain: str) -> None:
    make_signed(merchant, pay_two, 9_000, chain=chain)
    assert told(merchant, pay_two, 2_000) == "not_confirmed"
    assert told(merchant, pay_two, 900) == "valid"
    X402Payment.objects.update(verified_at=timezone.now() - timedelta(minutes=61))
    assert told(merchant, pay_two, 2_000) == "valid"


def test_what_two_nodes_know_does_not_count_again(merchant: Merchant, pay_two: str) -> None:
    assert told(merchant, pay_two, 6_000) == "valid"
    Transfer.objects.update(witnessed_at=timezone.now())
    follow_transfers(now=timezone.now())
    assert told(merchant, pay_two, 6_000, sender=STRANGER) == "valid"


def test_from_half_the_sum_a_second_node_is_asked_before_anybody_has_to_wait(merchant: Merchant, pay_two: str) -> None:
    assert told(merchant, pay_two, 4_999) == "valid"
    follow_transfers(now=timezone.now())
    assert not WitnessRequest.objects.exists()
    make_signed(merchant, pay_two, 1)
    large._unwitnessed_lately.cache_clear()
    assert told(merchant, pay_two, 2, sender=STRANGER) == "valid"
    follow_transfers(now=timezone.now())
    # Of the first one nothing changed since.
    assert set(WitnessRequest.objects.values_list("transfer__units", flat=True)) == {DOLLAR, 2 * DOLLAR}


def test_a_sellers_sum_reads_nothing_that_two_nodes_know_or_that_is_older(merchant: Merchant, pay_two: str) -> None:
    first = make_signed(merchant, pay_two, 1)
    with connection.cursor() as cursor:
        cursor.execute(MANY, {"id": first.pk})
        cursor.execute("ANALYZE x402_payment")
        asked: list[Any] = [merchant.pk, timezone.now() - large.WINDOW]
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {large._UNWITNESSED}", asked)
        [[told]] = cursor.fetchall()
    assert scanned(told[0]["Plan"]) == 1


def test_cents_wait_once_their_sellers_sum_is_large(merchant: Merchant, pay_two: str) -> None:
    make_signed(merchant, pay_two, 10_000)
    cents = make_machine_transfer(merchant, pay_two, DOLLAR // 100)
    assert ask(cents) == "not_confirmed"
    Transfer.objects.filter(pk=cents.pk).update(witnessed_at=timezone.now())
    assert ask(cents) == "valid"


@pytest.mark.parametrize(
    "facts", [{"protocol": Protocol.EXACT}, {"status": PaymentStatus.REVERSED, "reversed_at": NOON}]
)
def test_signed_payments_and_reversed_ones_count(merchant: Merchant, pay_to: str, facts: dict[str, Any]) -> None:
    assert told(merchant, pay_to, 6_000) == "valid"
    X402Payment.objects.update(**facts)
    assert told(merchant, pay_to, 6_000) == "not_confirmed"


def test_a_price_below_a_dollar_is_answered_at_once_and_counts(merchant: Merchant, pay_to: str) -> None:
    assert told(merchant, pay_to, 9_990) == "valid"
    for _ in range(2):
        cents = make_machine_transfer(merchant, pay_to, 5 * DOLLAR)
        assert verify_it(cents, price=DOLLAR - 1)["valid"]
    assert told(merchant, pay_to, 1) == "not_confirmed"


def answers_at_once(merchant: Merchant, pay_to: str) -> list[str]:
    """What two halves of a large sum are answered, of two payers, each asked before the other is committed."""
    halves = [make_machine_transfer(merchant, pay_to, 6_000 * DOLLAR, sender=machine(number)) for number in range(2)]
    return sorted(behind("SELECT FROM wallets_transfer FOR UPDATE", works=[partial(ask, one) for one in halves]))


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_two_halves_at_once_are_one_sum(merchant: Merchant, pay_two: str) -> None:
    assert answers_at_once(merchant, pay_two) == ["not_confirmed", "valid"]


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_without_the_lock_each_half_would_see_nothing_of_the_other(
    merchant: Merchant, pay_two: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "_TAKE_TURN", "SELECT %s")
    assert answers_at_once(merchant, pay_two) == ["valid", "valid"]
