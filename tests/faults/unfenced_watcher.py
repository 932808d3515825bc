"""`manage.py run_watchers` without the fence: what the fence is for happens."""

import django

django.setup()

from django.core.management import call_command  # noqa: E402

from wallets.watchers import leases  # noqa: E402

if __name__ == "__main__":
    leases.check_fence = lambda lease: None
    call_command("run_watchers")
