"""What one payment of a machine costs by each way of the public standard on an EVM chain: gas, rows, statements, requests to nodes.

Nothing here depends on the machine. USDC has the real one's functions and no proxy before it, which costs more; Permit2 and Multicall3 are
the published code; the standard's proxies and the wallets are stand-ins of ours. So the real gas is somewhat more.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from benchmarks import stack
from benchmarks.report import Claim, Report, Series
from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil, FundedAccount
from localnet.authorizations import authorize, lay_usdc, sign
from localnet.funding import payer
from localnet.permit2 import PERMIT2, UPTO_PROXY, Permit, allow, lay_multicall, lay_permit2, own_permit, permit
from localnet.smart_wallet import by_wallet, deploy_wallet, future_wallet
from localnet.tokens import DEPLOYER, execute, mint, transfer
from tests.nodes.proxy import RpcProxy
from wallets.forwarders.addresses import checksum

COUNTED_BY_HASH: Final = 65_000
COUNTED: Final = 120_000
COUNTED_OF_CONTRACTS: Final = 500_000
"""What decision 36 counts with, before anything was measured."""
_UNITS: Final = 1_000
_TIMES: Final = 3
_OF_MAXIMUM: Final = 4
_FACTORY: Final = checksum(DEPLOYER)


@dataclass(slots=True)
class _Cost:
    """What payments by one way cost: the gas of each, and of the last one all the rest."""

    gas: list[float] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    statements: tuple[int, int] = (0, 0)
    requests: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class _Shop:
    """A merchant's key, where its machines pay, and the only node, asked through a proxy that counts."""

    client: Any
    node: Anvil
    proxy: RpcProxy
    usdc: str
    to: str

    def costs(self, make: Callable[["_Shop"], dict[str, Any]], times: int = _TIMES) -> _Cost:
        """Verify and settle payments by one way, one after another."""
        found = _Cost()
        for _ in range(times):
            self._pay(make(self), found)
        return found

    def _pay(self, body: dict[str, Any], cost: _Cost) -> None:
        from tests.x402.exact.calls import settle, verify

        # A seller's middleware verifies the maximum, and settles a part.
        whole = body | {"paymentRequirements": body["paymentPayload"]["accepted"]}
        before = _rows()
        verified, asked_first, sent_first = self._counted(lambda: verify(self.client, whole))
        if not verified["isValid"]:
            raise RuntimeError(f"a payment was not valid: {verified}")
        settled, asked, sent = self._counted(lambda: settle(self.client, body))
        if not settled["success"]:
            raise RuntimeError(f"a payment was not settled: {settled}")
        cost.rows = _rows() - before
        cost.statements, cost.requests = (asked_first, asked), (sent_first, sent)
        cost.gas.append(int(self.node.receipt(settled["transaction"])["gasUsed"], 16))

    def _counted(self, work: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], int, int]:
        """Return an answer, how many statements it took, and how many requests to the node."""
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        before = self.proxy.requests
        with CaptureQueriesContext(connection) as queries:
            answer = work()
        return answer, len(queries), self.proxy.requests - before


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure each way some times: the gas of one differs from the next one's only by zero bytes of what was signed."""
    del rounds, seconds
    with Anvil(8453) as node, RpcProxy(node.url) as proxy, stack.engines(**_settings(node, proxy)):
        prepare_chain(node)
        usdc = lay_usdc(node)
        lay_permit2(node)
        lay_multicall(node)
        allow(node, usdc)
        shop = _open(node, proxy, usdc)
        first = shop.costs(_authorised, 1)
        found = {name: shop.costs(make) for name, make in _WAYS.items()}
        by_hash = [_by_hash(shop) for _ in range(_TIMES)]
    return [_report(by_hash, first, found)]


def _settings(node: Anvil, proxy: RpcProxy) -> dict[str, str]:
    return {
        "CHAIN_BASE_RPC_URLS": proxy.url,
        "CHAIN_POLYGON_RPC_URLS": "",
        "GAS_KEYS": node.accounts[3].key,
        "GAS_DAILY_COINS": "base=1000",
        "X402_WALLET_FACTORIES": _FACTORY,
        "LOG_LEVEL": "ERROR",
    }


def _open(node: Anvil, proxy: RpcProxy, usdc: str) -> _Shop:
    from django.test.utils import setup_test_environment

    from accounts.models import Merchant
    from accounts.states import Mode
    from tests.contract.client import client_of
    from tests.x402.payers import pay_to_of

    # Its client calls the product in this process, which counts its statements.
    setup_test_environment()
    merchant, _ = stack.seed_merchant()
    client = client_of(Merchant.objects.get(pk=merchant), Mode.LIVE)
    return _Shop(client, node, proxy, usdc, pay_to_of(client))


def _rows() -> Counter[str]:
    from django.apps import apps
    from django.db.models import QuerySet

    return Counter({model.__name__: QuerySet(model).count() for model in apps.get_models()})


def _authorised(shop: _Shop) -> dict[str, Any]:
    from tests.x402.exact.bodies import body_of

    return body_of(authorize(shop.node, shop.to, _UNITS), shop.usdc)


def _by_permit2(shop: _Shop) -> dict[str, Any]:
    from tests.x402.exact.permits import permit_body

    return permit_body(permit(shop.node, shop.usdc, shop.to, _UNITS), shop.node.chain_id)


def _part(shop: _Shop) -> dict[str, Any]:
    from tests.x402.exact.permits import upto_body

    return upto_body(_maximum(shop, payer(shop.node)), shop.node.chain_id, _UNITS)


def _maximum(shop: _Shop, account: FundedAccount) -> Permit:
    named: dict[str, Any] = {"facilitator": shop.node.accounts[3].address, "spender": UPTO_PROXY}
    return permit(shop.node, shop.usdc, shop.to, _OF_MAXIMUM * _UNITS, account=account, **named)


def _first_permit(shop: _Shop) -> dict[str, Any]:
    from tests.x402.exact.permits import permit_body

    newcomer = _newcomer(shop)
    told = permit(shop.node, shop.usdc, shop.to, _UNITS, account=newcomer)
    return _with_own(permit_body(told, shop.node.chain_id), shop, told, newcomer)


def _first_part(shop: _Shop) -> dict[str, Any]:
    from tests.x402.exact.permits import upto_body

    newcomer = _newcomer(shop)
    told = _maximum(shop, newcomer)
    return _with_own(upto_body(told, shop.node.chain_id, _UNITS), shop, told, newcomer)


def _newcomer(shop: _Shop) -> FundedAccount:
    """Return an account that has USDC, and of which Permit2 may move nothing."""
    account = shop.node.accounts[6]
    mint(shop.node, shop.usdc, account.address, _OF_MAXIMUM * _UNITS)
    execute(shop.node, account, shop.usdc, "approve(address,uint256)", PERMIT2, 0)
    return account


def _with_own(body: dict[str, Any], shop: _Shop, told: Permit, account: FundedAccount) -> dict[str, Any]:
    info = own_permit(shop.node, told, account)
    body["paymentPayload"]["extensions"] = {"eip2612GasSponsoring": {"info": info, "schema": {}}}
    return body


def _by_contract(shop: _Shop) -> dict[str, Any]:
    from tests.x402.exact.bodies import body_of

    return body_of(_signed_for(shop, deploy_wallet(shop.node, payer(shop.node))), shop.usdc)


def _by_future_contract(shop: _Shop) -> dict[str, Any]:
    from tests.x402.exact.bodies import body_of
    from tests.x402.exact.cases import wrapped

    wallet, calldata = future_wallet(payer(shop.node))
    return body_of(wrapped(_signed_for(shop, wallet), _FACTORY, calldata), shop.usdc)


def _signed_for(shop: _Shop, wallet: str) -> Any:
    mint(shop.node, shop.usdc, wallet, _UNITS)
    told = replace(authorize(shop.node, shop.to, _UNITS), payer=wallet)
    return by_wallet(sign(shop.node, told, payer(shop.node)))


_WAYS: Final[dict[str, Callable[[_Shop], dict[str, Any]]]] = {
    "exact, EIP-3009": _authorised,
    "exact, Permit2": _by_permit2,
    "upto, a quarter of a maximum": _part,
    "exact, Permit2, with the token's own permit": _first_permit,
    "upto, with the token's own permit": _first_part,
    "exact, EIP-3009, by a contract wallet": _by_contract,
    "exact, EIP-3009, wallet deployed by it (ERC-6492)": _by_future_contract,
}


def _by_hash(shop: _Shop) -> float:
    """Return the gas of a payer's own transfer."""
    sent = transfer(shop.node, payer(shop.node), shop.usdc, shop.to, _UNITS)
    return int(shop.node.receipt(sent)["gasUsed"], 16)


def _report(by_hash: list[float], first: _Cost, found: dict[str, _Cost]) -> Report:
    series = [
        Series("by hash, a payer's own transfer", "gas", by_hash),
        Series("exact, EIP-3009, the first to a forwarder", "gas", first.gas),
        *(Series(name, "gas", cost.gas) for name, cost in found.items()),
    ]
    claims = [Claim("by hash, against what decision 36 counts", max(by_hash), COUNTED_BY_HASH, True)]
    for name, cost in found.items():
        most = COUNTED_OF_CONTRACTS if "wallet" in name else COUNTED
        claims.append(Claim(name, max(cost.gas), most, True))
    return Report("x402 payments, by each way", series, claims, [_note(name, cost) for name, cost in found.items()])


def _note(name: str, cost: _Cost) -> str:
    rows = ", ".join(f"{table} {number}" for table, number in sorted(cost.rows.items()))
    (verified, settled), (asked, sent) = cost.statements, cost.requests
    return (
        f"{name}: {verified} statements and {asked} requests to the node at verify, {settled} and {sent} at settle;"
        f" rows: {rows}"
    )
