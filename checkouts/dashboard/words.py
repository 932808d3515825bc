"""Labels of statuses and test scenarios on the merchant's pages."""

from types import MappingProxyType
from typing import Final

from checkouts.rows import AnyCheckout
from checkouts.states import CheckoutException, CheckoutStatus, TestScenario
from gateway.core.web.badges import Badge
from wallets.states import TransferState

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
        (CheckoutStatus.COMPLETED, CheckoutException.REVERSED): Badge("Reversed", "bad"),
        (CheckoutStatus.EXPIRED, CheckoutException.UNDERPAID): Badge("Expired, part paid", "warn"),
    }
)
# Tab labels; the processing status has a clearer one.
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
        TransferState.ORPHANED: Badge("Reversed", "bad"),
    }
)
SCENARIOS: Final = MappingProxyType(
    {
        TestScenario.COMPLETED: "Paid in full after five seconds",
        TestScenario.UNDERPAID: "Half is paid",
        TestScenario.OVERPAID: "Twice the price is paid",
        TestScenario.LATE: "Expires, then the money arrives",
        TestScenario.EXPIRED: "Expires without a payment",
        TestScenario.REORG: "Reversed by the network and paid again, before and after it completes",
    }
)


IN_DOUBT: Final = Badge("In doubt", "bad")
CANCELLED: Final = Badge("Cancelled", "")


def status_badge(checkout: AnyCheckout, *, is_doubted: bool = False) -> Badge:
    """Return the label of a checkout's status, with its exception if there is one, or that its payment is in doubt."""
    if checkout.cancelled_at is not None:
        return CANCELLED
    if is_doubted and checkout.exception != CheckoutException.REVERSED:
        return IN_DOUBT
    status = CheckoutStatus(checkout.status)
    unusual = _EXCEPTIONS.get((status, CheckoutException(checkout.exception)))
    return unusual or _STATUSES[status]
