"""Lists who and what has access after a restore, for review: revocations in the lost time may be missing."""

from collections.abc import Iterator
from datetime import datetime

from accounts.models import ApiKey, Membership
from wallets.models import ReceivingWallet, WalletChange

YOUNGER = "  (younger than the lost time)"


def access_lines(lost_from: datetime) -> Iterator[str]:
    """Yield a line for each API key, person, receiving wallet and pending wallet change, grouped by merchant."""
    lines = [*_keys(lost_from), *_people(lost_from), *_wallets(lost_from)]
    lines += _changes(lost_from)
    last = ""
    for merchant, line in sorted(lines, key=lambda pair: pair[0]):
        if merchant != last:
            yield merchant
        last = merchant
        yield f"  {line}"


def _named(name: str, public_id: str) -> str:
    return f"{name} ({public_id})"


def _marked(line: str, at: datetime, lost_from: datetime) -> str:
    return line + YOUNGER if at >= lost_from else line


def _keys(lost_from: datetime) -> Iterator[tuple[str, str]]:
    alive = ApiKey.objects.filter(revoked_at=None).select_related("merchant")
    for key in alive.order_by("pk"):
        line = f"API key {key.public_id} {key} {key.name}".rstrip()
        merchant = _named(key.merchant.name, key.merchant.public_id)
        yield merchant, _marked(line, key.created_at, lost_from)


def _people(lost_from: datetime) -> Iterator[tuple[str, str]]:
    seats = Membership.objects.filter(user__is_active=True)
    for seat in seats.select_related("merchant", "user").order_by("pk"):
        line = f"{seat.role} {seat.user.email}"
        merchant = _named(seat.merchant.name, seat.merchant.public_id)
        yield merchant, _marked(line, seat.created_at, lost_from)


def _wallets(lost_from: datetime) -> Iterator[tuple[str, str]]:
    present = ReceivingWallet.objects.filter(retired_at=None)
    for wallet in present.select_related("merchant").order_by("pk"):
        line = f"receiving wallet {wallet.chain} {wallet.address} ({wallet.purpose})"
        merchant = _named(wallet.merchant.name, wallet.merchant.public_id)
        yield merchant, _marked(line, wallet.created_at, lost_from)


def _changes(lost_from: datetime) -> Iterator[tuple[str, str]]:
    waiting = WalletChange.objects.filter(WalletChange.OPEN)
    for change in waiting.select_related("merchant").order_by("pk"):
        line = f"waiting wallet change {change.chain} {change.address}, due {change.effective_at:%Y-%m-%d %H:%M}"
        merchant = _named(change.merchant.name, change.merchant.public_id)
        yield merchant, _marked(line, change.requested_at, lost_from)
