"""`manage.py run_watchers` without the fence, and without the database's limit on frozen transactions: what both are for happens."""

import os

import django

# On a busy machine it sleeps for longer than the ten seconds after which PostgreSQL would end its transaction.
os.environ["PGOPTIONS"] = "-c idle_in_transaction_session_timeout=0"
django.setup()

from django.core.management import call_command  # noqa: E402

from wallets.chains.rpc.client import Node  # noqa: E402
from wallets.models import ChainCursor  # noqa: E402
from wallets.watchers import leases  # noqa: E402

_send = Node._send


def _send_patiently(node: Node, method: str, target: str, body: bytes | None, seconds: float) -> object:
    """Wait for an answer that a test holds back: a busy machine catches that of the other chain after longer than ten seconds."""
    return _send(node, method, target, body, max(seconds, 120.0))


def _lock_only(lease: leases.Lease) -> None:
    """Lock the cursor as the fence does: without that, two watchers take their locks in different orders, and one is broken off."""
    ChainCursor.objects.select_for_update().get(pk=lease.pk)


if __name__ == "__main__":
    leases.check_fence = _lock_only
    Node._send = _send_patiently  # type: ignore[method-assign,assignment]
    call_command("run_watchers")
