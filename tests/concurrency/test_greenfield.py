"""Orders that shop plugins send several times at once have one invoice, also where the one before has expired."""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection

from checkouts.creation import service
from checkouts.models import Checkout
from greenfield.models import InvoiceOptions
from tests.concurrency.races import behind
from tests.contract.payments import expire
from tests.greenfield.plugin import Plugin, make_live_plugin
from wallets.models import DepositAddress

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

CROWD = 8
# Each has looked for the order's invoice by then, and found none, or one that expired.
BEFORE_THE_ROW = "LOCK TABLE checkouts_checkout IN SHARE ROW EXCLUSIVE MODE"
_ON_CONFLICT = (
    "    ON CONFLICT (merchant_id, mode, creation_ref, amount, currency) WHERE creation_ref IS NOT NULL DO NOTHING\n"
)


@pytest.fixture
def plugin(local_nodes: None) -> Plugin:
    """A plugin in live mode."""
    return make_live_plugin()


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Take away the constraint that lets an order's key exist once. The rows that it would refuse are deleted afterwards."""
    [constraint] = [c for c in Checkout._meta.constraints if c.name == "checkout_once_per_order_ref"]
    gone = []

    def remove() -> None:
        statements = {which: sql.replace(_ON_CONFLICT, "") for which, sql in service._STATEMENTS.items()}
        assert not set(statements.values()) & set(service._STATEMENTS.values())
        monkeypatch.setattr(service, "_STATEMENTS", statements)
        with connection.schema_editor() as editor:
            editor.remove_constraint(Checkout, constraint)
        gone.append(constraint)

    yield remove
    if gone:
        with connection.cursor() as cursor:
            tables = ", ".join(model._meta.db_table for model in (Checkout, DepositAddress, InvoiceOptions))
            cursor.execute(f"TRUNCATE {tables} CASCADE")
        with connection.schema_editor() as editor:
            editor.add_constraint(Checkout, constraint)


def crowd(plugin: Plugin) -> set[str]:
    """The ids that a crowd is answered which orders the same at once."""
    return set(behind(BEFORE_THE_ROW, works=[lambda: str(plugin.order()["id"])] * CROWD))


def test_an_order_that_is_sent_by_a_crowd_has_one_invoice(plugin: Plugin) -> None:
    assert len(crowd(plugin)) == 1
    assert (Checkout.objects.count(), InvoiceOptions.objects.count()) == (1, 1)


def test_a_crowd_that_comes_back_after_expiry_gets_one_new_invoice(plugin: Plugin) -> None:
    first = plugin.order()["id"]
    expire(first)
    [renewal] = crowd(plugin)
    assert renewal != first
    assert (Checkout.objects.count(), InvoiceOptions.objects.count()) == (2, 2)


def test_without_the_constraint_a_crowd_gets_as_many_invoices(plugin: Plugin, unguarded: Callable[[], None]) -> None:
    """The negative control of the tests above."""
    first = plugin.order()["id"]
    expire(first)
    unguarded()
    assert len(crowd(plugin)) == CROWD
    assert Checkout.objects.count() == CROWD + 1
