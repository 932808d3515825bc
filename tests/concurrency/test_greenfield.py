"""Orders and webhooks that shop plugins send several times at once: one invoice, also where the one before has expired; one endpoint."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from checkouts.creation import service
from checkouts.models import Checkout
from gateway.core.secrets import unseal
from greenfield import webhooks
from greenfield.models import InvoiceOptions
from payouts.models import Payout
from tests.concurrency.races import behind
from tests.concurrency.test_listed_endpoints import NO_NEW_SECRETS
from tests.contract.payments import expire, pay
from tests.greenfield.plugin import Plugin, make_live_plugin
from wallets.models import DepositAddress
from webhooks.models import Endpoint, SigningSecret

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

CROWD = 8
# Each has looked for the order's invoice by then, and found none, or one that expired.
BEFORE_THE_ROW = "LOCK TABLE checkouts_checkout IN SHARE ROW EXCLUSIVE MODE"
_ON_CONFLICT = (
    "    ON CONFLICT (merchant_id, mode, creation_ref, amount, currency) WHERE creation_ref IS NOT NULL AND price IS NULL"
    " DO NOTHING\n"
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


HOOK = "https://shop.example/hook"


def connected_at_once(plugin: Plugin, **body: Any) -> list[tuple[int, Any]]:
    """The statuses and bodies that a crowd is answered which adds one webhook, each before any other's is committed."""

    def connect() -> tuple[int, Any]:
        answer = plugin.send("POST", f"{plugin.store}/webhooks", {"url": HOOK} | body)
        return answer.status_code, json.loads(answer.content)

    return behind(NO_NEW_SECRETS, works=[connect] * CROWD)


def test_a_webhook_that_is_added_by_a_crowd_is_one_and_each_gets_the_secret_that_signs(plugin: Plugin) -> None:
    """An owner presses the button twice: the shop keeps either answer."""
    told = connected_at_once(plugin)
    assert [status for status, _ in told] == [200] * CROWD
    assert len({(body["id"], body["secret"]) for _, body in told}) == 1
    assert unseal(bytes(SigningSecret.objects.get().sealed)) == told[0][1]["secret"]
    assert Endpoint.objects.get().public_id == told[0][1]["id"]


def test_a_crowd_that_gives_its_secret_has_it_confirmed(plugin: Plugin) -> None:
    """PrestaShop's plugin compares the secret of the answer with its own."""
    told = connected_at_once(plugin, secret="k" * 48)
    assert [(status, body["secret"]) for status, body in told] == [(200, "k" * 48)] * CROWD
    assert unseal(bytes(SigningSecret.objects.get().sealed)) == "k" * 48


def test_without_a_second_look_all_but_one_of_the_crowd_are_refused(
    plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the tests above."""
    monkeypatch.setattr(webhooks, "_webhook_at", lambda *_: None)
    assert sorted(status for status, _ in connected_at_once(plugin)) == [200] + [422] * (CROWD - 1)


def test_what_was_paid_too_much_is_sent_back_once_to_a_shop_that_asks_several_times_at_once(plugin: Plugin) -> None:
    """All have come to the payment before anybody has reserved something of it."""
    invoice = str(plugin.order()["id"])
    transfer = pay(invoice, 140)
    body = {"refundVariant": "OverpaidAmount"}

    def ask() -> int:
        return int(plugin.send("POST", f"{plugin.store}/invoices/{invoice}/refund", body).status_code)

    answers = behind("SELECT FROM wallets_transfer WHERE id = %s FOR UPDATE", transfer.pk, works=[ask] * 3)
    assert sorted(answers) == [200, 422, 422]
    assert [int(one.units) for one in Payout.objects.all()] == [10_000_000]
