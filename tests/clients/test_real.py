"""The whole way on real parts: a payer's key, a local chain, the gate, and our own facilitator over HTTP.

What needs no gateway and no node is proved in clients/python/tests.
"""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from threading import Barrier
from typing import Any

import httpx
import pytest
from django.test import override_settings

from accounts.states import Mode
from florin_x402 import Price
from florin_x402.claims import MemoryClaims
from florin_x402.config import Config
from florin_x402.django import CacheClaims
from florin_x402.evm import EvmWallet
from florin_x402.mpp.nonces import keccak256
from florin_x402.payer import Order, PaidButUnservedError, Proof, pay_and_retry
from florin_x402.wire import decode, encode
from florin_x402.wsgi import X402Wsgi
from localnet.abi import keccak
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.funding import payer
from localnet.tokens import token_address
from settlements.models import GasTransaction
from tests.chains import connect
from tests.clients.serving import served
from tests.factories import make_key, make_merchant, make_wallet
from tests.waiting import PATIENCE_SECONDS
from tests.x402.exact.shop import connect_base
from wallets.selectors import forget
from x402.models import X402Payment

CALLERS = 8


class Forgetful(MemoryClaims):
    """Claims that decide nothing, as those of a process that shares none with others."""

    def add(self, name: str, value: str, *, seconds: int) -> bool:
        """Say that nobody has had it."""
        return True


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


def test_a_machine_pays_for_a_report_and_a_proof_buys_one(live_server: Any, live_key: str, base_node: Anvil) -> None:
    config = Config(url=f"{live_server.url}/api/v1/x402", key=live_key, prices={"/report": "0.01"})
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


def test_the_facilitator_itself_gives_one_authorisation_to_one_of_eight_requests(
    live_server: Any, live_key: str, base_node: Anvil, settings: Any
) -> None:
    """As in as many processes that have nothing in common: no claims of the gate's tell them apart."""
    connect_base(settings, base_node)
    config = Config(
        url=f"{live_server.url}/api/v1/x402",
        key=live_key,
        prices={"/report": Price("0.01", settle="after")},
        claims=Forgetful(),
    )
    verified = Barrier(CALLERS)

    def patient(environ: Any, start_response: Any) -> list[bytes]:
        # All were verified before the first is settled.
        verified.wait(PATIENCE_SECONDS)
        return report(environ, start_response)

    app = X402Wsgi(patient, config)
    with served(app) as url:
        proof = signed_by(base_node, httpx.get(f"{url}/report"))
        found = at_once(lambda: httpx.get(f"{url}/report", headers=proof, timeout=60).status_code)
    app.gate.close()
    assert sorted(found) == [200] + [402] * (CALLERS - 1)
    assert GasTransaction.objects.count() == X402Payment.objects.count() == 1


def test_a_claim_in_valkey_is_made_and_taken_by_one_of_many(settings: Any) -> None:
    """As processes share a cache. That gates with one cache serve once is proved with the package."""
    valkey = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": settings.REDIS_URL}
    with override_settings(CACHES={"x402": valkey | {"KEY_PREFIX": secrets.token_hex(8)}}):
        claims = CacheClaims("x402")
        names = [str(number) for number in range(50)]
        added = at_once(lambda: [claims.add(name, "1", seconds=60) for name in names])
        taken = at_once(lambda: [claims.take(name) for name in names])
    assert [sum(each) for each in zip(*added, strict=True)] == [1] * len(names)
    assert [sum(one is not None for one in each) for each in zip(*taken, strict=True)] == [1] * len(names)


@pytest.mark.parametrize("length", [0, 1, 7, 63, 135, 136, 137, 271, 272, 500])
def test_the_gate_binds_signatures_by_the_chains_own_hash(length: int) -> None:
    """It is written out there, because the middleware needs no package but Python's own."""
    data = secrets.token_bytes(length)
    assert keccak256(data) == keccak(data)


def at_once(ask: Callable[[], Any]) -> list[Any]:
    """Ask from several threads at the same moment."""
    gathered = Barrier(CALLERS)

    def one(_: int) -> Any:
        gathered.wait(PATIENCE_SECONDS)
        return ask()

    with ThreadPoolExecutor(CALLERS) as pool:
        return list(pool.map(one, range(CALLERS)))


def signed_by(node: Anvil, offer: httpx.Response) -> dict[str, str]:
    """The header of the standard's second version, for the first thing that is offered."""
    accepted = decode(offer.headers["PAYMENT-REQUIRED"])["accepts"][0]
    told = authorize(node, accepted["payTo"], int(accepted["amount"]))
    payload = {"x402Version": 2, "accepted": accepted, "payload": told.payload()}
    return {"PAYMENT-SIGNATURE": encode(payload)}


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
