"""Devices that type one code at once, buttons that are pressed at once, and a terminal that is revoked while it sells."""

from collections.abc import Iterator
from decimal import Decimal
from functools import partial

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from checkouts.models import Checkout, Terminal, TerminalSale
from checkouts.till import service
from checkouts.till.pairing import PairingError, offer_pairing, pair, revoke_terminal
from checkouts.till.service import Press, TerminalGoneError, sell
from gateway.core.ids import new_code
from tests.checkouts.till.terminals import make_terminal
from tests.concurrency.races import SECONDS, behind, crew, together, waiting_for_locks
from tests.waiting import wait_until
from wallets.models import DepositAddress

pytestmark = [
    pytest.mark.concurrency,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("chains_are_well"),
]

# Nobody writes a sale, wherever they stand before it.
NO_NEW_SALES = "LOCK TABLE checkouts_terminalsale IN SHARE MODE"


def is_paired(code: str) -> bool:
    try:
        pair(code, device="", address=None, now=timezone.now())
    except PairingError:
        return False
    return True


def test_of_eight_devices_with_one_code_one_is_paired() -> None:
    code = offer_pairing(make_terminal(), actor=SYSTEM, now=timezone.now())
    assert sorted(together(*[partial(is_paired, code)] * 8)) == [False] * 7 + [True]


def charge(terminal: Terminal, form: str) -> int:
    """The sale's number."""
    return sell(terminal.pk, Press(form=form, price=Decimal("5.00")), now=timezone.now()).pk


def pressed_at_once(presses: int = 4) -> list[int]:
    """The sales of one form that was sent so often, each before any was written."""
    terminal, form = make_terminal(), new_code()
    return behind(NO_NEW_SALES, works=[partial(charge, terminal, form)] * presses)


def test_one_form_that_is_sent_at_once_makes_one_sale() -> None:
    assert len(set(pressed_at_once())) == 1
    # What the losers had begun is gone altogether.
    assert (
        TerminalSale.objects.count()
        == Checkout.objects.count()
        == DepositAddress.objects.values("nonce").distinct().count()
        == 1
    )


@pytest.fixture
def without_the_constraint() -> Iterator[None]:
    """A form may be several sales, as if the database promised nothing."""
    [constraint] = [c for c in TerminalSale._meta.constraints if c.name == "terminal_sale_once_per_form"]
    with connection.schema_editor() as editor:
        editor.remove_constraint(TerminalSale, constraint)
    yield
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE checkouts_terminalsale CASCADE")
    with connection.schema_editor() as editor:
        editor.add_constraint(TerminalSale, constraint)


@pytest.mark.usefixtures("without_the_constraint")
def test_without_the_constraint_each_press_would_be_a_sale() -> None:
    """The negative control: looking first does not carry the promise, the constraint does."""
    assert len(set(pressed_at_once())) == 4


def sold(terminal: Terminal) -> bool:
    """Whether the terminal still sold."""
    try:
        charge(terminal, new_code())
    except TerminalGoneError:
        return False
    return True


def revoked_before_the_sale_is_written(terminal: Terminal) -> bool:
    """Whether a terminal sold that was revoked, in a transaction that ended later, before it began to."""
    with crew(1) as threads:
        with transaction.atomic():
            revoke_terminal(terminal, actor=SYSTEM, now=timezone.now())
            selling = threads.start(partial(sold, terminal))
            wait_until(lambda: selling.done() or waiting_for_locks() == 1, seconds=SECONDS)
        return selling.result(SECONDS)


def test_a_terminal_that_is_being_revoked_sells_nothing() -> None:
    assert not revoked_before_the_sale_is_written(make_terminal())
    assert not Checkout.objects.exists()


def test_without_the_lock_on_the_terminal_it_would_sell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_HOLD", service._HOLD.replace(" FOR SHARE", ""))
    assert revoked_before_the_sale_is_written(make_terminal())
