"""A program that takes steps of a payout's life, and is killed at every moment of each.

    python -m tests.payouts.processes PAYOUT claim|approve|hand_out|relay|read|follow|recheck|close ...

It begins a step in a child that kills itself before its first statement, then in one that gets a moment further, and so on, until
one gets to the end: each goes on from what the last one left, and from its first moment again if that was more than before. A
moment is before a statement, before a commit, and after one.
After each death it compares the books, and fails if anything was sent twice or lost. It prints how many were killed in each step.
With `TORN` in the environment each statement is committed by itself, as if there were no transactions.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from tests.database import own_database
from tests.tree import ROOT

if TYPE_CHECKING:
    from payouts.models import Payout

RECIPIENT: Final = "0x976EA74026E726554dB657fA54763abd0C3a0aa9"
MOST_DEATHS: Final = 400
TORN: Final = "TORN"


def killed_throughout(*steps: str, payout_id: str, chain: dict[str, str]) -> list[int]:
    """Have each step taken by processes that are killed, until one is not; return how many were killed in each.

    `chain` are settings by their names, and `TORN`. Raises AssertionError with what the program says is wrong.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CHAIN_")}
    environment = kept | own_database() | {"FLORIN_ENV": "development", "CHAIN_NETWORK": "local"} | chain
    command = [sys.executable, "-m", "tests.payouts.processes", payout_id, *steps]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return [int(number) for number in done.stdout.split()]


class Mortal:
    """Kills this process at one of its moments."""

    def __init__(self, moment: int) -> None:
        self._left = moment

    def __call__(self, execute: Callable[..., Any], *given: Any) -> Any:
        """Run a statement, unless the moment has come."""
        self.pass_one()
        answer = execute(*given)
        if TORN in os.environ and not str(given[0]).startswith("SAVEPOINT"):
            _tear()
        return answer

    def pass_one(self) -> None:
        """Die if this is the moment."""
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def _tear() -> None:
    """Commit what was done until now, though its transaction goes on."""
    from django.db import connection

    # A savepoint would be gone.
    if connection.in_atomic_block and not any(connection.savepoint_ids):
        connection.connection.commit()


def live(step: Callable[["Payout"], object], payout_id: str, moment: int) -> None:
    """Take a step, and get no further than a moment."""
    from django.db import connection

    from payouts.models import Payout

    mortal = Mortal(moment)
    commit = connection.commit

    def mortal_commit() -> None:
        mortal.pass_one()
        commit()
        mortal.pass_one()

    payout = Payout.objects.get(public_id=payout_id)
    connection.commit = mortal_commit  # type: ignore[method-assign]
    with connection.execute_wrapper(mortal):
        step(payout)


def claim(payout: "Payout") -> None:
    """The recipient gives an address, and again if no answer came."""
    from django.utils import timezone

    from payouts.lifecycle.service import set_address
    from payouts.states import AddressBy

    set_address(payout, address=RECIPIENT, by=AddressBy.CLAIM, now=timezone.now())


def approve(payout: "Payout") -> None:
    """The owner approves the address that the page shows."""
    from django.utils import timezone

    from accounts.audit.actors import Actor
    from payouts.approvals.service import approve_payout

    approve_payout(payout, revision=payout.revision, actor=Actor(_owner(payout)), now=timezone.now())


def hand_out(payout: "Payout") -> None:
    """The owner makes a batch, and is told that there is one if it was made already."""
    from django.utils import timezone

    from accounts.audit.actors import Actor
    from accounts.states import Mode
    from gateway.core.api.errors import ConflictError
    from payouts.batches.service import Wanted, make_batch
    from payouts.models import PayoutBatch
    from payouts.states import Method

    wanted = Wanted([payout.public_id], os.environ["PAYING_WALLET"], Method.CALLS)
    with suppress(ConflictError):
        make_batch(payout.merchant, Mode.LIVE, wanted, actor=Actor(_owner(payout)), now=timezone.now())
    assert PayoutBatch.objects.exists()


def _owner(payout: "Payout") -> Any:
    from accounts.models import Membership

    return Membership.objects.select_related("user").get(merchant=payout.merchant).user


def read(payout: "Payout") -> None:
    """A watcher reads the chain to its head."""
    del payout
    from tests.wallets.factories import read_all
    from wallets.chains.registry import open_pool
    from wallets.networks import chain_spec
    from wallets.watcher_process import open_watcher

    spec = chain_spec("base")
    # Whose lease it is does not matter here: the one before is dead.
    watcher = open_watcher(spec, open_pool(spec), owner="one")
    read_all(watcher)
    watcher.close()


def follow(payout: "Payout") -> None:
    """A worker follows what was read, as the bell asks it to."""
    del payout
    from django.utils import timezone

    from payouts.following.service import follow_movements

    follow_movements(now=timezone.now())


def recheck(payout: "Payout") -> None:
    """A worker looks for what a bell missed."""
    from django.utils import timezone

    from payouts.following.service import recheck_payouts

    recheck_payouts(now=timezone.now())
    follow(payout)


def relay(payout: "Payout") -> None:
    """The gas account sends what the wallet signed, and looks at what it sent."""
    del payout
    from django.utils import timezone

    from gateway.core.leases import EPOCH, Lease
    from payouts.batches.relays import send_signed
    from settlements.gas.node import gas_node
    from settlements.gas.upkeep import tend

    # What the dead held is free within a minute, which nobody waits for here.
    Lease.objects.update(lease_until=EPOCH)
    send_signed(now=timezone.now())
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now())


def close(payout: "Payout") -> None:
    """A worker closes what is paid."""
    del payout
    from django.utils import timezone

    from payouts.batches.service import close_batches

    close_batches(now=timezone.now())


STEPS: Final = {step.__name__: step for step in (claim, approve, hand_out, relay, read, follow, recheck, close)}


def faults() -> Iterator[str]:
    """Yield what no death may leave behind: money that is promised, handed out or called paid twice, or that is nowhere."""
    from checkouts.models import InboxItem
    from payouts.following.check import check_payouts
    from payouts.models import Payout, PayoutBatch, PayoutSurplus
    from payouts.states import PayoutKind, PayoutStatus
    from settlements.models import GasTransaction
    from wallets.models import TransferReturn

    payout = Payout.objects.select_related("movement").get()
    if check_payouts():
        yield "sources and returns differ"
    if PayoutBatch.objects.count() != payout.requests.count() or payout.requests.count() > 1:
        yield "there is a batch without its request, or a second one"
    if (payout.batch_id is not None) != payout.requests.exists():
        yield "what was handed out is not in its batch"
    if payout.requests.exists() != (payout.status in (PayoutStatus.SENDING, PayoutStatus.PAID)):
        yield f"handed out, and {payout.status}"
    if PayoutSurplus.objects.exists() or payout.exception:
        yield "a second outflow"
    if GasTransaction.objects.count() > 1:
        yield "the gas account sent it twice"
    is_paid = payout.status == PayoutStatus.PAID
    if is_paid and (payout.movement is None or payout.movement.state != "confirmed"):
        yield "paid without a final outflow"
    if payout.kind != PayoutKind.REFUND:
        return
    [kept], [item] = TransferReturn.objects.all(), InboxItem.objects.all()
    if kept.reserved != payout.units or kept.returned != (payout.units if is_paid else 0):
        yield f"{kept.reserved} reserved and {kept.returned} returned, and {payout.status}"
    if item.status == "refunded" and not is_paid:
        yield "the inbox says that it was sent back, and it was not"


def main() -> None:
    """Do what the command line says."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    django.setup()
    from django.conf import settings

    # What the children import, once.
    from payouts.batches import service as batches  # noqa: F401
    from payouts.following import check, service  # noqa: F401
    from tests.wallets import factories  # noqa: F401
    from wallets import watcher_process  # noqa: F401
    from wallets.chains import registry  # noqa: F401

    # The step follows by itself.
    settings.MOVEMENT_CONSUMERS = []
    payout_id, *steps = sys.argv[1:]
    for step in steps:
        sys.stdout.write(f"{_deaths(STEPS[step], payout_id)}\n")


def _deaths(step: Callable[["Payout"], object], payout_id: str) -> int:
    """Let children die in a step until one does not; return how many did."""
    from django.db import connections

    moment, left = 1, _left()
    for deaths in range(MOST_DEATHS):
        # A child would share them.
        connections.close_all()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            live(step, payout_id, moment)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if found := list(faults()):
            sys.exit(f"after moment {moment} of {step.__name__}: {found}")
        if os.waitstatus_to_exitcode(status) == 0:
            return deaths
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            sys.exit(f"the step did not die of the kill at moment {moment}")
        # What is done is not done again, so the moments are others.
        before, left = left, _left()
        moment = moment + 1 if left == before else 1
    sys.exit(f"{step.__name__} does not come to an end")


def _left() -> list[Any]:
    """Return what the dead left behind, as far as steps do it once."""
    from accounts.models import AuditEntry
    from checkouts.models import InboxItem
    from payouts.models import Payout, PayoutApproval, PayoutBatch, PayoutRequest
    from settlements.models import GasTransaction
    from wallets.models import TransferReturn, WatchedMovement, WatchedWallet

    counted = (AuditEntry, PayoutApproval, PayoutRequest, WatchedWallet)
    return [
        *Payout.objects.values_list("status", "revision", "batch", "movement"),
        *PayoutBatch.objects.values_list("status"),
        *WatchedMovement.objects.order_by("pk").values_list("state", "queued_at"),
        *InboxItem.objects.values_list("status"),
        *TransferReturn.objects.values_list("reserved", "returned"),
        *GasTransaction.objects.values_list("state"),
        *PayoutRequest.objects.values_list("gas_transaction", "tx_hash"),
        *(model._default_manager.count() for model in counted),
    ]


if __name__ == "__main__":
    main()
