"""A program that takes steps of a payout's life, and is killed at every moment of each.

    python -m tests.payouts.processes PAYOUT STEP ...

Steps are the functions in `STEPS`; PAYOUT is empty where one makes the payout. The program begins a step in a child that kills
itself before its first statement, then in one that gets a moment further, and so on, until one gets to the end: each goes on from
what the last one left, and from its first moment again if that was more than before. A moment is before a statement, before a
commit, and after one.
After each death it compares the books, and fails if anything was sent twice or lost. It prints how many were killed in each step.
With `TORN` in the environment each statement is committed by itself, as if there were no transactions. Steps read from there what
they need: `PAYING_WALLET` and its `PAYING_KEY`, the transaction `SENT` that a person names, and `NOW`, if it is not the clock's.
"""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tests.database import own_database
from tests.tree import ROOT

if TYPE_CHECKING:
    from accounts.models import Merchant
    from payouts.models import Payout, PayoutBatch

RECIPIENT: Final = "0x976EA74026E726554dB657fA54763abd0C3a0aa9"
MOST_DEATHS: Final = 400
TORN: Final = "TORN"
NOW: Final = "NOW"
SENT: Final = "SENT"
PAYING_KEY: Final = "PAYING_KEY"
_SLOW: Final = {
    "sign": ("eth_account",),
    "relay": ("web3",),
    "tron": ("eth_keys.datatypes", "wallets.chains.tron.keys"),
    "solana": ("solders.transaction", "spl.token.instructions"),
    "ton": ("tonsdk.boc", "tonsdk.utils"),
}
"""What a step, or any on a chain, imports late, and what takes long to import: each child would do it again."""


def killed_throughout(*steps: str, payout_id: str, chain: dict[str, str]) -> list[int]:
    """Have each step taken by processes that are killed, until one is not; return how many were killed in each.

    `chain` are settings by their names, and what steps read beside them. `payout_id` is empty where a step makes the payout. Raises
    AssertionError with what the program says is wrong.
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

    # There is none yet where a step makes it.
    payout: Any = Payout.objects.filter(public_id=payout_id).first()
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

    approve_payout(payout, revision=payout.revision, actor=Actor(_owner(payout.merchant)), now=timezone.now())


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
        make_batch(payout.merchant, Mode.LIVE, wanted, actor=Actor(_owner(payout.merchant)), now=timezone.now())
    assert PayoutBatch.objects.exists()


def _owner(merchant: "Merchant") -> Any:
    from accounts.models import Membership

    return Membership.objects.select_related("user").get(merchant=merchant).user


def _batch(payout: "Payout") -> "PayoutBatch":
    from payouts.models import PayoutBatch

    return PayoutBatch.objects.select_related("wallet", "merchant").get(requests__payout=payout)


def _now() -> datetime:
    from django.utils import timezone

    return datetime.fromisoformat(os.environ[NOW]) if NOW in os.environ else timezone.now()


def prepare(payout: "Payout") -> None:
    """The paying page asks for the transaction to be signed, and is told that one is out if it was written already."""
    from gateway.core.api.errors import ConflictError
    from payouts.batches.transactions import prepare_transaction

    with suppress(ConflictError):
        prepare_transaction(_batch(payout), [payout.public_id], now=_now())
    assert payout.requests.get().valid_until is not None


def sign(payout: "Payout") -> None:
    """The page gives us the authorisation that the wallet signed, and again if no answer came."""
    from eth_account import Account

    from payouts.batches.authorizations import authorization_of, take_signature
    from payouts.models import PayoutRequest

    request = PayoutRequest.objects.select_related("batch__wallet").get(payout=payout)
    signed = Account.sign_typed_data(os.environ[PAYING_KEY], full_message=authorization_of(request).typed())
    signature = "0x" + bytes(signed.signature).hex()
    take_signature(_batch(payout), payout.public_id, signature, now=_now())


def send(payout: "Payout") -> None:
    """The page has us send the transaction that the wallet signed on Tron, and once more, as if no answer had come."""
    from eth_keys.datatypes import PrivateKey

    from gateway.core import json
    from payouts.batches.transactions import send_transaction

    raw = bytes.fromhex(json.loads(bytes(payout.requests.get().raw))["raw"])
    key = PrivateKey(bytes.fromhex(os.environ[PAYING_KEY].removeprefix("0x")))
    signature = key.sign_msg_hash(hashlib.sha256(raw).digest()).to_bytes().hex()
    for _ in range(2):
        send_transaction(_batch(payout), payout.public_id, signature, now=_now())


def cancel(payout: "Payout") -> None:
    """The owner takes the batch back, and is told that it is cancelled if it was already."""
    from accounts.audit.actors import Actor
    from gateway.core.api.errors import ConflictError
    from payouts.batches.service import cancel_batch
    from payouts.states import BatchStatus

    with suppress(ConflictError):
        cancel_batch(_batch(payout), actor=Actor(_owner(payout.merchant)), now=_now())
    assert _batch(payout).status == BatchStatus.CANCELLED


def name_sent(payout: "Payout") -> None:
    """The owner names the transaction that gave the inbox's money back, and is told that it is recorded if it was already."""
    del payout
    from accounts.audit.actors import Actor
    from accounts.states import Mode
    from gateway.core.api.errors import ConflictError
    from payouts.following.sent import record_sent
    from payouts.models import Payout

    item, source, told = _named()
    actor = Actor(_owner(item.merchant))
    with suppress(ConflictError):
        record_sent(item.merchant, told, mode=Mode(item.mode), source=source, now=_now(), actor=actor)
    assert Payout.objects.exists()


@cache
def _named() -> tuple[Any, Any, Any]:
    """Return the inbox's item, the source of its refund, and what its chain tells of the transaction. It is asked once."""
    from accounts.states import Mode
    from checkouts.models import InboxItem
    from payouts.following.sent import sent_transfers
    from payouts.lifecycle.sources import Source

    item = InboxItem.objects.select_related("transfer", "merchant").get()
    source = Source(chain=item.transfer.chain, tx_hash=item.transfer.tx_hash)
    [told] = sent_transfers(os.environ[SENT], source, merchant=item.merchant, mode=Mode(item.mode))
    return item, source, told


def read(payout: "Payout") -> None:
    """A watcher reads the chain to its head."""
    from tests.wallets.factories import read_all
    from wallets.chains.registry import open_pool
    from wallets.networks import chain_spec
    from wallets.watcher_process import open_watcher

    spec = chain_spec(payout.chain)
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
    """A worker closes what is paid, and what was taken back and has ended."""
    del payout
    from payouts.batches.service import close_batches

    close_batches(now=_now())


STEPS: Final = {
    step.__name__: step
    for step in (claim, approve, hand_out, prepare, sign, send, relay, read, follow, recheck, cancel, close, name_sent)
}


def faults() -> Iterator[str]:
    """Yield what no death may leave behind: money that is promised, handed out or called paid twice, or that is nowhere."""
    from checkouts.models import InboxItem
    from gateway.core import json
    from payouts.following.check import check_payouts
    from payouts.models import Payout, PayoutBatch, PayoutSurplus
    from payouts.states import AddressBy, BatchStatus, PayoutKind, PayoutStatus
    from settlements.models import GasTransaction
    from wallets.models import TransferReturn

    if check_payouts():
        yield "sources and returns differ"
    payouts = list(Payout.objects.select_related("movement"))
    if len(payouts) > 1:
        yield "a second payout"
    if not payouts:
        if TransferReturn.objects.exists():
            yield "money is promised back by no refund"
        return
    [payout] = payouts[:1]
    handed = list(payout.requests.select_related("batch"))
    if PayoutBatch.objects.count() != len(handed):
        yield "there is a batch without its request, or a second one"
    if any(one.batch_id != payout.batch_id and one.batch.status != BatchStatus.CLOSED for one in handed):
        yield "what was handed out is not in its batch"
    # What was written to be signed is there with its end, or not at all.
    if any(("transaction" in json.loads(bytes(one.raw))) and one.valid_until is None for one in handed):
        yield "a transaction is out that has no end"
    is_sent = payout.batch_id is not None or payout.address_by == AddressBy.CHAIN
    if is_sent != (payout.status in (PayoutStatus.SENDING, PayoutStatus.PAID)):
        yield f"handed out, or sent, and {payout.status}"
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
    from wallets.networks import watched_chains

    # The step follows by itself.
    settings.MOVEMENT_CONSUMERS = []
    payout_id, *steps = sys.argv[1:]
    for used in (*steps, *(spec.name for spec in watched_chains())):
        for module in _SLOW.get(used, ()):
            import_module(module)
    if "name_sent" in steps:
        _named()
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
        *PayoutRequest.objects.values_list("gas_transaction", "tx_hash", "valid_until", "signature"),
        *(model._default_manager.count() for model in counted),
    ]


if __name__ == "__main__":
    main()
