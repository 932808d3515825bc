"""Labels of machines' payments on the merchant's pages."""

from types import MappingProxyType
from typing import Final

from gateway.core.web.badges import Badge
from x402.states import PaymentStatus, Protocol

STATUSES: Final = MappingProxyType(
    {
        PaymentStatus.VERIFIED: Badge("Verified", "info"),
        PaymentStatus.SETTLED: Badge("Settled", "ok"),
        PaymentStatus.REVERSED: Badge("Reversed", "bad"),
    }
)
PROTOCOLS: Final = MappingProxyType({Protocol.HASH: "By hash", Protocol.EXACT: "Signed (exact)"})
