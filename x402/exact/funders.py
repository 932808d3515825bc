"""Whether a payer belongs to those whose payments just failed: the same account, or one that the same account funded.

Whoever lets payments fail on purpose fills many accounts from one. Nodes are asked only while a merchant's payers fail.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from threading import Lock
from typing import Final

from cachetools import TTLCache
from django.db.models import Q

from accounts.states import Mode
from wallets.chains.base import ChainError
from x402.exact.inputs import StandardRequest
from x402.exact.shares import FailedCosts, StrangersFailedError
from x402.models import Authorization
from x402.states import AuthorizationState

FundedBy = Callable[[str], str]
"""Returns the account that last sent a payer the token, within about an hour; "" if none did. Raises ChainError."""

STRANGERS_PART: Final = 2
"""Strangers are let through until a day's failures cost this fraction of the merchant's share."""

_HOUR: Final = timedelta(hours=1)
_MOST_COMPARED: Final = 20
_MOST_READ: Final = 200

_known: Final[TTLCache[tuple[int, str, str, str], str]] = TTLCache(10_000, 600.0)
_lock: Final = Lock()


@dataclass(frozen=True, slots=True)
class Stranger:
    """The payer of a payment of this merchant, and how to ask who funded an account."""

    merchant_id: int
    request: StandardRequest
    funded_by: FundedBy

    def refuse_related(self, costs: FailedCosts, share: Decimal, *, now: datetime) -> None:
        """Raise StrangersFailedError if the payer is related to those that just failed, or failures cost much of the share."""
        if (costs.day + costs.open) * STRANGERS_PART > share:
            raise StrangersFailedError("failures cost half of the merchant's share")
        payer = self.request.signed.payer
        failed = _failed_payers(self.merchant_id, self.request, now)
        try:
            own = self._circle(payer)
            related = payer in failed or any(own & self._circle(one) for one in failed)
        except ChainError as error:
            raise StrangersFailedError("no node says who funded a payer") from error
        if related:
            raise StrangersFailedError("payments of a related payer failed just now")

    def _circle(self, payer: str) -> set[str]:
        key = (self.merchant_id, self.request.spec.name, self.request.token, payer)
        with _lock:
            funder = _known.get(key)
        if funder is None:
            funder = self.funded_by(payer)
            with _lock:
                _known[key] = funder
        return {payer, funder} - {""}


def _failed_payers(merchant_id: int, request: StandardRequest, now: datetime) -> Sequence[str]:
    """Return the payers whose payments to a merchant failed at our cost within an hour, the newest first."""
    rows = Authorization.objects.filter(
        Q(transaction__isnull=False) | Q(network_fee__gt=0),
        mode=Mode.LIVE,
        merchant=merchant_id,
        chain=request.spec.name,
        state=AuthorizationState.FAILED,
        created_at__gt=now - _HOUR,
    )
    payers = rows.order_by("-created_at").values_list("payer", flat=True)[:_MOST_READ]
    return list(dict.fromkeys(payers))[:_MOST_COMPARED]
