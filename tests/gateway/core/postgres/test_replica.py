"""Which reads may come from the replica: those of views that are marked, and none that decides about money.

`tests/deploy/test_replica.py` has a replica that really lags."""

import ast
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest
from django.db import InternalError, OperationalError, router, transaction
from django.http import HttpRequest, HttpResponse
from prometheus_client.parser import text_string_to_metric_families

from accounts.models import Merchant
from checkouts.models import Checkout
from gateway.core.postgres import replica as module
from gateway.core.postgres.addresses import REPLICA
from gateway.core.postgres.replica import HEADER, read_alias, reads_replica, replica, snapshot
from gateway.pages.metrics import measure
from tests.concurrency.races import crew
from tests.factories import NOON, make_merchant, make_wallet
from tests.tree import python_sources, relative
from wallets.selectors import chain_statuses, forget, receiving_wallets

MARKED = {
    "accounts/requests/views.py": ["requests"],
    "checkouts/api.py": ["list"],
    "checkouts/dashboard/pages.py": ["checkouts"],
    "reports/api.py": ["summary", "transactions", "settlements"],
    "reports/dashboard/customers.py": ["customers"],
    "reports/dashboard/months.py": ["month", "balances"],
    "reports/dashboard/overview.py": ["overview"],
    "reports/dashboard/payments.py": ["payments"],
    "reports/dashboard/statement.py": ["fees", "statement"],
    "reports/dashboard/summary.py": ["reports"],
    "webhooks/dashboard/deliveries.py": ["deliveries"],
    "webhooks/dashboard/events.py": ["events"],
}
"""The views that may read the replica. Each lists or adds up what happened; none changes anything."""


def marked(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = {one.id for one in node.decorator_list if isinstance(one, ast.Name)}
            if "reads_replica" in names:
                yield node


def test_the_views_that_may_read_it_are_these() -> None:
    found = {
        relative(path): [one.name for one in marked(ast.parse(path.read_text()))]
        for path in python_sources()
        if not relative(path).startswith("tests/") and "reads_replica" in path.read_text()
    }
    assert found.pop("gateway/core/postgres/replica.py") == []
    assert found == MARKED


def test_no_other_code_reads_it() -> None:
    named = {
        relative(path)
        for path in python_sources()
        if not relative(path).startswith("tests/") and "gateway.core.postgres.replica" in path.read_text()
    }
    others = {
        "accounts/keys/authentication.py",
        "checkouts/dashboard/overview.py",
        "checkouts/gas_free/rules.py",
        "checkouts/selectors.py",
        "gateway/pages/metrics.py",
        "gateway/settings.py",
        "rates/selectors.py",
        "reports/accountant/sums.py",
        "reports/summaries.py",
        "wallets/selectors.py",
    }
    assert named == MARKED.keys() | others


def decorators(function: ast.FunctionDef) -> Iterator[str]:
    for one in function.decorator_list:
        yield ast.unparse(one.func if isinstance(one, ast.Call) else one)


def test_rows_that_a_process_keeps_are_read_from_the_primary() -> None:
    """A view that may read the replica fills the same cache that creating a checkout reads."""
    kept = [
        (relative(path), node.name, list(decorators(node)))
        for path in python_sources()
        if not relative(path).startswith("tests/") and "@cached" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and "cached" in decorators(node) and ".objects" in ast.unparse(node)
    ]
    assert len(kept) == 4
    assert [one for one in kept if "from_primary" not in one[2]] == []


@pytest.mark.django_db
def test_a_marked_view_takes_wallets_and_chains_from_the_primary(near: None) -> None:
    merchant = make_merchant()
    wallet = make_wallet(merchant, "base")
    forget()

    def view(_request: Any) -> HttpResponse:
        chain_statuses(now=NOON)
        return HttpResponse(receiving_wallets(merchant.pk)["base"] + read_alias())

    # The tests have no replica: a read from it would fail.
    answer = reads_replica(view)(HttpRequest())
    assert answer.content.decode() == wallet.address + REPLICA


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica that is a tenth of a second behind."""
    monkeypatch.setattr(replica, "lag", lambda: 0.1)


def aliases(_request: Any = None) -> HttpResponse:
    """A view that tells where its reads and writes go."""
    one = Checkout()
    one._state.db = REPLICA
    told = [
        router.db_for_read(Checkout),
        router.db_for_read(Checkout, instance=one),
        read_alias(),
        router.db_for_write(Checkout, instance=one),
        Checkout.objects.select_for_update().db,
    ]
    return HttpResponse(" ".join(told))


def test_elsewhere_everything_comes_from_the_primary(near: None) -> None:
    assert set(aliases().content.split()) == {b"default"}


def test_a_marked_view_reads_it_and_locks_and_writes_in_the_primary(near: None) -> None:
    answer = reads_replica(aliases)(HttpRequest())
    replicas, primaries = [b"replica"] * 3, [b"default"] * 2
    assert answer.content.split() == replicas + primaries
    assert answer[HEADER] == "0.1"
    # And only as long as it runs.
    assert read_alias() == "default"


@pytest.mark.parametrize("lag", [None, 10.1])
def test_a_replica_that_is_away_or_behind_is_not_read(lag: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "lag", lambda: lag)
    answer = reads_replica(aliases)(HttpRequest())
    assert set(answer.content.split()) == {b"default"}
    assert HEADER not in answer


def test_a_view_on_which_it_fails_begins_again_at_the_primary(near: None, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[Exception] = []
    monkeypatch.setattr(replica, "fail", failed.append)

    def view(request: Any) -> HttpResponse:
        if read_alias() == REPLICA:
            raise OperationalError
        return HttpResponse(f"{request.data_lag}")

    answer = reads_replica(view)(HttpRequest())
    assert answer.content == b"0.0"
    assert HEADER not in answer
    assert len(failed) == 1


def test_a_replica_that_fails_is_left_alone_for_some_seconds(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REPLICA_URL = "postgresql://db2/florin"
    asked: list[int] = []

    def measure(now: float) -> float:
        asked.append(1)
        raise OperationalError

    one = module._Replica()
    monkeypatch.setattr(one, "_measure", measure)
    assert [one.lag(), one.lag(), one.lag()] == [None] * 3
    assert len(asked) == 1


def test_what_was_known_is_told_with_its_age_while_another_request_looks(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REPLICA_URL = "postgresql://db2/florin"
    meanwhile: list[float | None] = []
    one = module._Replica()

    def measure(now: float) -> float:
        meanwhile.append(one.lag())
        return 0.1

    monkeypatch.setattr(one, "_measure", measure)
    assert one.lag() == pytest.approx(0.1, abs=0.05)
    # An hour without a request.
    one._looked_at -= 3_600
    one._measured_at -= 3_600
    assert one.lag() == pytest.approx(0.1, abs=0.05)
    assert meanwhile[0] is None
    assert meanwhile[1] is not None
    assert meanwhile[1] > 3_600


def lag_of_a_scrape() -> list[float]:
    """The replica's lag as Prometheus reads it; nothing if there is no such metric."""
    return [
        family.samples[0].value
        for family in text_string_to_metric_families(measure(now=NOON).decode())
        if family.name == "florin_replica_lag_seconds"
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(("lag", "told"), [(0.1, 0.1), (None, inf)])
def test_the_metric_is_the_lag_and_infinite_while_the_replica_is_silent(
    lag: float | None, told: float, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REPLICA_URL = "postgresql://db2/florin"
    monkeypatch.setattr(replica, "lag", lambda: lag)
    assert lag_of_a_scrape() == [told]


@pytest.mark.django_db
def test_there_is_no_metric_without_a_replica_in_the_settings() -> None:
    assert lag_of_a_scrape() == []


def count_twice() -> list[int]:
    """How many merchants there are, before and after another connection makes one."""
    before = Merchant.objects.count()
    with crew() as threads:
        threads.start(make_merchant).result()
    return [before, Merchant.objects.count()]


@pytest.mark.django_db(transaction=True)
def test_in_a_snapshot_nothing_comes_or_goes() -> None:
    with snapshot():
        assert count_twice() == [0, 0]
    assert Merchant.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_usual_transaction_sees_what_others_commit() -> None:
    with transaction.atomic():
        assert count_twice() == [0, 1]


@pytest.mark.django_db(transaction=True)
def test_nothing_is_written_in_a_snapshot() -> None:
    with pytest.raises(InternalError, match="read-only"), snapshot():
        make_merchant()
    make_merchant()


@pytest.mark.django_db(transaction=True)
def test_in_a_transaction_it_changes_nothing() -> None:
    with transaction.atomic():
        make_merchant()
        with snapshot():
            assert Merchant.objects.count() == 1
            make_merchant()
    assert Merchant.objects.count() == 2
