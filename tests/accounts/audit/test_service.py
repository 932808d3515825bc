"""What an entry of the audit log keeps."""

import pytest

from accounts.audit.service import record
from accounts.models import AuditEntry
from tests.factories import NOON, make_merchant, make_user

pytestmark = pytest.mark.django_db


def test_an_entry_keeps_who_did_what_to_whom_and_when() -> None:
    merchant, actor = make_merchant(), make_user("ana@halden.example")
    record(
        merchant,
        action="member.left",
        actor=actor,
        object_id="usr_1",
        before={"role": "viewer"},
        after=None,
        address="192.0.2.7",
        now=NOON,
    )
    entry = AuditEntry.objects.get(merchant=merchant, action="member.left")
    assert (entry.actor, entry.object_id, entry.created_at) == (actor, "usr_1", NOON)
    assert (entry.before, entry.after) == ({"role": "viewer"}, None)
