"""The audit log's pages: everything in order, narrowed, as a file, and checked."""

import csv
import io
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode, Role
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def note(merchant: Merchant, action: str = "api_key.created", **facts: Any) -> AuditEntry:
    return record(merchant, action=action, now=NOON, **facts)


def rows_of(answer: Any) -> list[list[str]]:
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("mode", Mode)
def test_every_member_reads_the_same_log_in_both_modes(merchant: Merchant, role: Role, mode: Mode) -> None:
    note(merchant, object_id="key_one")
    page = make_desk(merchant, role, mode).get("dashboard_audit_log").text
    assert "API key created" in page
    assert "key_one" in page


def test_an_entry_says_who_from_where_before_and_after(merchant: Merchant, owner: Desk) -> None:
    note(
        merchant,
        "merchant.retry_switched",
        actor=Actor(owner.user, address="203.0.113.9"),
        before={"buyers_may_retry": False, "nested": {"a": [1]}},
        after={"buyers_may_retry": True},
    )
    page = owner.get("dashboard_audit_log").text
    for part in (
        owner.user.email,
        "from 203.0.113.9",
        "Switched trying again at the same price on",
        "{&quot;a&quot;: [1]}",
    ):
        assert part in " ".join(page.split())


def test_pages_go_from_the_newest_to_the_oldest_and_back(merchant: Merchant, viewer: Desk) -> None:
    for number in range(60):
        note(merchant, object_id=f"obj-{number:02}")
    first = viewer.get("dashboard_audit_log")
    assert "obj-59" in first.text
    assert "obj-34" not in first.text
    older = viewer.get("dashboard_audit_log", "?" + first.context["pager"].older)
    assert "obj-34" in older.text
    newer = viewer.get("dashboard_audit_log", "?" + older.context["pager"].newer)
    assert "obj-59" in newer.text


def test_it_is_narrowed_by_person_and_by_action(merchant: Merchant, owner: Desk) -> None:
    other = make_desk(merchant)
    note(merchant, actor=Actor(owner.user), object_id="obj-mine")
    note(merchant, "api_key.revoked", actor=Actor(owner.user), object_id="obj-gone")
    note(merchant, actor=Actor(other.user), object_id="obj-theirs")
    note(merchant, object_id="obj-system")

    def shown(query: str) -> set[str]:
        page = owner.get("dashboard_audit_log", query)
        return {entry.object_id for entry in page.context["entries"]}

    mine = owner.user.public_id
    assert shown(f"?person={mine}") == {"obj-mine", "obj-gone"}
    assert shown(f"?person={mine}&action=api_key.revoked") == {"obj-gone"}
    assert shown("?person=nobody") == {"obj-system"}
    assert shown("?person=usr_unknown") == set()
    assert shown("?action=%00") == {"obj-mine", "obj-gone", "obj-theirs", "obj-system"}


def test_another_merchants_entries_are_not_there(merchant: Merchant, owner: Desk) -> None:
    other = make_desk()
    note(other.merchant, actor=Actor(other.user), object_id="obj-theirs")
    query = f"?person={other.user.public_id}"
    assert "obj-theirs" not in owner.get("dashboard_audit_log").text
    assert "obj-theirs" not in owner.get("dashboard_audit_log", query).text
    assert len(rows_of(owner.get("dashboard_audit_log_csv"))) == 1


def test_the_file_has_what_the_page_is_narrowed_to_and_runs_nothing(merchant: Merchant, viewer: Desk) -> None:
    note(merchant, object_id="=cmd|' /C calc'!A0", after={"name": "ä"})
    note(merchant, "api_key.revoked")
    answer = viewer.get("dashboard_audit_log_csv", "?action=api_key.created")
    [header, row] = rows_of(answer)
    assert answer["Content-Type"].startswith("text/csv")
    assert header[:3] == ["time", "person", "action"]
    assert row[3].startswith("'=cmd")
    assert row[5] == '{"name":"ä"}'


def test_what_a_stranger_wrote_is_only_words(merchant: Merchant, viewer: Desk) -> None:
    script = "<script>alert(1)</script>"
    note(merchant, script, actor=Actor(label=script), object_id=script, before={script: script}, after={"x": [script]})
    query = "?person=%22%3E%3Cscript%3E&action=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"
    for page in (viewer.get("dashboard_audit_log").text, viewer.get("dashboard_audit_log", query).text):
        assert script not in page
        assert '"><script>' not in page


@pytest.mark.django_db(transaction=True)
def test_the_check_finds_what_was_changed_behind_the_log(merchant: Merchant, viewer: Desk) -> None:
    entry = note(merchant, object_id="key_one")
    other = note(make_desk().merchant)
    assert "entries are as they were written" in viewer.get("dashboard_audit_log_check").text
    tamper("UPDATE accounts_auditentry SET action = 'x' WHERE id = %s", other.pk)
    assert "outside Florin" not in viewer.get("dashboard_audit_log_check").text
    tamper("UPDATE accounts_auditentry SET action = 'x' WHERE id = %s", entry.pk)
    assert "does not fit its seal" in viewer.get("dashboard_audit_log_check").text


def tamper(statement: str, *parameters: Any) -> None:
    """Do what a trigger refuses, as the database's owner can."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, parameters)


def test_the_plan_and_its_rate_are_shown(merchant: Merchant, viewer: Desk) -> None:
    page = viewer.get("dashboard_fees").text
    assert "Starter plan: 1.5 %" in page
