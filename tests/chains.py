"""What reads and pays on the local nodes of `tests/nodes/fixtures.py`: watchers, adapters, proxies, labs, sellers.

The chains' libraries are slow to import, and a worker rarely needs all of them: each fixture imports its own.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.tokens import token_address
from tests.contract.client import ApiClient, client_of
from tests.exhaustive import EXHAUSTIVE
from tests.factories import make_live_chain, make_merchant, make_wallet
from wallets.models import ChainCursor, Transfer
from wallets.selectors import forget

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode
    from localnet.tron import TronNode
    from settlements.gas.node import GasNode
    from tests.checkouts.shop import Shop
    from tests.nodes.proxy import RpcProxy
    from tests.wallets.accountchains import AccountChain
    from tests.wallets.books import Books, Open
    from tests.wallets.contract.hostile import HttpProxy
    from tests.wallets.contract.labs import Lab
    from tests.wallets.watched.bench import Bench
    from tests.x402.exact.cases import Case
    from tests.x402.exact.library import Library
    from tests.x402.exact.permits import Stall
    from tests.x402.exact.solana.payers import Shop as SolanaStall
    from wallets.chains.base import Account
    from wallets.chains.evm.adapter import EvmAdapter
    from wallets.chains.rpc.client import Node
    from wallets.chains.solana.adapter import SolanaAdapter
    from wallets.chains.ton.adapter import TonAdapter
    from wallets.chains.tron.grid import TronGridSource
    from wallets.watchers.blocks import Watcher

OpenReader = Callable[..., "SolanaAdapter"]
EACH_LAB = ["ethereum", "base", "tron", "solana", "ton"]
# Ethereum and Base are read by one adapter, from a node of one program. How they are paid differs: tests of that ask for each.
LABS = [lab for lab in EACH_LAB if EXHAUSTIVE or lab != "ethereum"]
USDC = token_address("USDC")


# Proxies before a node: what they answer can be made wrong, late or nothing.


@pytest.fixture
def base_proxy(base_node: Anvil) -> Iterator["RpcProxy"]:
    """Stands before Base's node."""
    yield from _before(base_node.url)


@pytest.fixture
def absurd_node(base_node: Anvil) -> Iterator["RpcProxy"]:
    """Stands before Base's node and tells numbers that cannot be."""
    from tests.settlements.chain import ABSURD, tells

    for proxy in _before(base_node.url):
        proxy.fault = tells(ABSURD)
        yield proxy


@pytest.fixture
def solana_proxy(solana_node: "SolanaNode") -> Iterator["RpcProxy"]:
    """Stands before Solana's node."""
    yield from _before(solana_node.url)


def _before(url: str) -> Iterator["RpcProxy"]:
    from tests.nodes.proxy import RpcProxy

    with RpcProxy(url) as proxy:
        yield proxy


@pytest.fixture
def ton_proxy(ton_node: "TonNode") -> Iterator["HttpProxy"]:
    """Stands before TON's node."""
    yield from _before_http(ton_node.url)


@pytest.fixture
def tron_grid_proxy(tron_node: "TronNode") -> Iterator["HttpProxy"]:
    """Stands before Tron's TronGrid."""
    yield from _before_http(tron_node.grid_url)


def _before_http(url: str) -> Iterator["HttpProxy"]:
    from tests.wallets.contract.hostile import HttpProxy

    with HttpProxy(url) as proxy:
        yield proxy


@pytest.fixture
def rpc_node(base_proxy: "RpcProxy") -> Iterator["Node"]:
    """Base's node as the product asks it, through `base_proxy`."""
    from wallets.chains.rpc.client import Node

    node = Node(base_proxy.url)
    yield node
    node.close()


# Watchers.


@pytest.fixture
def configure(settings: Any) -> Callable[..., None]:
    """Set the chains' settings; those that are not named have none."""

    def configure(**given: str) -> None:
        settings.CHAIN_NETWORK = "local"
        settings.CHAIN_SETTINGS = given

    return configure


@pytest.fixture
def somebody_may_pay(db: None) -> None:
    """A checkout waits on Base: a chain that nobody is expected to pay on is left alone between passes."""
    from tests.wallets.factories import make_deposit

    make_deposit()


@pytest.fixture
def watcher(base_node: Anvil, somebody_may_pay: None) -> Iterator["Watcher"]:
    """A watcher of Base, on which somebody is expected to pay."""
    del somebody_may_pay
    yield from _watching(base_node.url)


@pytest.fixture
def idle_watcher(base_node: Anvil) -> Iterator["Watcher"]:
    """A watcher of Base, on which nobody is expected to pay."""
    yield from _watching(base_node.url)


@pytest.fixture
def idle_ethereum_watcher(ethereum_node: Anvil) -> Iterator["Watcher"]:
    """A watcher of Ethereum, on which nobody is expected to pay."""
    yield from _watching(ethereum_node.url, chain="ethereum")


@pytest.fixture
def base_watcher(base_node: Anvil, configure: Callable[..., None]) -> Iterator["Watcher"]:
    """A watcher of Base as the settings have it; nobody is expected to pay there."""
    configure(BASE_RPC_URLS=base_node.url, BASE_TOKEN_USDC=USDC, BASE_CONFIRMATIONS="6")
    yield from _watching(base_node.url)


def _watching(*urls: str, **options: Any) -> Iterator["Watcher"]:
    from tests.wallets.factories import make_watcher

    watcher = make_watcher(*urls, **options)
    yield watcher
    watcher.close()


@pytest.fixture
def never_rests(settings: Any) -> None:
    """Watchers read when they are told to, although nobody is expected to pay."""
    settings.CHAIN_POLL_SECONDS = settings.CHAIN_IDLE_SECONDS = 0.0


@pytest.fixture
def open_books() -> Iterator["Open"]:
    """Opens the books of a node's chain: its watcher and the pass that looks again, behind proxies."""
    from tests.nodes.proxy import RpcProxy
    from tests.wallets.books import Books

    with ExitStack() as stack:

        def opened(node: Anvil, *, chain: str = "base", nodes: int = 2) -> Books:
            proxies = [stack.enter_context(RpcProxy(node.url)) for _ in range(nodes)]
            books = Books(node, chain, *proxies)
            stack.callback(books.close)
            return books

        yield opened


@pytest.fixture
def books(base_node: Anvil, open_books: "Open") -> "Books":
    """The books of Base, behind two proxies."""
    return open_books(base_node)


@pytest.fixture
def bench(books: "Books") -> Iterator["Bench"]:
    """Base, its watcher, and the pass over watched wallets beside it."""
    from tests.wallets.watched.bench import Bench

    made = Bench(books)
    yield made
    made.beside.close()


# Adapters, each of its family.


@pytest.fixture(params=LABS)
def lab(request: pytest.FixtureRequest) -> "Lab":
    """The laboratory of each chain in turn, as new."""
    chain, node = request.param, request.getfixturevalue(f"{request.param}_node")
    match chain:
        case "solana":
            from tests.wallets.contract.accountlabs import SolanaLab

            return SolanaLab(node)
        case "ton":
            from tests.wallets.contract.accountlabs import TonLab

            return TonLab(node)
        case "tron":
            from tests.wallets.contract.evmlabs import TronLab

            return TronLab(node)
        case _:
            from tests.wallets.contract.evmlabs import EvmLab

            return EvmLab(chain, node)


@pytest.fixture(params=["solana", "ton"])
def chain(request: pytest.FixtureRequest) -> "AccountChain":
    """Each chain that is read account by account, in turn."""
    from tests.wallets.accountchains import OnSolana, OnTon

    node = request.getfixturevalue(f"{request.param}_node")
    return OnSolana(node) if request.param == "solana" else OnTon(node)


@pytest.fixture
def solana_owner() -> str:
    """A Solana address that nobody has used."""
    from solders.keypair import Keypair

    return str(Keypair().pubkey())


@pytest.fixture
def open_on(solana_node: "SolanaNode") -> Iterator[OpenReader]:
    """Open a reader of Solana's node, or of the URLs given."""
    from tests.wallets.chains.solana.reading import open_reader

    with ExitStack() as stack:

        def open_(*urls: str, **options: Any) -> "SolanaAdapter":
            adapter = open_reader(*(urls or (solana_node.url,)), **options)
            stack.callback(adapter.close)
            return adapter

        yield open_


@pytest.fixture
def reader(open_on: OpenReader) -> "SolanaAdapter":
    """A reader of Solana's node."""
    return open_on()


@pytest.fixture
def ton_adapter(ton_node: "TonNode") -> Iterator["TonAdapter"]:
    """Reads TON's node."""
    yield from _reading_ton(ton_node)


@pytest.fixture
def proxied_ton_adapter(ton_node: "TonNode", ton_proxy: "HttpProxy") -> Iterator["TonAdapter"]:
    """Reads TON's node through `ton_proxy`."""
    yield from _reading_ton(ton_node, ton_proxy.url)


def _reading_ton(node: "TonNode", *urls: str) -> Iterator["TonAdapter"]:
    from tests.wallets.tonlab import open_ton

    adapter = open_ton(node, *urls)
    yield adapter
    adapter.close()


@pytest.fixture
def ton_account(ton_node: "TonNode", ton_adapter: "TonAdapter") -> "Account":
    """A merchant's wallet on TON that nothing happened to since it was read."""
    from tests.wallets.tonlab import account_at

    return account_at(ton_node.create_wallet().address, ton_adapter.head())


@pytest.fixture
def paid_ton_account(ton_node: "TonNode", ton_account: "Account") -> "Account":
    """A merchant's wallet on TON that was paid 7 units since it was read."""
    ton_node.pay(ton_account.address, 7, "memo")
    return ton_account


@pytest.fixture
def tron_adapter(tron_node: "TronNode") -> Iterator["EvmAdapter"]:
    """Reads Tron's node by JSON-RPC."""
    from tests.wallets.evmkin import opened, spec_of

    with opened(spec_of("tron", tron_node.url)) as adapter:
        yield adapter


@pytest.fixture
def tron_grid(tron_node: "TronNode", tron_grid_proxy: "HttpProxy") -> Iterator["TronGridSource"]:
    """Reads Tron's TronGrid through `tron_grid_proxy`."""
    from tests.wallets.evmkin import spec_of
    from wallets.chains.tron.grid import TronGridSource

    source = TronGridSource(spec_of("tron", tron_node.url), tron_grid_proxy.url)
    yield source
    source.close()


# Shops that buyers pay, and whose chain the test itself watches.


@pytest.fixture
def solana_shop(solana_node: "SolanaNode", settings: Any) -> Iterator["Shop"]:
    """A shop paid on Solana, and a buyer with money there."""
    from solders.keypair import Keypair

    from tests.checkouts.page.buyers import ACCOUNT

    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    solana_node.airdrop(ACCOUNT)
    solana_node.fund(ACCOUNT, 100_000_000)
    yield from _watched_shop("solana", str(Keypair().pubkey()))


@pytest.fixture
def tron_shop(tron_node: "TronNode", settings: Any) -> Iterator["Shop"]:
    """A shop paid on Tron."""
    from localnet.tron.addresses import to_base58

    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"TRON_RPC_URLS": tron_node.url, "TRON_GRID_URLS": tron_node.grid_url}
    yield from _watched_shop("tron", to_base58(tron_node.anvil.accounts[6].address))


@pytest.fixture
def ton_shop(ton_node: "TonNode", settings: Any) -> Iterator["Shop"]:
    """A shop paid on TON."""
    from wallets.chains.ton.family import TON_FAMILY

    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"TON_RPC_URLS": ton_node.url, "TON_TOKEN_USDT": ton_node.usdt}
    yield from _watched_shop("ton", TON_FAMILY.canonical_address(ton_node.create_wallet().address))


def _watched_shop(chain: str, address: str) -> Iterator["Shop"]:
    from tests.checkouts.shop import Shop

    opened = Shop(chain, address)
    yield opened
    opened.watcher.close()


# Gas.


@pytest.fixture
def base_settings(settings: Any, base_node: Anvil) -> Any:
    """Base is read from the local node, and one of its rich accounts pays for gas."""
    from tests.settlements.chain import CONFIRMATIONS

    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        "BASE_RPC_URLS": base_node.url,
        "BASE_TOKEN_USDC": USDC,
        "BASE_CONFIRMATIONS": str(CONFIRMATIONS),
    }
    settings.GAS_KEYS = [base_node.accounts[3].key]
    # A local node's gas is dear.
    settings.GAS_COIN_USD = {"base": "10"}
    return settings


@pytest.fixture
def base_gas_node(base_settings: Any) -> Iterator["GasNode"]:
    """Base's node as whoever sends transactions asks it."""
    from settlements.gas.node import gas_node

    with gas_node("base") as opened:
        yield opened


# Merchants whose machines pay: by a transaction's hash (`base_seller`), or by a signature (the others).


def connect(settings: Any, **urls: str) -> None:
    """Use these EVM nodes, and no others; the local chains' tokens are the test tokens."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        f"{chain.upper()}_TOKEN_{symbol}": token_address(symbol)
        for chain in ("base", "polygon", "ethereum")
        for symbol in ("USDC", "USDT")
    } | {f"{chain.upper()}_RPC_URLS": url for chain, url in urls.items()}
    ChainCursor.objects.all().delete()
    for chain in urls:
        make_live_chain(chain, height=None, head=None)
    forget()


@pytest.fixture
def base(base_node: Anvil, settings: Any) -> Anvil:
    """Base as the only chain that can be asked; nobody has read it yet."""
    connect(settings, base=base_node.url)
    return base_node


@pytest.fixture
def base_seller(base: Anvil) -> ApiClient:
    """A live key of a merchant with a wallet on Base, whose token is the test token."""
    del base
    merchant = make_merchant()
    make_wallet(merchant, "base")
    forget()
    return client_of(merchant, Mode.LIVE)


@pytest.fixture
def usdc(base_node: Anvil, settings: Any) -> str:
    """USDC's address on the only chain that can be asked: a contract that takes signatures."""
    from tests.x402.exact.shop import connect_base

    return connect_base(settings, base_node)


@pytest.fixture
def free_shop(base_node: Anvil, usdc: str, settings: Any) -> Iterator["Shop"]:
    """A shop that is paid on Base, where the operator pays buyers' network fees."""
    from checkouts.gas_free import rules
    from wallets.chains.evm.authorizations import domains

    del usdc
    settings.GAS_FREE = ["base"]
    # A local node's gas is dear.
    settings.GAS_COIN_USD = {"base": "0.1"}
    domains._domains.clear()
    cache = rules._allows.cache
    assert cache is not None
    cache.clear()
    yield from _watched_shop("base", base_node.accounts[7].address)


@pytest.fixture
def exact_seller(usdc: str) -> ApiClient:
    """A live key of a merchant with a wallet on Base, whose machines sign for `usdc`."""
    from tests.x402.exact.shop import open_shop

    del usdc
    return open_shop()


@pytest.fixture
def stall(ethereum_node: Anvil, settings: Any) -> "Stall":
    """A merchant on Ethereum, whose machines sign for USDT by Permit2."""
    from tests.x402.exact.permits import open_stall

    return open_stall(settings, ethereum_node, "ethereum")


@pytest.fixture
def solana_stall(solana_node: "SolanaNode", settings: Any) -> "SolanaStall":
    """Solana as the only chain that can be asked; an account of ours with SOL; a payer with USDC and none."""
    from tests.x402.exact.solana.payers import connect_solana

    return connect_solana(settings, solana_node)


@pytest.fixture
def solana_seller(solana_stall: "SolanaStall") -> ApiClient:
    """A live key of a merchant whose machines sign on Solana."""
    from tests.x402.exact.solana.payers import open_seller

    return open_seller(solana_stall)


@pytest.fixture(scope="session")
def library() -> Iterator["Library"]:
    """The published x402 library, which takes seconds to start."""
    from tests.x402.exact.library import open_library

    with open_library() as opened:
        yield opened


@pytest.fixture
def exact_case(base_node: Anvil, exact_seller: ApiClient, usdc: str) -> "Case":
    """A signed payment on Base, with everything in its place that the library asks."""
    from localnet.permit2 import lay_multicall, lay_permit2
    from tests.x402.exact.cases import Case
    from tests.x402.payers import pay_to_of

    lay_multicall(base_node)
    lay_permit2(base_node)
    return Case(base_node, usdc, pay_to_of(exact_seller))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for a receipt."""
    monkeypatch.setattr("x402.exact.waiting.RECEIPT_SECONDS", 0.05)


@pytest.fixture
def signed_body(base_node: Anvil, exact_seller: ApiClient, usdc: str) -> dict[str, Any]:
    """The body of a settlement that nobody has asked for yet: a signed payment of `UNITS` on Base."""
    from localnet.authorizations import authorize
    from tests.x402.exact.bodies import body_of
    from tests.x402.payers import UNITS, pay_to_of

    return body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)


@pytest.fixture
def verified_transfer(owned_merchant: Merchant, no_bells: None, settings: Any) -> Transfer:
    """A machine's payment to `owned_merchant`, recorded twelve blocks deep and verified by its hash."""
    from tests.x402.payments.following import follow
    from tests.x402.recorded import make_machine_transfer, make_seller, verify_it

    del no_bells
    found = make_machine_transfer(owned_merchant, make_seller(owned_merchant, settings))
    assert verify_it(found)["valid"] is True
    follow()
    return found
