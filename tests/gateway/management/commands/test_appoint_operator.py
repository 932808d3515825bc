"""Operators are made on the machine, by a command, and audited."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEntry, User
from tests.dashboard.people import make_member
from tests.factories import make_merchant

pytestmark = pytest.mark.django_db


def appoint(*arguments: str) -> str:
    told = StringIO()
    call_command("appoint_operator", *arguments, stdout=told)
    return told.getvalue().strip()


def test_a_person_is_appointed_and_dismissed_once() -> None:
    user = make_member(make_merchant())
    email = user.email.upper()
    assert appoint(email) == f"{email} is an operator."
    assert appoint(email) == f"{email} was already an operator."
    assert User.objects.get(pk=user.pk).is_staff
    assert appoint(email, "--dismiss") == f"{email} is not an operator."
    assert not User.objects.get(pk=user.pk).is_staff
    entries = AuditEntry.objects.filter(object_id=user.public_id).order_by("pk")
    told = [(entry.action, entry.actor_label) for entry in entries]
    label = "manage.py appoint_operator"
    assert told == [("operator.appointed", label), ("operator.dismissed", label)]


def test_nobody_is_appointed_who_has_no_login() -> None:
    with pytest.raises(CommandError, match="No person has the login"):
        appoint("nobody@halden.example")
