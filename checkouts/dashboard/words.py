"""What the merchant's pages call statuses and what test checkouts do."""

from types import MappingProxyType
from typing import Final

from checkouts.states import CheckoutException, CheckoutStatus, TestScenario
from wallets.states import TransferState
from webhooks.dashboard.words import Badge

_STATUSES: Final = MappingProxyType(
    {
        CheckoutStatus.PENDING: Badge("Pending", ""),
        CheckoutStatus.PROCESSING: Badge("Confirming", "info"),
        CheckoutStatus.UNDERPAID: Badge("Underpaid", "warn"),
        CheckoutStatus.COMPLETED: Badge("Completed", "ok"),
        CheckoutStatus.EXPIRED: Badge("Expired", ""),
    }
)
_EXCEPTIONS: Final = MappingProxyType(
    {
        (CheckoutStatus.COMPLETED, CheckoutException.OVERPAID): Badge("Overpaid", "ok"),
        (CheckoutStatus.COMPLETED, CheckoutException.REVERSED): Badge(
            "Reversed", "bad"
        ),
        (CheckoutStatus.EXPIRED, CheckoutException.UNDERPAID): Badge(
            "Expired, part paid", "warn"
        ),
    }
)
# What a tab is called; the processing status is shown as what it means.
TABS: Final = (
    ("", "All"),
    (CheckoutStatus.PENDING, "Pending"),
    (CheckoutStatus.PROCESSING, "Confirming"),
    (CheckoutStatus.UNDERPAID, "Underpaid"),
    (CheckoutStatus.COMPLETED, "Completed"),
    (CheckoutStatus.EXPIRED, "Expired"),
)
TRANSFERS: Final = MappingProxyType(
    {
        TransferState.DETECTED: Badge("Confirming", "info"),
        TransferState.CONFIRMED: Badge("Confirmed", "ok"),
        TransferState.ORPHANED: Badge("Taken back", "bad"),
    }
)
SCENARIOS: Final = MappingProxyType(
    {
        TestScenario.COMPLETED: "Paid in full after five seconds",
        TestScenario.UNDERPAID: "Half is paid",
        TestScenario.OVERPAID: "Twice the price is paid",
        TestScenario.LATE: "Expires, then the money comes",
        TestScenario.EXPIRED: "Expires and nothing comes",
        TestScenario.REORG: "Paid, taken back by the network, and paid again",
    }
)


def status_badge(status: str, exception: str) -> Badge:
    """Return the word for where a checkout stands, its exception told where there is one."""
    unusual = _EXCEPTIONS.get((CheckoutStatus(status), CheckoutException(exception)))
    return unusual or _STATUSES[CheckoutStatus(status)]
