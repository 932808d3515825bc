"""What an entry of the audit log keeps."""

import pytest

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.dashboard.audit_log import action_words, changed_values
from accounts.models import AuditEntry
from tests.factories import NOON, make_merchant, make_user

pytestmark = pytest.mark.django_db


def test_an_entry_keeps_who_did_what_to_whom_and_when() -> None:
    merchant, actor = make_merchant(), make_user("ana@halden.example")
    record(
        merchant,
        action="member.left",
        actor=Actor(actor, address="192.0.2.7"),
        object_id="usr_1",
        before={"role": "viewer"},
        after=None,
        now=NOON,
    )
    entry = AuditEntry.objects.get(merchant=merchant, action="member.left")
    assert (entry.actor, entry.object_id, entry.created_at) == (actor, "usr_1", NOON)
    assert (entry.before, entry.after) == ({"role": "viewer"}, None)
    assert (entry.actor_label, entry.address) == ("ana@halden.example", "192.0.2.7")


def test_without_a_person_an_entry_names_the_key_or_the_system() -> None:
    key = record(None, action="chain.resumed", actor=Actor(label="API key key_1"), now=NOON)
    system = record(None, action="chain.resumed", now=NOON)
    assert [(entry.actor, entry.actor_label) for entry in (key, system)] == [(None, "API key key_1"), (None, "system")]


def test_a_key_is_no_person() -> None:
    with pytest.raises(ValueError, match="API key key_1 is no person"):
        _ = Actor(label="API key key_1").person


# What entries of the audit log say to people.


def test_a_known_act_has_its_words_and_another_one_reads_as_its_code() -> None:
    assert action_words("member.left") == "Member left"
    assert action_words("gas_key.turned_over") == "Gas key turned over"


def test_what_is_the_same_is_not_told() -> None:
    assert changed_values({"role": "owner", "a": 1}, {"role": "viewer", "a": 1}) == [("role", "owner", "viewer")]


def test_what_was_nothing_and_what_is_nothing_are_told_apart() -> None:
    told = changed_values({"logo": "", "tone": "red"}, {"logo": "a.png", "tone": None})
    assert told == [("logo", None, "a.png"), ("tone", "red", "nothing")]


def test_switches_and_nested_values_can_be_read() -> None:
    told = changed_values(None, {"is_on": True, "was_on": False, "wörter": {"ä": 1}})
    assert told == [("is on", None, "on"), ("was on", None, "off"), ("wörter", None, '{"ä": 1}')]
