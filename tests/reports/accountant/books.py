"""Random books of a merchant: payments, refunds, payouts, reversals and fees around the borders of months."""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from accounts.models import Merchant
from accounts.states import Mode
from payouts.models import Payout
from payouts.states import PayoutKind, PayoutStatus
from tests.accounts.fee_entries import charged
from tests.dashboard.machines import of_transfer
from tests.payouts.factories import BUYER
from tests.reports.takings import earn, receive
from tests.wallets.days import make_movement, make_watched
from wallets.models import Transfer, WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState, WatchPurpose
from x402.models import X402Payment

FIRST: Final = datetime(2026, 9, 1, tzinfo=UTC)
_HOURS: Final = 24 * 91
_STATES: Final = ("confirmed", "confirmed", "confirmed", "taken back", "never final", "not final yet")


class RandomBooks:
    """Does anything that may stand in a merchant's books of September to November 2026."""

    def __init__(self, merchant: Merchant, seed: int) -> None:
        self.merchant = merchant
        self._random = Random(seed)
        self._own = make_watched(merchant)
        self._deeds: tuple[Callable[[], Any], ...] = (
            self._earn,
            self._earn,
            self._machine,
            self._receive,
            self._move,
            self._pay_out,
            self._pay_out,
            self._pay_elsewhere,
            self._note,
        )

    def fill(self, deeds: int) -> None:
        """Do so many things."""
        for _ in range(deeds):
            self._random.choice(self._deeds)()

    def _moment(self) -> datetime:
        # Near the borders of months more often than not.
        if self._random.random() < 0.6:
            border = self._random.choice((datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)))
            return border + timedelta(minutes=self._random.randrange(-900, 900))
        return FIRST + timedelta(hours=self._random.randrange(24, _HOURS - 24), seconds=self._random.randrange(3600))

    def _units(self) -> int:
        return self._random.randrange(1, 10 ** self._random.randrange(2, 12))

    def _facts(self) -> dict[str, Any]:
        """When it came and what became of it."""
        at, state = self._moment(), self._random.choice(_STATES)
        if state == "not final yet":
            return {"block_time": at, "state": TransferState.DETECTED, "confirmed_at": None}
        final_at = at + timedelta(minutes=5)
        if state == "confirmed":
            return {"block_time": at, "state": TransferState.CONFIRMED, "confirmed_at": final_at}
        gone_at = min(at + timedelta(hours=self._random.randrange(1, 24 * 20)), FIRST + timedelta(hours=_HOURS - 1))
        was_final = final_at if state == "taken back" else None
        return {"block_time": at, "state": TransferState.ORPHANED, "confirmed_at": was_final, "orphaned_at": gone_at}

    def _money(self) -> dict[str, str]:
        chain, token = self._random.choice((("base", "USDC"), ("polygon", "USDT"), ("base", "DAI")))
        return {"chain": chain, "token": token}

    def _earn(self) -> Transfer:
        facts = self._facts()
        transfer = earn(self.merchant, self._units(), **self._money(), **facts)
        completed_at = facts["block_time"] + timedelta(minutes=self._random.randrange(1, 60))
        charged(
            self.merchant,
            str(self._random.randrange(1, 10**6)),
            subject_id=transfer.payment.checkout.public_id,
            at=completed_at,
            voided_at=facts.get("orphaned_at"),
        )
        return transfer

    def _machine(self) -> X402Payment:
        payment = of_transfer(receive(self.merchant, self._units(), **self._money(), **self._facts()))
        charged(self.merchant, kind="x402", subject_id=payment.public_id, at=self._moment())
        return payment

    def _receive(self) -> Transfer:
        return receive(self.merchant, self._units(), **self._money(), **self._facts())

    def _move(self) -> WatchedMovement:
        facts = self._facts()
        direction = self._random.choice(list(Direction))
        is_payment = direction == Direction.IN and self._random.random() < 0.3
        return self._movement(self._own, direction=direction, is_payment=is_payment, **facts)

    def _movement(self, wallet: WatchedWallet, **facts: Any) -> WatchedMovement:
        return make_movement(wallet, self._units(), **({"token": self._random.choice(("USDC", "DAI"))} | facts))

    def _pay_out(self) -> Payout:
        movement = self._movement(self._own, direction=Direction.OUT, counterparty=BUYER, **self._facts())
        if self._random.random() < 0.3:
            # Recorded at the recipient first, and by the wallet's history since.
            shadow = make_watched(self.merchant, purpose=WatchPurpose.PAYOUT)
            same = ("tx_hash", "position", "token", "block_time", "state", "confirmed_at", "orphaned_at")
            values = {name: getattr(movement, name) for name in same}
            return self._payout(make_movement(shadow, int(movement.units), direction=Direction.IN, **values))
        return self._payout(movement)

    def _pay_elsewhere(self) -> Payout:
        wallet = make_watched(self.merchant, purpose=WatchPurpose.PAYOUT)
        return self._payout(self._movement(wallet, direction=Direction.IN, **self._facts()))

    def _payout(self, movement: WatchedMovement) -> Payout:
        return self._made(
            units=movement.units,
            token=movement.token,
            movement=movement,
            paid_at=movement.confirmed_at or movement.block_time,
        )

    def _note(self) -> Payout:
        noted = f"0x{secrets.token_hex(32)}"
        return self._made(units=self._units(), token="USDC", imported_tx=noted, paid_at=self._moment())

    def _made(self, **values: Any) -> Payout:
        return Payout.objects.create(
            public_id=f"po_live_{secrets.token_hex(12)}",
            merchant=self.merchant,
            mode=Mode.LIVE,
            kind=self._random.choice(list(PayoutKind)),
            status=PayoutStatus.PAID,
            chain="base",
            address=BUYER,
            reason="Wrong size",
            **values,
        )
