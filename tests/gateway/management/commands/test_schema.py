"""`manage.py schema` on a database that the release before left."""

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.factories import make_checkout
from tests.rates.playing import make_quoted

pytestmark = pytest.mark.django_db(transaction=True)

TABLE = "webhooks_endpoint"


@pytest.fixture
def before() -> None:
    """The schema before a column of it.

    That came with the last migration of its app, on which none of another app depends: each to apply again takes seconds.
    """
    call_command("migrate", "webhooks", "0010", verbosity=0)
    assert not has_column()


def has_column() -> bool:
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, TABLE)
    return "dialect" in {column.name for column in columns}


def lock_timeout() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        return str(cursor.fetchone()[0])


def expand(*arguments: str) -> None:
    call_command("schema", "expand", *arguments)


def test_expanding_applies_what_is_waiting_once_and_its_limit_of_waiting_ends(
    before: None, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = lock_timeout()
    expand()
    assert lock_timeout() == usual
    assert has_column()
    assert "Applied webhooks.0011_dialects." in capsys.readouterr().out
    expand()
    assert capsys.readouterr().out == ""
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    assert MigrationExecutor(connection).migration_plan(leaves) == []


def test_a_table_that_is_held_is_not_waited_for_long(before: None) -> None:
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute(f"LOCK TABLE {TABLE} IN ACCESS SHARE MODE")
        with pytest.raises(CommandError, match="did not get its lock"):
            expand("--lock-seconds", "1", "--tries", "1")
    assert not has_column()
    expand()
    assert has_column()


def test_a_release_that_lacks_nothing_fits(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("schema", "fits", "0.25.0")
    assert capsys.readouterr().out == "0.25.0 runs on this database.\n"


def test_a_release_that_lacks_something_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.management.commands.schema.missing_for", lambda *_: ["wallets.0009"])
    with pytest.raises(CommandError, match=r"uses what these removed: wallets\.0009"):
        call_command("schema", "fits", "0.25.0")


def test_a_release_that_misreads_prices_does_not_fit_while_such_checkouts_are_open() -> None:
    """0.25.0 says the USD amount in the currency of the price, also in webhooks of payments."""
    checkout = make_quoted()
    with pytest.raises(CommandError, match=r"1 such checkouts are open\. Take PRICE_CURRENCIES out"):
        call_command("schema", "fits", "0.25.0")
    call_command("schema", "fits", "0.26.0")
    Checkout.objects.filter(pk=checkout.pk).update(status=CheckoutStatus.EXPIRED)
    call_command("schema", "fits", "0.25.0")


def test_a_release_that_miscounts_euros_does_not_fit_while_such_checkouts_are_open() -> None:
    checkout = make_checkout(dues={"EURC": {"units": 23_000_000}})
    with pytest.raises(
        CommandError, match=r"1 checkouts that offer them are open\. Take CHAIN_BASE_CHECKOUT_TOKENS out"
    ):
        call_command("schema", "fits", "0.25.0")
    call_command("schema", "fits", "0.26.0")
    Checkout.objects.filter(pk=checkout.pk).update(status=CheckoutStatus.EXPIRED)
    call_command("schema", "fits", "0.25.0")


def test_what_is_no_release_is_refused() -> None:
    with pytest.raises(CommandError, match="soon is not a known release"):
        call_command("schema", "fits", "soon")
