"""Calls of Permit2's proxy."""

import pytest

from accounts.states import Mode
from demo.localnet.permit2 import permit
from tests.x402.exact.permits import Stall, permit_body
from x402.exact.evm import permit2, permit2_payments
from x402.exact.forms import parse_standard

pytestmark = pytest.mark.django_db


UNITS = 10_000


def test_calldata_that_is_none_is_no_call_of_the_proxy(stall: Stall) -> None:
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS)
    request = parse_standard(permit_body(told, 1), Mode.LIVE)
    data = permit2.call_of(request).data
    assert data == told.call()
    assert permit2_payments._is_call_of(request, data)
    # Token, amount, number, payer and recipient; then where the signature is, and how long.
    for word in (0, 1, 2, 4, 5, 7, 8):
        place = 4 + 32 * word
        broken = data[:place] + b"\xff" * 32 + data[place + 32 :]
        assert not permit2_payments._is_call_of(request, broken)
    assert not permit2_payments._is_call_of(request, data[:4])
    assert not permit2_payments._is_call_of(request, b"\0\0\0\0" + data[4:])
