"""Who was first to make a payment."""

import pytest

from accounts.states import Mode
from demo.localnet.permit2 import permit
from tests.x402.exact.permits import Stall, permit_body
from wallets.chains.base import ChainUnavailableError
from x402.exact.evm.evidence import find_used
from x402.exact.evm.nodes import pool_of
from x402.exact.forms import parse_standard

pytestmark = pytest.mark.django_db


UNITS = 10_000


def test_a_node_that_is_behind_is_not_asked_who_was_first(stall: Stall) -> None:
    told = permit(stall.node, stall.usdt, stall.pay_to, UNITS)
    request = parse_standard(permit_body(told, 1), Mode.LIVE)
    newest = stall.node.block_number()
    assert not find_used(pool_of(request.spec), request, at_least=newest).is_used
    with pytest.raises(ChainUnavailableError):
        find_used(pool_of(request.spec), request, at_least=newest + 1)
