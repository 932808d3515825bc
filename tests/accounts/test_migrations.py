"""An installation that is older than logins and seals is taken along."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounts.auditchain import verify_audit_log
from accounts.models import FeeEntry
from accounts.services.fees import void
from accounts.states import FeeKind
from tests.accounts.fees import booked, charged
from tests.factories import NOON, make_merchant
from wallets.services.totals import check_days

BEFORE = [("accounts", "0004_branding")]
VOIDABLE = [("accounts", "0011_fee_days")]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]


def migrate(targets: list[tuple[str, str]]) -> None:
    MigrationExecutor(connection).migrate(targets)


@pytest.fixture
def restored() -> Iterator[None]:
    """At the end all is as it is now."""
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    yield
    migrate(newest)


@pytest.fixture
def older(restored: None) -> None:
    """The tables as they were."""
    migrate(BEFORE)


def test_people_can_log_in_and_entries_are_sealed(older: None) -> None:
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes("accounts")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO accounts_user (public_id, email, password, name, is_active, is_staff, is_superuser, created_at)"
            " VALUES ('usr_1', 'ada@example.test', '!', '', true, false, false, now())"
        )
        for action in ("first", "second"):
            cursor.execute(
                "INSERT INTO accounts_auditentry (actor_label, action, object_id, created_at)"
                " VALUES ('system', %s, '', now())",
                [action],
            )
    migrate(newest)
    address = EmailAddress.objects.get()
    assert (address.email, address.verified, address.primary) == (
        "ada@example.test",
        True,
        True,
    )
    report = verify_audit_log()
    assert (report.entries, report.faults) == (2, [])


def test_fees_that_were_void_are_taken_back_by_an_entry_and_void_again_on_the_way_back(
    restored: None,
) -> None:
    merchant = make_merchant()
    hours = [NOON + timedelta(hours=number) for number in range(4)]
    stands = charged(merchant, at=NOON, voided_at=hours[1], again_at=hours[2])
    void_ = charged(merchant, at=NOON, voided_at=hours[1])
    gone = charged(merchant, at=NOON, voided_at=hours[1], again_at=hours[2])
    void(FeeKind.CHECKOUT, [gone.subject_id], now=hours[3])
    migrate(VOIDABLE)
    with connection.cursor() as cursor:
        cursor.execute("SELECT subject_id, voided_at FROM accounts_feeentry")
        assert dict(cursor.fetchall()) == {
            stands.subject_id: None,
            void_.subject_id: hours[1],
            gone.subject_id: hours[3],
        }
    migrate(MigrationExecutor(connection).loader.graph.leaf_nodes("accounts"))
    # The older books had cents only.
    fee = FeeEntry.objects.get(pk=stands.pk).amount
    assert booked(stands.subject_id) == [(NOON, fee)]
    assert booked(void_.subject_id) == [(NOON, fee), (hours[1], -fee)]
    assert booked(gone.subject_id) == [(NOON, fee), (hours[3], -fee)]
    assert check_days() == 0
