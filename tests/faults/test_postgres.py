"""PostgreSQL stops in the middle of a transaction; once it is back, all goes on by itself."""

from collections.abc import Callable

import pytest

from tests.exhaustive import sample
from tests.faults.oracle import settle
from tests.faults.outages import kill_backend, kill_server, shut_down
from tests.installation import Installation
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

# Where each kind of process is in the middle of a transaction: some of it written, nothing committed.
OPEN_AT = {"watcher": "wallets_block", "worker": "checkouts_payment", "sender": "webhooks_attempt"}


@pytest.mark.parametrize(
    ("kind", "stop"),
    sample(
        [
            ("watcher", kill_server),
            ("worker", kill_server),
            ("worker", kill_backend),
            ("sender", kill_server),
            ("sender", shut_down),
        ],
        3,
    ),
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_transaction_cut_off_by_the_server_loses_nothing(
    installation: Installation, kind: str, stop: Callable[[Installation, str], None]
) -> None:
    name = installation.the(kind)
    with installation.database.holding_up_writes(OPEN_AT[kind]):
        installation.pay_all(installation.create_checkouts(3))
        installation.finalize()
        wait_until(lambda: installation.database.is_held_up(name))
        stop(installation, name)
    settle(installation)
    installation.pay_all(installation.create_checkouts(1), chain="polygon")
    settle(installation)
    assert all(installation.exit_status(one) is None for one in installation.names)
