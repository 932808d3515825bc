"""The whole way on real parts: a payer's key, a local chain, the gate, and our own facilitator over HTTP."""

from decimal import Decimal
from typing import Any

import pytest

from accounts.states import Mode
from facilitator.models import X402Payment
from florin_x402.config import Config
from florin_x402.evm import EvmWallet
from florin_x402.payer import Order, PaidButUnservedError, Proof, pay_and_retry
from florin_x402.wsgi import X402Wsgi
from tests.clients.serving import served
from tests.facilitator.conftest import connect
from tests.factories import make_key, make_merchant, make_wallet
from tests.nodes.anvil import Anvil
from tests.nodes.local_chain import payer
from tests.nodes.tokens import token_address
from wallets.selectors import forget


def report(environ: Any, start_response: Any) -> list[bytes]:
    paid = environ["florin.x402"]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{paid.amount} {paid.token} in {paid.transaction}".encode()]


@pytest.fixture
def live_key(base_node: Anvil, settings: Any, transactional_db: None) -> str:
    """A key of a merchant whose machines pay on the local Base."""
    connect(settings, base=base_node.url)
    merchant = make_merchant()
    make_wallet(merchant, "base")
    forget()
    return make_key(merchant, mode=Mode.LIVE)[1]


def wallet_on(node: Anvil) -> EvmWallet:
    return EvmWallet(
        key=payer(node).key,
        rpc_url=node.url,
        chain_id=node.chain_id,
        network="base",
        token="USDC",
        contract=token_address("USDC"),
    )


def test_a_machine_pays_for_a_report_and_a_proof_buys_one(
    live_server: Any, live_key: str, base_node: Anvil
) -> None:
    config = Config(
        url=f"{live_server.url}/api/v1/x402", key=live_key, prices={"/report": "0.01"}
    )
    app = X402Wsgi(report, config)
    kept: list[Proof] = []
    # What the demo's miner does: blocks come while a payment waits.
    mining = MiningWallet(wallet_on(base_node), base_node)
    with served(app) as url:
        order = Order(f"{url}/report", most=Decimal("0.05"))
        got = pay_and_retry(order, mining, remember=kept.append)
        assert got.proof is not None
        assert got.body.decode() == f"0.01 USDC in {got.proof.txHash}"
        with pytest.raises(PaidButUnservedError, match="already_used"):
            pay_and_retry(order, mining, proof=got.proof)
    app.gate.close()
    assert mining.payments == 1
    assert [proof.txHash for proof in kept] == [got.proof.txHash] * 2
    payment = X402Payment.objects.get()
    assert payment.is_signed
    assert (payment.units, payment.resource) == (10_000, "/report")


class MiningWallet:
    """A wallet on a chain that makes no blocks by itself."""

    def __init__(self, wallet: EvmWallet, node: Anvil) -> None:
        self._wallet = wallet
        self._node = node
        self.payments = 0
        self.address = wallet.address
        self.can_pay = wallet.can_pay
        self.sign = wallet.sign

    def pay(self, wanted: Any, *, sent: Any) -> str:
        self.payments += 1
        tx_hash = self._wallet.pay(wanted, sent=sent)
        self._node.mine(3)
        return tx_hash
