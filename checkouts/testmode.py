"""Plays test checkouts: simulated transfers, processed like real ones from the moment they are rows."""

import secrets
from datetime import datetime, timedelta

import structlog
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef

from accounts.states import Mode
from checkouts.attribution.queue import attribute_deposits, attribute_transfers
from checkouts.lifecycle.expiry import expire_due_checkouts, expire_if_due
from checkouts.models import Checkout, TestStep
from checkouts.rows import CheckoutRow
from checkouts.scenarios import StepKind, amount_of
from gateway.core.api.errors import ConflictError, NotFoundError
from gateway.core.money import to_units
from gateway.core.texts import pgettext_noop
from wallets.chains.evm.address import address_key as evm_key
from wallets.models import DepositAddress, Transfer
from wallets.networks import chain_spec
from wallets.transfers.service import (
    NewTransfer,
    confirm_transfers,
    orphan_transfers,
    record_transfers,
    revive_transfers,
)

log = structlog.get_logger(__name__)

BATCH = 100
_JUST_LATE = timedelta(seconds=120)


def play_due_steps(*, now: datetime) -> int:
    """Play every due step; return how many there were. A step is played once, by any worker."""
    total = 0
    while played := _play_batch(now=now):
        total += played
    return total


def _play_batch(*, now: datetime) -> int:
    with transaction.atomic():
        # A checkout's steps run one by one: what an earlier one wrote must be committed and attributed.
        earlier = TestStep.objects.filter(checkout=OuterRef("checkout"), done_at=None, pk__lt=OuterRef("pk"))
        queued = Transfer.objects.queued().filter(deposit__nonce=OuterRef("checkout__deposit_nonce"))
        steps = list(
            TestStep.objects.filter(~Exists(earlier), ~Exists(queued), done_at=None, due_at__lte=now)
            .order_by("due_at", "pk")
            .select_for_update(skip_locked=True, of=("self",))
            .select_related("checkout")[:BATCH]
        )
        played = [step.pk for step in steps if _plays(step, now)]
        TestStep.objects.filter(pk__in=played).update(done_at=now)
    if played:
        attribute_transfers(now=now)
        expire_due_checkouts(now=now)
    return len(played)


def _plays(step: TestStep, now: datetime) -> bool:
    """Play one step; an unexpected failure leaves it due and delays no other checkout."""
    try:
        with transaction.atomic():
            _play(step, now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("test step not played", step=step.pk)
        return False
    return True


def advance(checkout: CheckoutRow, steps: int, *, now: datetime) -> None:
    """Play the next `steps` of a test checkout now, with all that follows from them but deliveries; fewer if there are no more.

    From then on its own clock stands still until its time to pay ends. After the scenario's last step, one more ends the time
    to pay of a checkout that is not paid. Calls at once play one after another. Raises NotFoundError for a live checkout, and
    ConflictError (state_conflict) if there is no step to play.
    """
    if checkout.mode != Mode.TEST:
        raise NotFoundError(f"There is no test checkout {checkout.public_id}.", param="checkout_id")
    advanced = Checkout.objects.get(pk=checkout.id)
    for number in range(steps):
        if _advances(advanced, now):
            continue
        if number == 0:
            raise ConflictError(pgettext_noop("team", "This checkout has ended, and no step of its scenario is left."))
        return


def _advances(checkout: Checkout, now: datetime) -> bool:
    """Play a checkout's next step and what follows from it; return whether there was one."""
    is_played: bool | None = None
    while is_played is None:
        attribute_deposits(checkout, now=now)
        is_played = _plays_next(checkout, now)
    attribute_deposits(checkout, now=now)
    expire_if_due(checkout.pk, now=now)
    return is_played


@transaction.atomic
def _plays_next(checkout: Checkout, now: datetime) -> bool | None:
    """Play a checkout's next step; return whether there was one. None: the step before it must be attributed first."""
    undone = TestStep.objects.filter(checkout=checkout, done_at=None).order_by("pk")
    held = list(undone.select_for_update(of=("self",)))
    # Another call, or the checkout's own clock, may have played the step before while this one waited for its lock.
    if Transfer.objects.queued().filter(deposit__nonce=bytes(checkout.deposit_nonce)).exists():
        return None
    if not (held := held or _last_step(checkout, now)):
        return False
    step, *later = held
    # Read under the lock: the step before may have changed it.
    step.checkout = Checkout.objects.get(pk=checkout.pk)
    step.due_at = min(step.due_at, now)
    _play(step, now)
    TestStep.objects.filter(pk=step.pk).update(due_at=step.due_at, done_at=now)
    # Played in the end, so that no step stays behind; late money is due after the end already.
    end = step.checkout.expires_at
    TestStep.objects.filter(pk__in=[each.pk for each in later], due_at__lt=end).update(due_at=end)
    return True


def _last_step(checkout: Checkout, now: datetime) -> list[TestStep]:
    """Return the step that ends the time to pay of a checkout whose scenario is over; none if the checkout has ended."""
    if Checkout.objects.locked().get(pk=checkout.pk).is_final:
        return []
    return [TestStep.objects.create(checkout=checkout, kind=StepKind.EXPIRE, due_at=now)]


def _play(step: TestStep, now: datetime) -> None:
    checkout = step.checkout
    match StepKind(step.kind):
        case (StepKind.PAY | StepKind.PAY_SHORT | StepKind.PAY_REST | StepKind.PAY_OVER | StepKind.PAY_LATE) as kind:
            confirm_transfers([_send(step, kind, now)], now=now)
        case StepKind.DETECT:
            _send(step, StepKind.DETECT, now)
        case StepKind.CONFIRM:
            confirm_transfers(_sent(checkout), now=now)
        case StepKind.ORPHAN:
            orphan_transfers(_sent(checkout), now=now)
        case StepKind.RETURN:
            revive_transfers(_sent(checkout), now=now)
            confirm_transfers(_sent(checkout), now=now)
        case StepKind.EXPIRE:
            Checkout.objects.live().filter(pk=checkout.pk, expires_at__gt=step.due_at).update(expires_at=step.due_at)


def _sent(checkout: Checkout) -> list[int]:
    sent = Transfer.objects.filter(deposit__nonce=checkout.deposit_nonce, mode=checkout.mode)
    return list(sent.order_by("pk").values_list("pk", flat=True))


def _send(step: TestStep, kind: StepKind, now: datetime) -> int:
    """Write the simulated transfer of a paying step; return its id."""
    checkout = step.checkout
    payable = [name for name, offer in checkout.offers.items() if offer["address"]]
    chain = min(payable, key=lambda name: chain_spec(name).priority)
    token = checkout.offers[chain]["tokens"][0]
    address = checkout.offers[chain]["address"]
    deposit = DepositAddress.objects.get(key=evm_key(address))
    # The block time is when the step was due, so that a step played after our outage is not late.
    is_late = kind == StepKind.PAY_LATE
    mined_at = checkout.expires_at + _JUST_LATE if is_late else step.due_at
    transfer = NewTransfer(
        chain=chain,
        tx_hash=f"0x{secrets.token_hex(32)}",
        position=0,
        token=token,
        token_address=chain_spec(chain).tokens[token].address,
        units=to_units(amount_of(kind, checkout.amount)),
        sender=f"0x{secrets.token_hex(20)}",
        recipient=address,
        deposit_id=deposit.pk,
        merchant_id=checkout.merchant_id,
        mode=checkout.mode,
        block_height=0,
        block_hash="simulated",
        block_time=mined_at,
    )
    [pk] = record_transfers([transfer], now=now)
    return pk
