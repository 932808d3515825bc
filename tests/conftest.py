"""Fixtures for all tests, their order, and which of them are measured."""

import gc
import itertools
from collections.abc import Generator, Iterator

import hypothesis
import pytest
import structlog
from cryptography.fernet import Fernet
from django.conf import settings
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from hypothesis.internal.conjecture import providers
from pytest_django.plugin import blocking_manager_key

from gateway.core import valkey
from gateway.core.logging import logging_config
from tests import any_order
from tests.cases import forget
from tests.emptying import clean_tables, empty_instead_of_flushing
from tests.exhaustive import EXHAUSTIVE
from tests.measuring import unmeasured
from tests.pgbouncer import keep_fitting
from tests.statics import look_once

pytest_plugins = [
    # Before whoever imports it: its asserts could not be rewritten any more.
    "tests.template_database",
    "tests.demo.lending",
    "tests.grouping",
    "tests.night",
    "tests.slow",
    "tests.cast",
    "tests.chains",
    "tests.nodes.fixtures",
]

UNMEASURED = {"browser", "concurrency", "faults", "unmeasured"}
"""The marks of tests that coverage leaves out."""

MEASURED_CASES = 1
"""So many cases of a test are measured, one for each chain at least; the others run the same lines."""

CLEANED_EACH = 3
"""Tables are cleaned once in so many tests that ask the database."""

# A busy machine may hold up a test, and Valkey, longer than the product would wait for a counter.
hypothesis.settings.register_profile(
    "unhurried",
    parent=hypothesis.settings.get_profile(hypothesis.settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unhurried")
valkey._PATIENCE_SECONDS = 5.0
if EXHAUSTIVE:
    setattr(SQLCompiler, "execute_sql", any_order.execute_sql)  # noqa: B010 - its type is overloaded
else:
    # Constants of the tree's own modules are tried as inputs at night alone: each worker would read two thousand modules for them.
    providers._get_local_constants = lambda: providers._local_constants

_ran = itertools.count(1)


@pytest.fixture(autouse=True)
def forget_what_was_remembered() -> Iterator[None]:
    """Let no test meet what another one left in the process."""
    forget()
    yield
    forget()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the long tests first, so that no worker is alone with them in the end; the rest keeps its random order.

    Tests that share a browser or an installation follow each other, both being slow to start.
    """
    keep_fitting(config, items)
    items.sort(key=_place)


def _place(item: pytest.Item) -> tuple[bool, bool, bool, bool]:
    marks = {mark.name for mark in item.iter_markers()}
    has_accounts = "accounts" in getattr(item, "fixturenames", ())
    return ("xdist_group" not in marks, "browser" not in marks, "slow" not in marks, "faults" in marks and has_accounts)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Clean the tables now and then, and measure what computes little.

    Measuring doubles a process's time, and the other tests reach the lines without it.
    """
    if _asks_database(item) and next(_ran) % CLEANED_EACH == 0:
        with unmeasured(), item.config.stash[blocking_manager_key].unblock():
            clean_tables()
    if _is_measured(item):
        return (yield)
    with unmeasured():
        return (yield)


def _asks_database(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return item.get_closest_marker("django_db") is not None or "db" in names or "transactional_db" in names


def _is_measured(item: pytest.Item) -> bool:
    marks = {mark.name for mark in item.iter_markers()}
    case = getattr(item, "callspec", None)
    number = max(case.indices.values(), default=0) if case else 0
    return UNMEASURED.isdisjoint(marks) and number < MEASURED_CASES


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """Make the database unmeasured, as no migration counts; let a test's own transaction be idle while it starts a node."""
    if fixturedef.argname == "django_db_setup":
        with unmeasured():
            return (yield)
    done = yield
    if fixturedef.argname == "_django_db_helper" and connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    return done


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over modules and tests from now on: there are millions of their objects."""
    gc.enable()
    gc.freeze()
    # Fewer passes, each over more: what tests leave is seldom in cycles.
    gc.set_threshold(10_000, 10, 10)


def pytest_configure() -> None:
    """Make the folder of collected static files, whose absence WhiteNoise warns of; take the quick ways."""
    # Nothing of what is collected is garbage.
    gc.disable()
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    settings.PASSWORD_HASHERS = ["tests.hashers.QuickHasher"]
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    empty_instead_of_flushing()
    look_once()


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """Restore the logging that the test configures anew.

    structlog gets back the very objects it had: a logger keeps those of its first use, and `capture_logs` changes only those
    that are configured. With others in place, tests that use such a logger would capture nothing.
    """
    before = structlog.get_config()
    yield
    logging_config(json_lines=settings.PRODUCTION)
    structlog.configure(**before)
