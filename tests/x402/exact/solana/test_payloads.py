"""What a payload on Solana must have."""

from typing import Any

import pytest

from demo.localnet.solana.node import USDC
from tests.x402.exact.solana.forgeries import OURS
from x402.exact.errors import RefusedPaymentError
from x402.exact.solana import payloads, reasons


@pytest.mark.parametrize("payload", [{}, {"transaction": 5}, {"transaction": None}])
def test_a_payload_without_a_transaction_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(RefusedPaymentError) as caught:
        payloads.read_signed(payload, asset=USDC, pay_to="", extra={"feePayer": str(OURS.pubkey())})
    assert caught.value.reason == reasons.UNDECODABLE


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({}, reasons.FEE_PAYER_MISSING),
        ({"feePayer": ""}, reasons.FEE_PAYER_MISSING),
        ({"feePayer": 7}, reasons.FEE_PAYER_MISSING),
        ({"feePayer": "x", "memo": 7}, "invalid_payment_requirements"),
        ({"feePayer": "x", "memo": "a\0"}, "invalid_payment_requirements"),
        ({"feePayer": "x", "memo": "ä" * 129}, "invalid_payment_requirements"),
    ],
)
def test_requirements_that_cannot_be_met_are_refused(extra: dict[str, Any], reason: str) -> None:
    with pytest.raises(RefusedPaymentError) as caught:
        payloads.read_extra(extra)
    assert caught.value.reason == reason


def test_an_empty_memo_asks_for_none() -> None:
    assert payloads.read_extra({"feePayer": "x", "memo": ""}) == {"feePayer": "x"}
    longest = {"feePayer": "x", "memo": "ä" * 128}
    assert payloads.read_extra(longest) == longest
