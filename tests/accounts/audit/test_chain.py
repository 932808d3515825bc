"""The audit log shows what was done to it."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from accounts.audit.actors import Actor
from accounts.audit.chain import verify_audit_log
from accounts.audit.service import record
from accounts.models import AuditEntry, AuditSeal
from tests.checkouts.schema import alter
from tests.concurrency.races import SECONDS, crew, holding, wait_for_waiters
from tests.factories import NOON, make_merchant

pytestmark = pytest.mark.django_db(transaction=True)

LOCK_MERCHANT = "SELECT FROM accounts_merchant WHERE id = %s FOR NO KEY UPDATE"
COLUMN = {"auditentry": "action = 'x'", "auditseal": "number = 7"}


@pytest.fixture
def entries() -> list[AuditEntry]:
    """Three entries of a merchant, one of another, one of nobody."""
    one, other = make_merchant(), make_merchant()
    whose = [one, one, other, None, one]
    return [
        record(
            merchant,
            action="wallet.changed",
            object_id=f"wal_{number}",
            before={"address": "ä\"'\\", "n": 1},
            after={"nested": [1.5, None, "\u2028"]},
            actor=Actor(address="2001:db8::1"),
            now=NOON,
        )
        for number, merchant in enumerate(whose)
    ]


def tamper(statement: str, *parameters: Any) -> None:
    """Do what a trigger refuses, as the database's owner can."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, parameters)


def test_every_entry_is_sealed_in_the_chain_of_its_merchant(entries: list[AuditEntry]) -> None:
    found = AuditSeal.objects.order_by("entry_id").values_list("chain", "number")
    one, other = entries[0].merchant_id, entries[2].merchant_id
    assert list(found) == [(one, 1), (one, 2), (other, 1), (0, 1), (one, 3)]
    report = verify_audit_log()
    assert (report.entries, report.faults) == (5, [])
    assert sorted(head.number for head in report.heads) == [1, 1, 3]


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE accounts_auditentry SET action = 'x' WHERE id = %s", "does not fit"),
        ("UPDATE accounts_auditentry SET after = '{}' WHERE id = %s", "does not fit"),
        ("UPDATE accounts_auditentry SET address = NULL WHERE id = %s", "does not fit"),
        (
            "UPDATE accounts_auditentry SET created_at = created_at + interval '1 microsecond' WHERE id = %s",
            "does not fit",
        ),
        ("UPDATE accounts_auditentry SET merchant_id = NULL WHERE id = %s", "not fit"),
        ("DELETE FROM accounts_auditentry WHERE id = %s", "the entry is missing"),
        ("DELETE FROM accounts_auditseal WHERE entry_id = %s", "has no seal"),
        ("UPDATE accounts_auditseal SET digest = '' WHERE entry_id = %s", "not fit"),
    ],
)
def test_whatever_is_changed_shows(statement: str, fault: str, entries: list[AuditEntry]) -> None:
    tamper(statement, entries[1].pk)
    assert any(fault in words for words in verify_audit_log().faults)
    with pytest.raises(CommandError, match=fault):
        call_command("verify_audit")


def test_a_part_that_was_taken_out_with_its_seals_shows(entries: list[AuditEntry]) -> None:
    for table, column in (("auditseal", "entry_id"), ("auditentry", "id")):
        tamper(f"DELETE FROM accounts_{table} WHERE {column} = %s", entries[1].pk)
    assert any("are missing" in words for words in verify_audit_log().faults)


def test_the_database_refuses_to_change_entries_and_seals(entries: list[AuditEntry]) -> None:
    for table in ("auditentry", "auditseal"):
        for change in (f"DELETE FROM accounts_{table}", f"UPDATE accounts_{table} SET {COLUMN[table]}"):
            with pytest.raises(DatabaseError, match="never changed"), connection.cursor() as cursor:
                cursor.execute(change)


def test_without_the_triggers_entries_and_seals_would_change(entries: list[AuditEntry]) -> None:
    """The negative control of the test above."""
    for table in ("auditseal", "auditentry"):
        tamper(f"UPDATE accounts_{table} SET {COLUMN[table].replace('7', '-number')}")
        tamper(f"DELETE FROM accounts_{table}")
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
def test_without_its_trigger_an_entry_would_have_no_seal() -> None:
    """The negative control: nothing but the trigger seals."""
    alter("ALTER TABLE accounts_auditentry DISABLE TRIGGER audit_sealed")
    record(make_merchant(), action="x", now=NOON)
    [fault] = verify_audit_log().faults
    assert "has no seal" in fault


def test_what_is_rolled_back_leaves_no_gap(entries: list[AuditEntry]) -> None:
    with transaction.atomic():
        record(entries[0].merchant, action="x", now=NOON)
        transaction.set_rollback(True)
    record(entries[0].merchant, action="y", now=NOON)
    assert verify_audit_log().faults == []


def test_entries_written_at_the_same_moment_make_one_chain() -> None:
    merchant = make_merchant()
    with crew(8) as threads:
        threads.together(*[lambda: record(merchant, action="x", now=NOON) for _ in range(8)])
    report = verify_audit_log()
    assert report.faults == []
    assert [head.number for head in report.heads] == [8]


@contextmanager
def sealing_without_the_lock() -> Iterator[None]:
    """Let seals be numbered by what was there; between looking and writing, each waits for whoever holds the merchant."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef('audit_seal_entry'::regproc)")
        [locked] = cursor.fetchone()
        unlocked = locked.replace("PERFORM pg_advisory_xact_lock", "PERFORM concat")
        wait = "PERFORM FROM accounts_merchant WHERE id = the_chain FOR SHARE;"
        cursor.execute(unlocked.replace("words :=", f"{wait} words :="))
        try:
            yield
        finally:
            cursor.execute(locked)


def test_without_the_lock_two_entries_would_take_one_place_in_the_chain() -> None:
    """The negative control of the test above: the constraint stops the second one."""
    merchant = make_merchant()
    with sealing_without_the_lock(), crew(2) as threads:
        with holding(LOCK_MERCHANT, merchant.pk):
            both = [threads.start(lambda: record(merchant, action="x", now=NOON)) for _ in range(2)]
            wait_for_waiters(2)
        [refused] = [error for one in both if (error := one.exception(SECONDS))]
    assert "audit_seal_once" in str(refused)


def test_the_command_tells_that_all_is_well_and_shows_the_heads(entries: list[AuditEntry]) -> None:
    out = io.StringIO()
    call_command("verify_audit", "--heads", stdout=out)
    assert "5 entries in 3 chains are whole." in out.getvalue()
    seal = AuditSeal.objects.get(entry=entries[4])
    assert f"{seal.chain} 3 {bytes(seal.digest).hex()}" in out.getvalue()


@pytest.mark.parametrize("where", ["seal", "entry"])
def test_what_was_cut_off_the_end_shows_by_the_heads_of_before(
    where: str, entries: list[AuditEntry], tmp_path: Path
) -> None:
    noted, out = tmp_path / "heads.txt", io.StringIO()
    call_command("verify_audit", "--heads", stdout=out)
    noted.write_text(out.getvalue())
    record(entries[4].merchant, action="later", now=NOON)
    call_command("verify_audit", "--noted", str(noted), stdout=io.StringIO())
    if where == "seal":
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE accounts_auditseal, accounts_auditentry")
    else:
        newest = AuditEntry.objects.filter(pk__gte=entries[4].pk)
        ids = list(newest.values_list("pk", flat=True))
        tamper("DELETE FROM accounts_auditseal WHERE entry_id = ANY(%s)", ids)
        tamper("DELETE FROM accounts_auditentry WHERE id = ANY(%s)", ids)
    # Without the heads nothing is to be seen.
    assert verify_audit_log().faults == []
    with pytest.raises(CommandError, match="seal 3 is not the one noted down"):
        call_command("verify_audit", "--noted", str(noted))


@pytest.mark.parametrize("text", ["", "x", "1 2", "a b c"])
def test_a_file_without_heads_is_said_to_be_none(text: str, tmp_path: Path) -> None:
    noted = tmp_path / "heads.txt"
    noted.write_text(text)
    for file in (noted, tmp_path / "missing"):
        with pytest.raises(CommandError, match="holds no heads"):
            call_command("verify_audit", "--noted", str(file))
