"""What the demo's report costs machines, and where it is."""

PATH = "/x402/report"
AMOUNT = "0.01"
CHAIN = "base"
ALSO_ON = "solana"  # for clients of the public standard
TOKEN = "USDC"  # noqa: S105 - a symbol
