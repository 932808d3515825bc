"""After a restore: records it, notifies merchants, recovers lost addresses, rescans blocks, and lists who has access."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import F, Func, Q, Value
from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import ApiKey, Membership, Merchant
from accounts.states import Mode
from accounts.team.service import mail_owners
from checkouts.models import Checkout, Terminal
from gateway.core import json
from gateway.core.money import format_units
from gateway.core.restores import LONGEST_CHECKOUT, Restore
from gateway.core.secrets import derivations
from gateway.core.times import iso
from payouts.approvals.service import void_approvals
from payouts.models import Payout
from payouts.outflows.lost_outflows import lost_outflows
from payouts.states import PayoutStatus
from settlements.gas.ledger import forget_nonces
from wallets.chains.base import ChainError
from wallets.chains.family import ChainSpec
from wallets.forwarders.addresses import deposit_key
from wallets.models import ChainCursor, DepositAddress, ReceivingWallet, WalletChange
from wallets.networks import chain_spec, decimals_of, watched_chains
from wallets.reconciliation.rescan import RescanError, Say, rescan
from wallets.watchers.demand import WATCH_AFTER_EXPIRY
from webhooks.models import EventCounter
from webhooks.outbox.events import NewEvent, publish

YOUNGER = "  (younger than the lost time)"

_LIVE_ID: Final = re.compile(r"chk_live_[0-9a-z]{26}")
# Margins of the height to rescan from: clocks differ, and blocks sometimes come faster than their nominal pace.
_TIME_MARGIN: Final = timedelta(hours=1)
_PACE_MARGIN: Final = 2

RESTORED: Final = "gateway.restored"
SEQUENCES_SKIPPED: Final = 1_000_000
"""The gap in event sequence numbers after a restore, so that new numbers are above those of lost events."""

_MAIL_TEXT: Final = pgettext_lazy(
    "team",
    """We restored our database from a backup. What happened from {lost_from:%Y-%m-%d %H:%M} to
{restored_at:%Y-%m-%d %H:%M} UTC may be missing.

Payments to checkouts that we still have are found on the chains again and credited. Your server may be told of some a
second time: compare checkouts by their id.

Checkouts that you made in that time are lost. Money that comes for them goes to your inbox. Send us the ids of such
checkouts, so that we find their addresses again.

Refunds and payouts that are not paid must be approved again. One that your wallet has sent in that time is found on its chain.

Please look at five things in the dashboard, because changes that you made in that time are undone:
- API keys: revoke again what you had revoked.
- Team: remove again whom you had removed.
- Passwords and second factors: change again what each person had changed, and log out sessions that you do not know.
- Receiving wallets: check that each address is yours.
- Terminals: revoke again what you had revoked, and pair again what you had paired.

{url}/dashboard/
""",
)


@transaction.atomic
def note_restore(lost_from: datetime, *, now: datetime) -> bool:
    """Record that everything from `lost_from` on may be missing; return False if that was recorded already.

    From now on gas accounts wait until nodes agree on their next nonces, exact amounts come from a reserved set, a price
    alone matches no checkout, unpaid payouts need new approvals, and event numbers begin above the lost ones. Owners get a mail, and endpoints an event.
    """
    hold = timedelta(hours=settings.EXACT_AMOUNT_HOLD_HOURS)
    restore, is_new = Restore.objects.get_or_create(
        lost_from=lost_from,
        defaults={
            "restored_at": now,
            "amounts_until": now + LONGEST_CHECKOUT + hold,
            "unread": [spec.name for spec in watched_chains()],
        },
    )
    if is_new:
        forget_nonces()
        void_approvals(now=now)
        record(
            None,
            action=RESTORED,
            now=now,
            actor=Actor(label="manage.py after_restore"),
            after={"lost_from": iso(lost_from)},
        )
        _tell_merchants(restore, now)
    return is_new


def _tell_merchants(restore: Restore, now: datetime) -> None:
    merchants = list(Merchant.objects.filter(closed_at=None).order_by("pk"))
    text = format_lazy(_MAIL_TEXT, lost_from=restore.lost_from, restored_at=restore.restored_at, url=settings.BASE_URL)
    for merchant in merchants:
        mail_owners(
            merchant.pk,
            key=f"restored:{merchant.public_id}:{iso(restore.lost_from)}",
            subject=pgettext_lazy("team", "Please check your account: we restored a backup"),
            text=text,
            now=now,
        )
    EventCounter.objects.update(value=F("value") + SEQUENCES_SKIPPED)
    publish([_event(merchant, mode, restore) for merchant in merchants for mode in Mode], now=now)


def _event(merchant: Merchant, mode: Mode, restore: Restore) -> NewEvent:
    what = {"lost_from": iso(restore.lost_from), "restored_at": iso(restore.restored_at)}
    return NewEvent(
        merchant_id=merchant.pk,
        mode=mode,
        type=RESTORED,
        subject_id="",
        occurrence=f"{RESTORED}:{merchant.public_id}:{mode}:{iso(restore.lost_from)}",
        data=json.dumps(what),
    )


def recover_addresses(merchant: Merchant, public_ids: Iterable[str], *, now: datetime) -> int:
    """Recover the deposit addresses of a merchant's lost checkouts, so that they are watched; return how many are new.

    An address follows from the id, our keys and the merchant's wallet. If a wallet or a key was changed, several possible
    addresses are watched for an id; the wrong ones receive no payments. Ids of test mode and of checkouts that are here are
    passed over. Raises ValueError for an invalid id.
    """
    wallets = ReceivingWallet.objects.of_checkouts().filter(merchant=merchant)
    destinations = {bytes(wallet.key) for wallet in wallets if not chain_spec(wallet.chain).exact_amount_required}
    rows = [
        DepositAddress(
            key=deposit_key(destination, nonce),
            destination=destination,
            nonce=nonce,
            merchant=merchant,
            mode=Mode.LIVE,
            created_at=now,
            watched_until=now + LONGEST_CHECKOUT + WATCH_AFTER_EXPIRY,
        )
        for public_id in _lost_ids(public_ids)
        for nonce in derivations(f"deposit:{public_id}")
        for destination in sorted(destinations)
    ]
    before = DepositAddress.objects.count()
    DepositAddress.objects.bulk_create(rows, ignore_conflicts=True)
    return DepositAddress.objects.count() - before


def _lost_ids(public_ids: Iterable[str]) -> list[str]:
    wanted = dict.fromkeys(public_ids)
    strange = [one for one in wanted if not one.startswith("chk_test_")]
    strange = [one for one in strange if not _LIVE_ID.fullmatch(one)]
    if strange:
        raise ValueError(f"{strange[0]!r} is no checkout's id.")
    known = Checkout.objects.filter(public_id__in=wanted)
    here = set(known.values_list("public_id", flat=True))
    return [one for one in wanted if one not in here and _LIVE_ID.fullmatch(one)]


def rescan_chains(lost_from: datetime, *, now: datetime, say: Say) -> list[str]:
    """Rescan every chain that has a node, from an hour before the loss to its cursor; return the errors.

    Watchers continue from the cursor. Payouts wait for a chain until it was read without an error.
    """
    failures = []
    for spec in watched_chains():
        found = _reread(spec, lost_from, now=now, say=say)
        failures += [f"{spec.title}: {one}" for one in found]
        if not found:
            _note_read(spec.name, lost_from)
    return failures


def _reread(spec: ChainSpec, lost_from: datetime, *, now: datetime, say: Say) -> Sequence[str]:
    """Rescan a chain, if it was ever read; return the errors."""
    cursor = ChainCursor.objects.filter(chain=spec.name).first()
    if cursor is None or cursor.height is None:
        return []
    first = _height_before(cursor, spec, lost_from)
    try:
        found = rescan(spec, first=first, last=None, now=now, say=say)
    except (RescanError, ChainError) as error:
        return [str(error)]
    say(f"{spec.name}: {len(found.new)} transfers were new")
    return found.failures


def _note_read(chain: str, lost_from: datetime) -> None:
    """Note that a chain was read again from a time on, for the restore of that time and for those that lost less."""
    later = Restore.objects.filter(lost_from__gte=lost_from, unread__contains=[chain])
    later.update(unread=Func(F("unread"), Value(chain), function="array_remove"))


def _height_before(cursor: ChainCursor, spec: ChainSpec, moment: datetime) -> int:
    """Return a height certainly reached before a time, estimated from the newest block's time and the pace of blocks."""
    height = cursor.height or 0
    newest = cursor.head_time or moment
    since = max(newest - moment, timedelta()) + _TIME_MARGIN
    blocks = int(since.total_seconds() / spec.block_seconds * _PACE_MARGIN)
    return max(height - blocks, cursor.first_height or 0, 0)


def payout_lines(lost_from: datetime) -> Iterator[str]:
    """Yield a line for each live payout that was in flight, grouped by merchant: what is known of it now."""
    unpaid = Q(status__in=(PayoutStatus.REQUESTED, PayoutStatus.APPROVED, PayoutStatus.SENDING))
    found = Q(status=PayoutStatus.PAID, movement__block_time__gte=lost_from - _TIME_MARGIN, paid_at__gte=lost_from)
    rows = Payout.objects.filter(unpaid | found, mode=Mode.LIVE).select_related("merchant", "movement")
    last = 0
    for payout in rows.order_by("merchant", "pk"):
        if payout.merchant_id != last:
            yield _named(payout.merchant.name, payout.merchant.public_id)
        last = payout.merchant_id
        amount = format_units(int(payout.units), decimals_of(payout.chain, payout.token))
        what = f"{payout.kind} {payout.public_id} {amount} {payout.token} {payout.chain} {payout.address}"
        yield _marked(f"  {what}: {_known_of(payout)}", payout.created_at, lost_from)


def _known_of(payout: Payout) -> str:
    if payout.movement is not None:
        how = "paid" if payout.status == PayoutStatus.PAID else "on its way"
        return f"{how}, found as {payout.movement.tx_hash}"
    if payout.status == PayoutStatus.SENDING:
        return "was handed out, no payment found"
    if lost := lost_outflows(payout):
        return f"a person decides whether {lost[0].tx_hash} paid it"
    return (
        "no payment found, waits for approval"
        if payout.status == PayoutStatus.REQUESTED
        else "no payment found, approved"
    )


def access_lines(lost_from: datetime) -> Iterator[str]:
    """Yield a line for each API key, terminal, person, receiving wallet and pending wallet change, grouped by merchant."""
    lines = [*_key_lines(lost_from), *_terminal_lines(lost_from), *_people_lines(lost_from), *_wallet_lines(lost_from)]
    lines += _change_lines(lost_from)
    last = ""
    for merchant, line in sorted(lines, key=lambda pair: pair[0]):
        if merchant != last:
            yield merchant
        last = merchant
        yield f"  {line}"


def _key_lines(lost_from: datetime) -> Iterator[tuple[str, str]]:
    alive = ApiKey.objects.filter(revoked_at=None).select_related("merchant")
    for key in alive.order_by("pk"):
        # A key that was narrowed, or set to expire, since the backup may do again what it could then.
        ends = f"expires {key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at else "does not expire"
        line = f"API key {key.public_id} {key} {key.name}".rstrip() + f", {ends}, may: {' '.join(key.scopes)}"
        merchant = _named(key.merchant.name, key.merchant.public_id)
        yield merchant, _marked(line, key.created_at, lost_from)


def _terminal_lines(lost_from: datetime) -> Iterator[tuple[str, str]]:
    # One that was revoked since the backup sells again, if its device is still paired.
    alive = Terminal.objects.filter(revoked_at=None).select_related("merchant")
    for terminal in alive.order_by("pk"):
        at = terminal.paired_at if terminal.digest else None
        device = f"paired {at:%Y-%m-%d %H:%M}" if at else "no device"
        line = f"terminal {terminal.public_id} {terminal.name}, {terminal.mode}, {device}"
        yield _named(terminal.merchant.name, terminal.merchant.public_id), _marked(line, terminal.created_at, lost_from)


def _people_lines(lost_from: datetime) -> Iterator[tuple[str, str]]:
    seats = Membership.objects.filter(user__is_active=True)
    for seat in seats.select_related("merchant", "user").order_by("pk"):
        line = f"{seat.role} {seat.user.email}"
        merchant = _named(seat.merchant.name, seat.merchant.public_id)
        yield merchant, _marked(line, seat.created_at, lost_from)


def _wallet_lines(lost_from: datetime) -> Iterator[tuple[str, str]]:
    present = ReceivingWallet.objects.filter(retired_at=None)
    for wallet in present.select_related("merchant").order_by("pk"):
        line = f"receiving wallet {wallet.chain} {wallet.address} ({wallet.purpose})"
        merchant = _named(wallet.merchant.name, wallet.merchant.public_id)
        yield merchant, _marked(line, wallet.created_at, lost_from)


def _change_lines(lost_from: datetime) -> Iterator[tuple[str, str]]:
    waiting = WalletChange.objects.filter(WalletChange.OPEN)
    for change in waiting.select_related("merchant").order_by("pk"):
        line = f"waiting wallet change {change.chain} {change.address}, due {change.effective_at:%Y-%m-%d %H:%M}"
        merchant = _named(change.merchant.name, change.merchant.public_id)
        yield merchant, _marked(line, change.requested_at, lost_from)


def _named(name: str, public_id: str) -> str:
    return f"{name} ({public_id})"


def _marked(line: str, at: datetime, lost_from: datetime) -> str:
    return line + YOUNGER if at >= lost_from else line
