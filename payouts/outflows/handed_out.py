"""What lists, files and calls asked a wallet to pay, also to addresses that their payouts no longer have: they can be paid for ever."""

import json

from django.db.models import Q

from payouts.models import PayoutRequest
from payouts.outflows.matching import CLOCKS_DIFFER, SECOND_SEND
from payouts.states import ENDING
from wallets.models import WatchedMovement
from wallets.states import Direction, WatchPurpose


def stored_line(address: str, units: int) -> bytes:
    """Return what is stored of a payout that was handed out: where it goes, in canonical form, and its base units."""
    return json.dumps({"address": address, "units": str(units)}).encode()


def handed_elsewhere(movement: WatchedMovement) -> list[int]:
    """Return the keys of payouts that were handed out to be paid exactly as this outflow is, and that go elsewhere since.

    The oldest is first. Only what no deadline ends counts, for as long after its batch as a second send does. The movement's wallet
    is loaded.
    """
    if movement.direction != Direction.OUT or movement.wallet.purpose != WatchPurpose.LIST:
        return []
    place = {"chain": movement.chain, "token": movement.token}
    asked = PayoutRequest.objects.filter(
        Q(batch__closed_at=None) | Q(batch__closed_at__gte=movement.block_time - SECOND_SEND),
        raw=stored_line(movement.counterparty, int(movement.units)),
        batch__created_at__lte=movement.block_time + CLOCKS_DIFFER,
        **{f"batch__{name}": value for name, value in place.items()},
        batch__merchant=movement.merchant_id,
        batch__mode=movement.mode,
    ).exclude(batch__method__in=ENDING)
    here = {f"payout__{name}": value for name, value in (place | {"address": movement.counterparty}).items()}
    return list(asked.exclude(**here).order_by("payout").values_list("payout", flat=True).distinct())
