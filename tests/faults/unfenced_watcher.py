"""`manage.py run_watchers` without the fence, and without the database's limit on frozen transactions: what both are for happens."""

import os

import django

# On a busy machine it sleeps for longer than the ten seconds after which PostgreSQL would end its transaction.
os.environ["PGOPTIONS"] = "-c idle_in_transaction_session_timeout=0"
django.setup()

from django.core.management import call_command  # noqa: E402

from wallets.watchers import leases  # noqa: E402

if __name__ == "__main__":
    leases.check_fence = lambda lease: None
    call_command("run_watchers")
