"""Labels of settlements on the merchant's pages."""

from types import MappingProxyType
from typing import Final

from settlements.states import Sender, SettlementStatus
from wallets.states import ClaimKind
from webhooks.dashboard.words import Badge

STATUSES: Final = MappingProxyType(
    {
        SettlementStatus.PENDING: Badge("Waiting", ""),
        SettlementStatus.SENT: Badge("Sent", "info"),
        SettlementStatus.SETTLED: Badge("Settled", "ok"),
        SettlementStatus.FAILED: Badge("Failed", "bad"),
    }
)
SENDERS: Final = MappingProxyType(
    {
        Sender.GATEWAY: "Our gas key",
        Sender.WALLET: "Your own wallet",
        Sender.EXTERNAL: "An unknown sender",
        Sender.DIRECT: "None: paid directly to the wallet",
    }
)
PURPOSES: Final = MappingProxyType({ClaimKind.CHECKOUT: "Checkouts", ClaimKind.X402: "x402"})
