"""Fifty identical requests at once make one checkout, over real connections that really commit."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connection, connections

from accounts.states import Mode
from checkouts.creation import service
from checkouts.models import Checkout, CheckoutCount, Quote, TestStep
from tests.contract.client import Answer, ApiClient, client_of
from tests.rates.playing import price_in, store_rates
from tests.waiting import wait_until
from wallets.models import DepositAddress

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]
AT_ONCE = 50
GATE = 7243
_HOLD = f"""
    CREATE FUNCTION hold_at_gate() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock_shared({GATE}); RETURN NEW; END $$;
    CREATE TRIGGER gate BEFORE INSERT ON checkouts_checkout
    FOR EACH ROW EXECUTE FUNCTION hold_at_gate()
"""
# Other test processes share the server, and may stand at gates of their own.
_WAITING = """
    SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE locktype = 'advisory' AND objid = %s AND NOT granted AND d.datname = current_database()
"""


@pytest.fixture(autouse=True)
def gate() -> Iterator[None]:
    """Every insert stops right before its row: past the look for an existing one, so that all of them saw none."""
    _execute(_HOLD)
    yield
    _execute("DROP TRIGGER gate ON checkouts_checkout; DROP FUNCTION hold_at_gate()")


def all_at_once(calls: list[Callable[[], Answer]]) -> list[Answer]:
    """Make every call from a thread and over a connection of its own; none inserts before all are about to."""

    def work(call: Callable[[], Answer]) -> Answer:
        try:
            return call()
        finally:
            connections.close_all()

    _execute(f"SELECT pg_advisory_lock({GATE})")
    with ThreadPoolExecutor(len(calls)) as pool:
        answers = [pool.submit(work, call) for call in calls]
        try:
            wait_until(lambda: _waiting() == len(calls))
        finally:
            _execute(f"SELECT pg_advisory_unlock({GATE})")
        return [answer.result() for answer in answers]


def _waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [GATE])
        return int(cursor.fetchone()[0])


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def create(client: ApiClient, amount: str = "25") -> Callable[[], Answer]:
    return partial(client.create, amount=amount, order_ref="order-1")


def fifty_posts(client: ApiClient) -> list[Answer]:
    amounts = ["25", "25.0", "25.00"]
    return all_at_once([create(client, amounts[n % 3]) for n in range(AT_ONCE)])


def test_fifty_identical_posts_make_one_checkout_and_one_address(tester: ApiClient) -> None:
    answers = fifty_posts(tester)
    assert Counter(answer.status for answer in answers) == {201: 1, 200: AT_ONCE - 1}
    assert len({answer.raw for answer in answers}) == 1
    assert Checkout.objects.count() == 1
    assert DepositAddress.objects.count() == 1
    assert TestStep.objects.count() == 1
    assert sum(CheckoutCount.objects.values_list("value", flat=True)) == 1
    assert tester.get("/checkouts").body["total"] == 1


def test_fifty_live_posts_with_two_chains_share_one_address(seller: ApiClient) -> None:
    answers = fifty_posts(seller)
    assert Counter(answer.status for answer in answers) == {201: 1, 200: AT_ONCE - 1}
    assert DepositAddress.objects.count() == 1
    options = answers[0].body["available_chains"]
    assert len({option["address"] for option in options}) == 1


def test_merchants_and_modes_do_not_wait_for_each_other(seller: ApiClient) -> None:
    clients = [seller, client_of(seller.merchant, Mode.TEST), client_of(mode=Mode.TEST)]
    answers = all_at_once([create(client) for client in clients for _ in range(8)])
    assert Counter(answer.status for answer in answers) == {201: 3, 200: 21}
    assert Checkout.objects.count() == 3


def euros(client: ApiClient) -> list[Answer]:
    return all_at_once([partial(client.create, amount="23.00", currency="EUR", order_ref="order-1")] * AT_ONCE)


def test_fifty_identical_posts_in_euros_make_one_checkout_and_one_quote(tester: ApiClient, settings: Any) -> None:
    price_in(settings, "EUR")
    store_rates({"EUR": "1.08826"})
    answers = euros(tester)
    assert Counter(answer.status for answer in answers) == {201: 1, 200: AT_ONCE - 1}
    assert len({answer.raw for answer in answers}) == 1
    assert Checkout.objects.count() == Quote.objects.count() == DepositAddress.objects.count() == 1


def test_without_both_constraints_the_same_posts_in_euros_make_several(tester: ApiClient, settings: Any) -> None:
    """The negative control. Until the release that contracts, two constraints carry the promise for such a price."""
    price_in(settings, "EUR")
    store_rates({"EUR": "1.08826"})
    names = ("checkout_once_per_order_ref", "checkout_once_per_priced_order_ref")
    constraints = [c for c in Checkout._meta.constraints if c.name in names]
    with connection.schema_editor() as editor:
        for constraint in constraints:
            editor.remove_constraint(Checkout, constraint)
    try:
        assert Counter(answer.status for answer in euros(tester)) == {201: AT_ONCE}
    finally:
        _empty(Checkout, DepositAddress, TestStep)
        with connection.schema_editor() as editor:
            for constraint in constraints:
                editor.add_constraint(Checkout, constraint)


def test_without_the_constraint_the_same_posts_make_several(tester: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: the statement alone does not carry the promise, the constraint does."""
    [constraint] = [c for c in Checkout._meta.constraints if c.name == "checkout_once_per_order_ref"]
    unguarded = {which: statement.replace(_ON_CONFLICT, "") for which, statement in service._STATEMENTS.items()}
    assert not set(unguarded.values()) & set(service._STATEMENTS.values())
    monkeypatch.setattr(service, "_STATEMENTS", unguarded)
    with connection.schema_editor() as editor:
        editor.remove_constraint(Checkout, constraint)
    try:
        answers = fifty_posts(tester)
        assert Counter(answer.status for answer in answers) == {201: AT_ONCE}
        assert Checkout.objects.count() == AT_ONCE
    finally:
        _empty(Checkout, DepositAddress, TestStep)
        with connection.schema_editor() as editor:
            editor.add_constraint(Checkout, constraint)


# PostgreSQL refuses ON CONFLICT where no constraint answers to it.
_ON_CONFLICT = (
    "    ON CONFLICT (merchant_id, mode, creation_ref, amount, currency)"
    " WHERE creation_ref IS NOT NULL AND price IS NULL DO NOTHING\n"
)


def _empty(*models: Any) -> None:
    tables = ", ".join(model._meta.db_table for model in models)
    _execute(f"TRUNCATE {tables} CASCADE")
