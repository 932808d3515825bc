"""Random histories of transfers and of watched movements, and what they add up to, summed up by plain Python."""

import secrets
from collections import Counter
from datetime import UTC, timedelta
from random import Random
from typing import Any

from accounts.models import Merchant
from checkouts.models import Checkout
from gateway.core.daily_totals import fold_all
from tests.checkouts.watcher import Watcher
from tests.factories import NOON, USDC_ON_BASE, make_checkout, make_merchant
from wallets.forwarders.addresses import checksum
from wallets.models import Transfer, TransferClaim, TransferDay, WatchedDay, WatchedMovement, WatchedWallet
from wallets.states import ClaimKind, Direction, TransferState

Sums = dict[tuple[Any, ...], tuple[int, int]]


def make_watched(merchant: Merchant | None = None, address: str | None = None, **overrides: Any) -> WatchedWallet:
    """A watched wallet on Base."""
    address = address or checksum(secrets.token_bytes(20))
    return WatchedWallet.objects.create(
        merchant=merchant or make_merchant(),
        address=address,
        key=bytes.fromhex(address[2:]),
        **({"mode": "live", "chain": "base"} | overrides),
    )


def make_movement(wallet: WatchedWallet, units: int = 5_000_000, **overrides: Any) -> WatchedMovement:
    """A final movement into a watched wallet, a minute after noon."""
    values: dict[str, Any] = {
        "direction": Direction.IN,
        "tx_hash": f"0x{secrets.token_hex(32)}",
        "position": 0,
        "token": "USDC",
        "token_address": USDC_ON_BASE,
        "counterparty": f"0x{secrets.token_hex(20)}",
        "block_height": 100,
        "block_hash": "0x" + "ab" * 32,
        "block_time": NOON + timedelta(minutes=1),
        "state": TransferState.CONFIRMED,
        "detected_at": NOON,
        "confirmed_at": NOON,
    }
    return WatchedMovement.objects.create(
        wallet=wallet,
        merchant_id=wallet.merchant_id,
        mode=wallet.mode,
        chain=wallet.chain,
        units=units,
        **(values | overrides),
    )


class History:
    """Does anything that can happen to transfers and movements, in any order."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._checkouts: list[Checkout] = [make_checkout() for _ in range(3)]
        self._wallets = [make_watched() for _ in range(2)]
        self._watchers = [Watcher(chain) for chain in ("base", "polygon")]
        self._deeds = (
            self._see,
            self._see,
            self._confirm,
            self._lose,
            self._find_again,
            self._claim,
            self._queue,
            self._move,
            self._move,
            self._change_movement,
            self._forget,
            fold_all,
        )

    def go_on(self) -> None:
        """Do one thing."""
        self._random.choice(self._deeds)()

    def _moment(self) -> Any:
        return NOON + timedelta(hours=self._random.randrange(-60, 60))

    def _units(self) -> int:
        return self._random.randrange(1, 10 ** self._random.randrange(1, 60))

    def _see(self) -> None:
        watcher = self._random.choice(self._watchers)
        count = self._random.randrange(1, 5)
        some = self._random.choices(self._checkouts, k=count)
        watcher.records(
            [
                watcher.transfer_to(one, self._units(), at=self._moment(), token=self._random.choice(("USDC", "USDT")))
                for one in some
            ]
        )

    def _confirm(self) -> None:
        self._random.choice(self._watchers).confirms()

    def _some(self, **facts: Any) -> Transfer | None:
        pks = list(Transfer.objects.filter(**facts).order_by("pk").values_list("pk", flat=True))
        return Transfer.objects.get(pk=self._random.choice(pks[-6:])) if pks else None

    def _lose(self) -> None:
        watcher = self._random.choice(self._watchers)
        if lost := self._some(chain=watcher.chain):
            watcher.loses(lost)

    def _find_again(self) -> None:
        watcher = self._random.choice(self._watchers)
        if back := self._some(chain=watcher.chain, state=TransferState.ORPHANED):
            watcher.finds_again(back, units=self._units(), block_time=self._moment())

    def _claim(self) -> None:
        if transfer := self._some(claim=None):
            kind = self._random.choice(list(ClaimKind))
            TransferClaim.objects.create(transfer=transfer, kind=kind, claimed_at=NOON)

    def _queue(self) -> None:
        Transfer.objects.update(queued_at=None, decided_at=NOON)

    def _move(self) -> None:
        make_movement(
            self._random.choice(self._wallets),
            self._units(),
            direction=self._random.choice(list(Direction)),
            state=self._random.choice(list(TransferState)),
            is_payment=self._random.random() < 0.3,
            block_time=self._moment(),
        )

    def _change_movement(self) -> None:
        WatchedMovement.objects.filter(state=TransferState.DETECTED).update(state=TransferState.CONFIRMED)
        first = WatchedMovement.objects.order_by("pk").first()
        if first:
            first.units, first.block_time = self._units(), self._moment()
            first.state = self._random.choice(list(TransferState))
            first.save()

    def _forget(self) -> None:
        WatchedMovement.objects.filter(state=TransferState.ORPHANED).delete()
        if transfer := self._some(claim__isnull=False):
            TransferClaim.objects.filter(transfer=transfer).delete()


def raw_sums() -> tuple[Sums, Sums]:
    """What the rows add up to: of transfers, and of watched movements."""
    counts: tuple[Counter[Any], Counter[Any]] = (Counter(), Counter())
    units: tuple[Counter[Any], Counter[Any]] = (Counter(), Counter())
    claims = dict(TransferClaim.objects.values_list("transfer_id", "kind"))
    for t in Transfer.objects.all():
        day, claim = t.block_time.astimezone(UTC).date(), claims.get(t.pk, "")
        place = (t.merchant_id, t.mode, day, t.chain, t.token, t.state, claim)
        counts[0][place] += 1
        units[0][place] += int(t.units)
    for m in WatchedMovement.objects.all():
        day = m.block_time.astimezone(UTC).date()
        key = (m.wallet_id, day, m.token, m.direction, m.state, m.is_payment)
        counts[1][key] += 1
        units[1][key] += int(m.units)
    return _paired(counts[0], units[0]), _paired(counts[1], units[1])


def kept_sums() -> tuple[Sums, Sums]:
    """What the kept days say."""
    found = []
    for model, keys in (
        (TransferDay, ("merchant_id", "mode", "day", "chain", "token", "state", "claim")),
        (WatchedDay, ("wallet_id", "day", "token", "direction", "state", "is_payment")),
    ):
        counts: Counter[Any] = Counter()
        units: Counter[Any] = Counter()
        for row in model.objects.all():
            key = tuple(getattr(row, name) for name in keys)
            counts[key] += row.count
            units[key] += int(row.units)
        found.append(_paired(counts, units))
    return found[0], found[1]


def _paired(counts: Counter[Any], units: Counter[Any]) -> Sums:
    return {key: (counts[key], units[key]) for key in counts | units if counts[key] or units[key]}
