"""The ledger of gas accounts' numbers, on a local node."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from gateway.core.daily_totals import fold
from localnet.anvil import Anvil
from settlements.gas import ledger
from settlements.gas.fees import COIN, Prices
from settlements.gas.ledger import forget_nonces, spent_since
from settlements.gas.node import GasNode, broadcast
from settlements.gas.upkeep import tend
from settlements.models import GAS_SPANS, GasAccount, GasAttempt, GasSpan, GasTransaction
from settlements.states import TransactionState
from tests.settlements.calls import ask, await_receipt
from tests.settlements.chain import CONFIRMATIONS, LATE

pytestmark = pytest.mark.django_db


def test_a_transaction_is_written_down_before_any_node_hears_of_it(base_gas_node: GasNode, base_node: Anvil) -> None:
    made = ask(base_gas_node, "one")
    assert made.state == TransactionState.INTENDED
    attempt = GasAttempt.objects.get()
    assert base_gas_node.receipt(attempt.tx_hash) is None
    broadcast(made, node=base_gas_node, now=timezone.now())
    assert await_receipt(made, node=base_gas_node).succeeded


def test_the_same_reference_is_one_transaction(base_gas_node: GasNode) -> None:
    assert ask(base_gas_node, "one").pk == ask(base_gas_node, "one").pk
    assert GasAttempt.objects.count() == 1


def test_numbers_follow_each_other(base_gas_node: GasNode) -> None:
    first, second = ask(base_gas_node, "one"), ask(base_gas_node, "two")
    assert second.nonce == first.nonce + 1


def test_what_was_never_sent_is_sent_by_whoever_looks(base_gas_node: GasNode, base_node: Anvil) -> None:
    made = ask(base_gas_node, "one")
    assert tend("base", node=base_gas_node, now=timezone.now()) == 1
    base_node.mine(12)
    assert tend("base", node=base_gas_node, now=timezone.now()) == 0
    made.refresh_from_db()
    assert (made.state, made.succeeded) == (TransactionState.MINED, True)
    assert made.cost_wei


def test_what_waits_too_long_pays_more_for_the_same_number(base_gas_node: GasNode, base_node: Anvil) -> None:
    base_node.set_automine(False)
    try:
        made = ask(base_gas_node, "one")
        broadcast(made, node=base_gas_node, now=timezone.now())
        later = timezone.now() + timedelta(minutes=2)
        tend("base", node=base_gas_node, now=later)
        first, second = GasAttempt.objects.order_by("number")
        assert second.max_fee > first.max_fee
        base_node.mine(12)
        tend("base", node=base_gas_node, now=later)
        made.refresh_from_db()
        assert made.tx_hash == second.tx_hash
    finally:
        base_node.set_automine(True)


def test_what_replaces_a_transaction_keeps_to_the_days_limit(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    base_node.set_automine(False)
    try:
        made = ask(base_gas_node, "one")
        broadcast(made, node=base_gas_node, now=timezone.now())
        later, most = timezone.now(), int(made.most_wei)
        monkeypatch.setattr(base_gas_node, "prices", lambda: Prices(base_fee=10**12, tip=1))
        base_settings.GAS_MAX_GWEI = {"base": "1000000"}
        for daily, attempts in ((most, 1), (most * 3 // 2, 2)):
            base_settings.GAS_DAILY_COINS = {"base": f"{Decimal(daily) / COIN:f}"}
            later += LATE
            tend("base", node=base_gas_node, now=later)
            assert GasAttempt.objects.count() == attempts
            assert spent_since("base", later - timedelta(days=1)) <= daily
        # All that was left, and not what the network asks for.
        made.refresh_from_db()
        assert most * 9 // 8 < made.most_wei <= most * 3 // 2
    finally:
        base_node.set_automine(True)


def test_a_number_that_was_used_elsewhere_is_dropped_and_asked_for_anew(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    made = ask(base_gas_node, "one")
    key_holder = base_node.accounts[3]
    base_node.send(key_holder, to=key_holder.address)
    base_node.mine(12)
    tend("base", node=base_gas_node, now=timezone.now())
    made.refresh_from_db()
    assert made.state == TransactionState.DROPPED
    assert ask(base_gas_node, "one").nonce == made.nonce + 1


def test_a_forgotten_number_is_asked_anew_and_stays_above_our_own_transactions(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    waiting = ask(base_gas_node, "one")
    assert forget_nonces() == 1
    assert ask(base_gas_node, "two").nonce == waiting.nonce + 1
    forget_nonces()
    for _ in range(5):
        base_node.send(base_node.accounts[3], to=base_node.accounts[3].address)
    # The node takes a transaction a moment before it has a block for it.
    base_node.mine()
    assert ask(base_gas_node, "three").nonce == waiting.nonce + 5


# What a day's gas costs is known exactly, at once, however much was sent.


A_DAY = 20_000
DAY = timedelta(days=1)
_FILL = """
    INSERT INTO settlements_gastransaction
        (account_id, nonce, purpose, reference, "to", data, gas_limit, most_wei, cost_wei, state, created_at, tx_hash,
         block_hash)
    SELECT %(account)s, n, 'x402', n::text, '0x', '', 90000, n * 1000, CASE WHEN n %% 3 = 0 THEN n * 700 + 1 END,
           CASE WHEN n %% 7 = 0 THEN 'dropped' ELSE 'mined' END,
           %(now)s::timestamptz - n * interval '1 day' / %(count)s, '', ''
    FROM generate_series(1, %(count)s) AS n
"""


def fill(count: int, now: datetime) -> GasAccount:
    """So many transactions evenly over a day and, to tell them apart, each of another cost."""
    account = GasAccount.objects.create(chain="base", address="0xGas", next_nonce=0)
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"account": account.pk, "count": count, "now": now})
    return account


def added_up(since: datetime) -> int:
    rows = GasTransaction.objects.filter(account__chain="base", created_at__gte=since).exclude(
        state=TransactionState.DROPPED
    )
    costs = rows.values_list("cost_wei", "most_wei")
    return sum(int(most if cost is None else cost) for cost, most in costs)


def test_what_was_spent_since_any_moment_is_exact() -> None:
    now = timezone.now()
    fill(1_000, now)
    for minutes in (0, 3, 17, 333, 1_439, 1_441):
        since = now - timedelta(minutes=minutes)
        assert spent_since("base", since) == added_up(since)


def test_what_changes_later_is_counted_where_it_began(base_gas_node: GasNode, base_node: Anvil) -> None:
    now = timezone.now()
    base_node.set_automine(False)
    try:
        made = ask(base_gas_node, "one")
        seen = [spent_since("base", now - DAY)]
        assert seen == [made.gas_limit * made.attempts.get().max_fee]
        tend("base", node=base_gas_node, now=now)
        tend("base", node=base_gas_node, now=now + LATE)
        assert made.attempts.count() == 2
        seen.append(spent_since("base", now - DAY))
        base_node.mine(CONFIRMATIONS)
    finally:
        base_node.set_automine(True)
    tend("base", node=base_gas_node, now=now + LATE)
    made.refresh_from_db()
    seen.append(spent_since("base", now - DAY))
    assert seen[2] == made.cost_wei
    assert seen[1] > seen[0] > seen[2]
    GasTransaction.objects.update(state=TransactionState.DROPPED)
    assert spent_since("base", now - DAY) == 0


def test_without_the_trigger_the_sums_would_be_wrong() -> None:
    """The negative control of the tests above."""
    now = timezone.now()
    fill(100, now)
    since = now - timedelta(hours=2)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE settlements_gastransaction DISABLE TRIGGER USER")
        cursor.execute("UPDATE settlements_gastransaction SET most_wei = most_wei + 1")
    assert spent_since("base", since) != added_up(since)


def test_a_day_of_twenty_thousand_is_added_up_from_a_fiftieth_of_the_rows() -> None:
    now = timezone.now()
    fill(A_DAY, now)
    fold(GAS_SPANS)
    assert GasSpan.objects.count() in {144, 145}
    assert rows_read(now - DAY) < A_DAY / 50


def rows_read(since: datetime) -> int:
    """How many rows PostgreSQL looks at to tell what was spent."""
    parameters: dict[str, Any] = {"chain": "base", "since": since, "whole": ledger._first_whole_span(since)}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE settlements_gastransaction")
        cursor.execute("ANALYZE settlements_gasspan")
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {ledger._SPENT}", parameters)
        [[told]] = cursor.fetchall()
    return scanned(told[0]["Plan"])


def scanned(plan: dict[str, Any]) -> int:
    own = 0
    if "Relation Name" in plan:
        left_out = plan.get("Rows Removed by Filter", 0)
        own = int((plan["Actual Rows"] + left_out) * plan["Actual Loops"])
    return own + sum(scanned(part) for part in plan.get("Plans", []))
