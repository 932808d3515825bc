"""The chains after a restore: recovers the addresses of lost checkouts, and rescans blocks from before the loss."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout
from gateway.core.restores import LONGEST_CHECKOUT
from gateway.core.secrets import derivations
from wallets.chains.base import ChainError
from wallets.chains.specs import ChainSpec
from wallets.forwarders.addresses import deposit_key
from wallets.models import ChainCursor, DepositAddress, ReceivingWallet
from wallets.networks import chains, watched_chains
from wallets.reconciliation.rescan import RescanError, Say, rescan
from wallets.watchers.demand import WATCH_AFTER_EXPIRY

_LIVE_ID: Final = re.compile(r"chk_live_[0-9a-z]{26}")
_EARLIER: Final = timedelta(hours=1)
# A margin, because blocks sometimes come faster than their nominal pace.
_CROWDED: Final = 2


def recover_addresses(merchant: Merchant, public_ids: Iterable[str], *, now: datetime) -> int:
    """Recover the deposit addresses of a merchant's lost checkouts, so that they are watched; return how many are new.

    An address follows from the id, our keys and the merchant's wallet. If a wallet or a key was changed, several possible
    addresses are watched for an id; the wrong ones receive no payments. Ids of test mode and of checkouts that are here are
    passed over. Raises ValueError for an invalid id.
    """
    wallets = ReceivingWallet.objects.of_checkouts().filter(merchant=merchant)
    destinations = {bytes(wallet.key) for wallet in wallets if not chains()[wallet.chain].exact_amount_required}
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
        for public_id in _lost(public_ids)
        for nonce in derivations(f"deposit:{public_id}")
        for destination in sorted(destinations)
    ]
    before = DepositAddress.objects.count()
    DepositAddress.objects.bulk_create(rows, ignore_conflicts=True)
    return DepositAddress.objects.count() - before


def _lost(public_ids: Iterable[str]) -> list[str]:
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

    Watchers continue from the cursor.
    """
    failures = []
    for spec in watched_chains():
        cursor = ChainCursor.objects.filter(chain=spec.name).first()
        if cursor is None or cursor.height is None:
            continue
        first = _height_before(cursor, spec, lost_from)
        try:
            found = rescan(spec, first=first, last=None, now=now, say=say)
        except (RescanError, ChainError) as error:
            failures.append(f"{spec.title}: {error}")
            continue
        say(f"{spec.name}: {len(found.new)} transfers were new")
        failures += [f"{spec.title}: {one}" for one in found.failures]
    return failures


def _height_before(cursor: ChainCursor, spec: ChainSpec, moment: datetime) -> int:
    """Return a height certainly reached before a time, estimated from the newest block's time and the pace of blocks."""
    height = cursor.height or 0
    newest = cursor.head_time or moment
    since = max(newest - moment, timedelta()) + _EARLIER
    blocks = int(since.total_seconds() / spec.block_seconds * _CROWDED)
    return max(height - blocks, cursor.first_height or 0, 0)
