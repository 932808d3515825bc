"""Plays payouts of test mode: simulated outflows, followed like real ones from the moment they are rows."""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef

from accounts.states import Mode
from gateway.core import json
from payouts.following.service import follow_movements
from payouts.models import Payout, PayoutStep
from payouts.states import PayoutScenario, PayoutStepKind
from wallets.chains.base import TokenTransfer
from wallets.models import WatchedMovement, WatchedWallet
from wallets.networks import chain_spec
from wallets.states import Direction
from wallets.transfers.movements import (
    NewMovement,
    confirm_simulated_movements,
    orphan_simulated_movements,
    record_movements,
)
from wallets.watched.service import expect_payouts

log = structlog.get_logger(__name__)

TICK: Final = timedelta(seconds=5)
"""From choosing a method to the first step, and from each step to the next."""

BATCH: Final = 100
_STEPS: Final[dict[PayoutScenario, tuple[PayoutStepKind, ...]]] = {
    PayoutScenario.PAID: (PayoutStepKind.SEND, PayoutStepKind.CONFIRM),
    PayoutScenario.NEVER: (),
    PayoutScenario.WRONG_AMOUNT: (PayoutStepKind.SEND_LESS, PayoutStepKind.CONFIRM),
    # Before it is final, and once more afterwards.
    PayoutScenario.REORG: (
        PayoutStepKind.SEND,
        PayoutStepKind.ORPHAN,
        PayoutStepKind.SEND,
        PayoutStepKind.CONFIRM,
        PayoutStepKind.ORPHAN,
    ),
}


def plan_outflows(payouts: Iterable[Payout], wallet: WatchedWallet, *, now: datetime) -> None:
    """Plan what becomes of test payouts that a wallet was asked to pay.

    Their `metadata` names the scenario as `test_scenario`; they are paid if it names none.
    """
    for payout in payouts:
        plan_outflow(payout, wallet, scenario=_scenario_of(payout), now=now)


def _scenario_of(payout: Payout) -> PayoutScenario:
    metadata = json.loads(payout.metadata.encode())
    wanted = metadata.get("test_scenario") if isinstance(metadata, dict) else None
    return PayoutScenario(wanted) if wanted in PayoutScenario.values else PayoutScenario.PAID


def plan_outflow(payout: Payout, wallet: WatchedWallet, *, scenario: PayoutScenario, now: datetime) -> None:
    """Plan what becomes of a test payout that was handed out to be paid from a wallet of test mode.

    A payout that was handed out before has one plan: the new one.
    """
    if payout.mode != Mode.TEST or wallet.mode != Mode.TEST:
        raise ValueError("only payouts of test mode are played")
    PayoutStep.objects.filter(payout=payout, done_at=None).delete()
    expect_payouts([wallet.pk], until=now)
    tx_hash = f"0x{secrets.token_hex(32)}"
    PayoutStep.objects.bulk_create(
        PayoutStep(payout=payout, wallet=wallet, kind=kind, tx_hash=tx_hash, due_at=now + TICK * number)
        for number, kind in enumerate(_STEPS[scenario], 1)
    )


def play_outflows(*, now: datetime) -> int:
    """Play every due step; return how many there were. A step is played once, by any worker."""
    total = 0
    while played := _play_batch(now):
        total += played
    return total


def _play_batch(now: datetime) -> int:
    with transaction.atomic():
        # A payout's steps run one by one: what an earlier one wrote must be committed and followed.
        earlier = PayoutStep.objects.filter(payout=OuterRef("payout"), done_at=None, pk__lt=OuterRef("pk"))
        queued = WatchedMovement.objects.filter(wallet=OuterRef("wallet"), queued_at__isnull=False)
        due = PayoutStep.objects.filter(~Exists(earlier), ~Exists(queued), done_at=None, due_at__lte=now)
        steps = list(
            due.order_by("due_at", "pk")
            .select_for_update(skip_locked=True, of=("self",))
            .select_related("payout", "wallet")[:BATCH]
        )
        played = [step.pk for step in steps if _plays(step, now)]
        PayoutStep.objects.filter(pk__in=played).update(done_at=now)
    if played:
        follow_movements(now=now)
    return len(played)


def _plays(step: PayoutStep, now: datetime) -> bool:
    """Play one step; an unexpected failure leaves it due and delays no other payout."""
    try:
        with transaction.atomic():
            _play(step, now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("test step not played", step=step.pk)
        return False
    return True


def _play(step: PayoutStep, now: datetime) -> None:
    sent = WatchedMovement.objects.filter(wallet=step.wallet_id, tx_hash=step.tx_hash, direction=Direction.OUT)
    ids = list(sent.values_list("pk", flat=True))
    match PayoutStepKind(step.kind):
        case PayoutStepKind.SEND | PayoutStepKind.SEND_LESS as kind:
            _send(step, kind, now)
        case PayoutStepKind.CONFIRM:
            confirm_simulated_movements(ids, now=now)
        case PayoutStepKind.ORPHAN:
            orphan_simulated_movements(ids, now=now)


def _send(step: PayoutStep, kind: PayoutStepKind, now: datetime) -> None:
    """Write the simulated outflow, or revive it in another block."""
    payout, wallet = step.payout, step.wallet
    spec = chain_spec(payout.chain)
    units = int(payout.units)
    told = TokenTransfer(
        chain=payout.chain,
        tx_hash=step.tx_hash,
        position=0,
        token=payout.token,
        token_address=spec.tokens[payout.token].address,
        # As an exchange that takes its fee from it; of the least amount, more.
        units=units if kind is PayoutStepKind.SEND else units - max(units // 100, 1) or units + 1,
        sender=wallet.address,
        sender_key=bytes(wallet.key),
        recipient=payout.address,
        recipient_key=spec.family.address_key(payout.address),
        block_height=0,
        block_hash=f"simulated {step.pk}",
        # When the step was due, so that a step played after our outage is not late.
        block_time=step.due_at,
    )
    record_movements([NewMovement(wallet.pk, wallet.merchant_id, Direction.OUT, told, Mode.TEST)], now=now)
