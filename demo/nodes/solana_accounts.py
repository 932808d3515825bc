"""Accounts on the demo's local Solana that are there for machines. Everybody knows their keys; they hold play money."""

from typing import Final

NETWORK_PAYER: Final = "F91zjL83WLE8vKtpkKQM72DouEubtYTm42qH7fdreqmK"
"""The fee payer of machines' signed payments."""

NETWORK_PAYER_KEY: Final = "3KzFmZG58MDBQ8qKyvPocUCU7cA92hVusgRiNv5c4bTcMyL9kMed5pbcKRGiUgWy6zWwhnv8awpC2caJgsCLgWsK"  # nosec B105

MACHINE_CHAIN: Final = "solana"
MACHINE_WALLET: Final = "Hyxxqic5yo2rLj1Qc4YxiChiQy6tFCe6Tz3ePhc7YJao"
"""The address that machines pay."""
