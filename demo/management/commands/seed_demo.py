"""`manage.py seed_demo`: seed the demo's database, for `manage.py demo`."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from demo.older import is_of_another_release, set_aside
from demo.seed import seed_demo
from demo.settings_file import kept_credentials
from rates.service import fetch_rates


class Command(BaseCommand):
    """Prints JSON for the parent process: the credentials, and the name of a database that was set aside."""

    help = "Migrate, make the demo merchant if it is missing, print its credentials."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("settings_file", type=Path, help="a former var/demo.json")
        parser.add_argument("webhook_url")
        parser.add_argument("--own-engines", action="store_true", help="set the data of another release aside")

    def handle(self, *args: Any, settings_file: Path, webhook_url: str, own_engines: bool, **options: Any) -> None:
        """Migrate and seed in one process: each start of Django takes time."""
        kept_as = ""
        if is_of_another_release():
            if not own_engines:
                raise CommandError("The database of DATABASE_URL is of another release of Florin: name an empty one.")
            kept_as = set_aside(now=timezone.now())
        call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
        with transaction.atomic():
            credentials = seed_demo(kept=kept_credentials(settings_file), webhook_url=webhook_url, now=timezone.now())
        # The task's first pass is a minute away, and prices in other currencies would be refused until then.
        fetch_rates(clock=timezone.now)
        told = {"credentials": asdict(credentials), "kept_as": kept_as}
        self.stdout.write(json.dumps(told))
