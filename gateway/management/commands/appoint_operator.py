"""`manage.py appoint_operator`: grant or revoke access to the operator's pages."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.login.people import set_operator
from accounts.models import User


class Command(BaseCommand):
    """Grants a person access to /operator/, or revokes it. No page can do this, so it requires access to the machine."""

    help = "Give a person with a login access to the operator's pages, or remove it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments: the person, and whether to dismiss them."""
        parser.add_argument("email")
        parser.add_argument("--dismiss", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Appoint or dismiss the person, with an audit entry."""
        email, is_operator = options["email"], not options["dismiss"]
        try:
            changed = set_operator(
                email, is_operator=is_operator, now=timezone.now(), actor=Actor(label="manage.py appoint_operator")
            )
        except User.DoesNotExist as error:
            raise CommandError(f"No person has the login {email}.") from error
        rank = "an operator" if is_operator else "not an operator"
        self.stdout.write(f"{email} {'is' if changed else 'was already'} {rank}.")
