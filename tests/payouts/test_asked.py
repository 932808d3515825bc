"""What each API key asked for, in the audit log: one entry for a key and a day."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import pytest
from django.db import connection

from accounts.audit.chain import verify_audit_log
from accounts.models import ApiKey, AuditEntry, Merchant
from accounts.states import Mode
from gateway.core.money import from_units
from payouts.lifecycle.asked import note_asked
from payouts.lifecycle.service import Terms, cancel_payout, request_payout, set_address
from payouts.models import Payout
from payouts.states import AddressBy
from payouts.tasks import note_asked_task
from tests.checkouts.watcher import DOLLAR
from tests.concurrency.races import behind
from tests.factories import NOON, make_key, make_merchant
from tests.payouts.factories import BUYER, make_payout

pytestmark = pytest.mark.django_db

DAY: Final = timedelta(days=1)
MIDNIGHT: Final = datetime(2026, 11, 21, tzinfo=UTC)
LATER: Final = NOON + 3 * DAY
LOCK_MERCHANT: Final = "SELECT FROM accounts_merchant WHERE id = %s FOR NO KEY UPDATE"


class KilledError(BaseException):
    """The end of a process."""


def ask(key: ApiKey, units: int, *, at: datetime = NOON, **values: Any) -> Payout:
    """A payout that a key asks for."""
    given: dict[str, Any] = {"chain": "base", "token": "USDC", "address": BUYER, "key_id": key.public_id}
    terms = Terms(**(given | values))
    return request_payout(key.merchant, mode=Mode(key.mode), amount=from_units(units), terms=terms, now=at).payout


def noted() -> list[tuple[str, Any]]:
    """The keys and values of the entries, the first one first."""
    entries = AuditEntry.objects.filter(action="payout.key_asked").order_by("pk")
    return list(entries.values_list("object_id", "after"))


def test_a_key_has_an_entry_for_each_day_on_which_it_asked(merchant: Merchant) -> None:
    key, other = make_key(merchant)[0], make_key(merchant, Mode.TEST)[0]
    ask(key, 5 * DOLLAR)
    ask(key, 7 * DOLLAR + 1, chain="polygon")
    cancel_payout(ask(key, DOLLAR, chain="polygon", token="USDT"), now=NOON)
    ask(key, 3 * DOLLAR, at=NOON + DAY)
    ask(other, 2 * DOLLAR)
    # A person asked for it.
    make_payout(merchant)
    assert note_asked(now=LATER) == 3
    assert [place for place in noted() if place[0] == other.public_id] == [
        (other.public_id, {"day": "2026-11-20", "mode": "test", "payouts": 1, "amounts": {"USDC": "2.000000"}})
    ]
    amounts = {"USDC": "12.000001", "USDT": "1.000000"}
    assert [values for key_id, values in noted() if key_id == key.public_id] == [
        {"day": "2026-11-20", "mode": "live", "payouts": 3, "amounts": amounts},
        {"day": "2026-11-21", "mode": "live", "payouts": 1, "amounts": {"USDC": "3.000000"}},
    ]
    assert set(AuditEntry.objects.filter(action="payout.key_asked").values_list("merchant", "actor_label")) == {
        (merchant.pk, "system")
    }


def test_what_was_asked_for_counts_whatever_the_recipient_chose(merchant: Merchant) -> None:
    payout = ask(make_key(merchant)[0], 5 * DOLLAR, address="", choices=[("polygon", "USDT")])
    set_address(payout, address=BUYER, chain="polygon", token="USDT", by=AddressBy.CLAIM, now=NOON)
    note_asked(now=LATER)
    assert [values["amounts"] for _, values in noted()] == [{"USDC": "5.000000"}]


def test_a_day_is_noted_an_hour_after_its_end_and_once(merchant: Merchant) -> None:
    key = make_key(merchant)[0]
    ask(key, DOLLAR, at=MIDNIGHT - timedelta(microseconds=1))
    ask(key, DOLLAR, at=MIDNIGHT)
    assert note_asked(now=MIDNIGHT + timedelta(minutes=59)) == 0
    assert note_asked(now=MIDNIGHT + timedelta(hours=1)) == 1
    assert note_asked(now=MIDNIGHT + timedelta(hours=24)) == 0
    assert note_asked(now=MIDNIGHT + timedelta(hours=25)) == 1
    assert note_asked_task() == 0
    assert [values["day"] for _, values in noted()] == ["2026-11-20", "2026-11-21"]


def test_days_without_a_worker_are_made_up_for_a_month_long(merchant: Merchant) -> None:
    key = make_key(merchant)[0]
    for days in range(3):
        ask(key, DOLLAR, at=NOON + days * DAY)
    assert note_asked(now=NOON + 33 * DAY) == 1
    assert [values["day"] for _, values in noted()] == ["2026-11-22"]


@pytest.mark.django_db(transaction=True)
def test_killed_at_any_statement_each_day_is_noted_once_and_sealed() -> None:
    for key in [make_key(merchant)[0] for merchant in (make_merchant(), make_merchant()) for _ in range(2)]:
        for at in (NOON, NOON + DAY):
            ask(key, DOLLAR, at=at)
    deaths = 0
    while not survives(deaths + 1):
        deaths += 1
        times = Counter((key_id, values["day"]) for key_id, values in noted())
        assert set(times.values()) <= {1}
        # All of a merchant's, or none.
        assert set(Counter(AuditEntry.objects.filter(action="payout.key_asked").values_list("merchant")).values()) <= {
            4
        }
    assert deaths > 4
    assert len(noted()) == 8
    assert verify_audit_log().faults == []


def survives(moment: int) -> bool:
    """Run it in a process that ends before its statement of this number; return whether it got to its end."""
    left = moment

    def execute_or_die(execute: Callable[..., Any], *given: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            raise KilledError
        return execute(*given)

    try:
        with connection.execute_wrapper(execute_or_die):
            note_asked(now=LATER)
    except KilledError:
        return False
    return True


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_workers_that_note_at_once_write_one_entry(merchant: Merchant) -> None:
    ask(make_key(merchant)[0], DOLLAR)
    written = behind(LOCK_MERCHANT, merchant.pk, works=[partial(note_asked, now=LATER)] * 3)
    assert sorted(written) == [0, 0, 1]
    assert len(noted()) == 1
