"""The standard's codes, by family of networks."""

import pytest

from wallets.chains.specs import Family
from x402.exact import reasons


@pytest.mark.parametrize(
    "reason",
    [reasons.ALREADY_USED, reasons.INSUFFICIENT_BALANCE, reasons.RECIPIENT_MISMATCH],
)
def test_what_solana_calls_otherwise_is_said_in_its_words(reason: str) -> None:
    assert "evm" not in reasons.spoken(reason, Family.SOLANA)
    assert reasons.spoken(reason, Family.EVM) == reason


def test_what_all_call_the_same_is_said_so() -> None:
    for family in (Family.EVM, Family.SOLANA):
        assert reasons.spoken(reasons.PENDING, family) == "settlement_pending"
