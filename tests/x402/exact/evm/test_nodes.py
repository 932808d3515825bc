"""What nodes tell of a block."""

from typing import Any

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from tests.contract.client import ApiClient
from tests.nodes.proxy import Answer, Ask, Request, RpcProxy, changed, honest, methods_of
from tests.x402.exact.calls import settle
from x402.exact import waiters
from x402.exact.errors import TakenElsewhereError
from x402.exact.evm.nodes import pool_of
from x402.exact.evm.outcome import conclude_elsewhere
from x402.exact.sweep import request_of
from x402.models import Authorization

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_bells")]


UNITS = 10_000


PENDING = "settlement_pending"


Body = dict[str, Any]


def shows_no_block_yet(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """A block's effects are there, and the block itself is not: nodes write one after the other."""
    if "eth_getLogs" not in methods_of(request):
        return honest(proxy, request, ask)
    return changed(request, ask(request), lambda _, __: [])


def test_a_block_seen_by_halves_fails_nothing_that_another_request_sent(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Body, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "RECEIPT_SECONDS", 0.05)
    base_node.set_automine(False)
    assert settle(exact_seller, signed_body)["errorReason"] == PENDING
    row = Authorization.objects.get()
    # As whoever was held up past its lease knows it.
    row.transaction, row.tx_hash = None, ""
    base_node.set_automine(True)
    base_node.mine()
    with RpcProxy(base_node.url) as proxy:
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": proxy.url}
        proxy.fault = shows_no_block_yet
        request = request_of(row)
        pool, reason = pool_of(request.spec), "transaction_failed"
        with pytest.raises(TakenElsewhereError):
            conclude_elsewhere(row, request, reason, pool=pool, clock=timezone.now)
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    assert settle(exact_seller, signed_body)["success"]
