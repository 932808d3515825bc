"""Requests with one Idempotency-Key at once: one is carried out, and all get its answer."""

from functools import partial
from typing import Any

import pytest
from django.db import connection

from accounts.keys import idempotency
from accounts.models import IdempotencyKey
from checkouts import api
from checkouts.models import Checkout
from tests.concurrency.races import SECONDS, behind, crew, holding, wait_for_waiters
from tests.contract.client import Answer, ApiClient

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

AT_ONCE = 8
# Whoever creates a checkout waits here, with its key's row written.
LOCK_CHECKOUTS = "LOCK TABLE checkouts_checkout IN SHARE MODE"
_END_CREATOR = """
    SELECT pg_terminate_backend(l.pid) FROM pg_locks l
    WHERE l.relation = 'checkouts_checkout'::regclass AND NOT l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def create(client: ApiClient, amount: str = "25.00", key: str = "k") -> Answer:
    return client.send("POST", "/checkouts", {"amount": amount, "currency": "USD"}, HTTP_IDEMPOTENCY_KEY=key)


def posts(client: ApiClient) -> list[Answer]:
    return behind(LOCK_CHECKOUTS, works=[partial(create, client)] * AT_ONCE)


def test_eight_posts_with_one_key_at_once_make_one_checkout_and_get_one_answer(tester: ApiClient) -> None:
    answers = posts(tester)
    assert [answer.status for answer in answers] == [201] * AT_ONCE
    assert len({answer.raw for answer in answers}) == 1
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == AT_ONCE - 1
    assert Checkout.objects.count() == IdempotencyKey.objects.count() == 1


def test_without_the_constraint_one_key_makes_eight_checkouts(
    tester: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    [constraint] = IdempotencyKey._meta.constraints
    before, _, after = idempotency._TAKE.partition("ON CONFLICT")
    # PostgreSQL refuses ON CONFLICT where no constraint answers to it.
    monkeypatch.setattr(idempotency, "_TAKE", before + after[after.index("RETURNING") :])
    with connection.schema_editor() as editor:
        editor.remove_constraint(IdempotencyKey, constraint)
    try:
        assert len({answer.raw for answer in posts(tester)}) == Checkout.objects.count() == AT_ONCE
    finally:
        IdempotencyKey.objects.all().delete()
        with connection.schema_editor() as editor:
            editor.add_constraint(IdempotencyKey, constraint)


def test_of_two_bodies_with_one_key_at_once_the_second_is_refused(tester: ApiClient) -> None:
    works = [partial(create, tester), partial(create, tester, "30.00")]
    first, second = behind(LOCK_CHECKOUTS, works=works)
    assert first.status == 201
    assert second.refusal == (409, "duplicate", None)
    assert Checkout.objects.count() == 1


@pytest.mark.sessions
def test_a_request_that_dies_leaves_the_key_to_the_one_that_waits(tester: ApiClient) -> None:
    with crew() as threads:
        with holding(LOCK_CHECKOUTS):
            first = threads.start(partial(create, tester))
            wait_for_waiters(1)
            second = threads.start(partial(create, tester))
            wait_for_waiters(2)
            with connection.cursor() as cursor:
                cursor.execute(_END_CREATOR)
            assert first.result(SECONDS).status == 500
            wait_for_waiters(1)
        answer = second.result(SECONDS)
    assert (answer.status, "Idempotent-Replayed" in answer.headers) == (201, False)
    assert create(tester).raw == answer.raw
    assert Checkout.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("prepare_transaction", {"chain": "base", "account": "0x"}),
        ("send_signed", {"ticket": "free.", "signature": "0x" + "11" * 65}),
    ],
)
def test_nodes_are_asked_in_no_transaction_and_a_repeat_gets_the_answer_that_was_kept_first(
    tester: ApiClient, monkeypatch: pytest.MonkeyPatch, name: str, body: dict[str, Any]
) -> None:
    path = f"/checkouts/{tester.created()['id']}/authorization"
    asked: list[bool] = []
    inner: list[Answer] = []

    def post(sent: Any = body) -> Answer:
        return tester.send("POST", path, sent, HTTP_IDEMPOTENCY_KEY="k")

    def answer(*_: Any, **_named: Any) -> dict[str, Any]:
        asked.append(connection.in_atomic_block)
        number = len(asked)
        if number == 1:
            # Another request with the key, while nodes are asked for this one.
            inner.append(post())
        return {"tx_hash": f"0x{number}"}

    # A transaction that is sent before it is committed is in no ledger if the process dies in between.
    monkeypatch.setattr(api, name, answer)
    answers = [post(), *inner, post()]
    assert asked == [False, False]
    assert [each.body for each in answers] == [{"tx_hash": "0x2"}] * 3
    assert ["Idempotent-Replayed" in each.headers for each in answers] == [True, False, True]
    assert post({"chain": "solana"}).refusal == (409, "duplicate", None)
    assert len(asked) == 2
