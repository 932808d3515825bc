"""What an address is is asked of its chain, and an address that would lose the money is refused."""

import base64
import re
import socket
import time
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from django.utils import timezone
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from gateway.core.api.errors import InvalidRequestError, RateLimitError, UnavailableError
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.smart_wallet import deploy_wallet
from localnet.solana.programs import TOKEN_2022
from localnet.tokens import deploy_token
from localnet.tron.addresses import to_base58, to_hex
from localnet.tron.node import USDT as TRON_USDT
from localnet.tron.node import TronNode
from tests.factories import WALLET
from tests.nodes.answering import answering_code
from tests.tree import python_sources, relative
from tests.wallets.contract.hostile import Answer, HttpProxy
from wallets.chains.solana import decode
from wallets.chains.ton.address import address_key
from wallets.forwarders.addresses import checksum
from wallets.receiving.inspection import Inspected, inspect

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode

pytestmark = pytest.mark.django_db

AT = checksum(bytes(range(0x41, 0x55)))
USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
TRUE = 1
OWNERS = {"a0e67e2b": [32, 2, 7, 8], "e75235b8": [2]}
ERC165 = {"01ffc9a701ffc9a7": [TRUE], "01ffc9a7ffffffff": [0]}
WETH = {"313ce567": [18], "18160ddd": [0], "06fdde03": [32, 0]}
# What a contract answers, and what it then is. The fallback answers nothing, like WETH's.
CONTRACTS = [
    ("a token", WETH, "token contract"),
    ("a token without decimals", {"18160ddd": [0]}, "token contract"),
    ("a vault", {"38d52e0f": [5], "313ce567": [6], "18160ddd": [9]}, "a vault"),
    ("an NFT", ERC165 | {"01ffc9a780ac58cd": [TRUE]}, "an NFT"),
    ("items", ERC165 | {"01ffc9a7d9b67a26": [TRUE]}, "an NFT"),
    ("a pool", {"0dfe1681": [5], "1626ba7e": [0]}, "router or an exchange"),
    ("a router", {"ad5c4648": [5]}, "router or an exchange"),
    ("Permit2", {"3644e515": [5]}, "router or an exchange"),
    ("ERC-165 alone", ERC165, "router or an exchange"),
    ("owners who need not agree", OWNERS | {"e75235b8": [0]}, "router"),
    ("more signatures than owners", OWNERS | {"e75235b8": [3]}, "router"),
    ("owners without an end", {"a0e67e2b": [32, 99, 1], "e75235b8": [1]}, "router"),
    ("what answers everything", {"": [1]}, "router or an exchange"),
    ("a token with owners", WETH | OWNERS, "token contract"),
]
WALLETS = [
    ("a Safe", OWNERS),
    ("an older multisig", {"a0e67e2b": [32, 1, 7], "dc8452cd": [1]}),
    ("an account of ERC-4337", {"b0d691fe": [5]}),
    ("an account of ERC-7579", {"9cfd7cff": [32, 3, 0]}),
    ("one that refuses a signature", {"1626ba7e": [0xFFFFFFFF << 224]}),
    ("one that says so by ERC-165", ERC165 | {"01ffc9a71626ba7e": [TRUE]}),
]


def look(chain: str, address: str) -> Inspected:
    return inspect(chain, address, now=timezone.now())


def refusal(chain: str, address: str) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        look(chain, address)
    assert (caught.value.code, caught.value.param) == ("address_invalid", "address")
    return caught.value.message


@pytest.fixture
def base(base_node: Anvil, settings: Any) -> Anvil:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    return base_node


@pytest.fixture
def solana(solana_node: "SolanaNode", settings: Any) -> "SolanaNode":
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    return solana_node


@pytest.fixture
def ton(ton_node: "TonNode", settings: Any) -> "TonNode":
    settings.CHAIN_NETWORK = "local"
    # Its tokens are none that we know: only the chain can say what they are.
    settings.CHAIN_SETTINGS = {"TON_RPC_URLS": ton_node.url}
    return ton_node


@pytest.fixture(params=["base", "tron"])
def place(request: pytest.FixtureRequest, settings: Any) -> tuple[str, str, Anvil]:
    """A chain with contracts, an address on it, and its node."""
    if request.param == "base":
        node: Anvil = request.getfixturevalue("base_node")
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": node.url}
        return "base", AT, node
    tron: TronNode = request.getfixturevalue("tron_node")
    settings.CHAIN_SETTINGS = {"TRON_RPC_URLS": tron.url}
    return "tron", to_base58(AT), tron.anvil


def test_a_contract_that_keeps_tokens_is_refused(place: tuple[str, str, Anvil]) -> None:
    chain, address, node = place
    assert look(chain, address) == Inspected(address)
    for what, answers, words in CONTRACTS:
        node.rpc("anvil_setCode", AT, answering_code(answers))
        assert words in refusal(chain, address), what


def test_a_contract_that_answers_as_a_wallet_is_a_wallet_with_a_warning(place: tuple[str, str, Anvil]) -> None:
    chain, address, node = place
    for what, answers in WALLETS:
        node.rpc("anvil_setCode", AT, answering_code(answers))
        found = look(chain, address)
        assert found.warning, what
        assert (found.address, found.contract_on) == (address, chain)


def test_real_tokens_and_wallets_on_an_evm_chain(base: Anvil) -> None:
    for symbol in ("USDC", "USDT"):
        token = deploy_token(base, symbol, salt=b"\x07".rjust(32, b"\0"))
        assert "token contract" in refusal("base", token)
    wallet = deploy_wallet(base, payer(base))
    assert look("base", wallet).warning
    # A key's account that borrows the wallet's code, or a token's, stays the key's (EIP-7702).
    for code in (wallet, deploy_token(base, "USDC")):
        base.rpc("anvil_setCode", AT, f"0xef0100{code[2:].lower()}")
        assert look("base", AT) == Inspected(AT)


def test_tethers_own_contract_on_tron_is_a_token_by_its_own_answers(tron_node: TronNode, settings: Any) -> None:
    settings.CHAIN_SETTINGS = {"TRON_RPC_URLS": tron_node.url}
    code = tron_node.anvil.code(to_hex(TRON_USDT))
    tron_node.anvil.rpc("anvil_setCode", AT, f"0x{code.hex()}")
    assert "token contract" in refusal("tron", to_base58(AT))


def test_a_contract_on_another_evm_chain_is_no_plain_wallet_here(
    base_node: Anvil, ethereum_node: Anvil, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url, "ETHEREUM_RPC_URLS": ethereum_node.url}
    ethereum_node.rpc("anvil_setCode", AT, answering_code(OWNERS))
    found = look("base", AT)
    assert ("contract on Ethereum" in (found.warning or ""), found.contract_on) == (True, "ethereum")
    ethereum_node.rpc("anvil_setCode", AT, answering_code(WETH))
    assert "on Ethereum is a token contract" in refusal("base", AT)


def test_accounts_on_solana(solana: "SolanaNode") -> None:
    owner = Keypair().pubkey()
    assert look("solana", str(owner)) == Inspected(str(owner))
    solana.airdrop(str(owner))
    assert look("solana", str(owner)) == Inspected(str(owner))
    for program in (Pubkey.from_string(decode.TOKEN_PROGRAM), TOKEN_2022):
        mint = solana.create_token(program=program)
        assert "token contract" in refusal("solana", mint)
        # The owner's own token account, before and after it is there.
        account = solana.token_account(str(owner), token=mint)
        assert "no key" in refusal("solana", account)
        solana.fund(str(owner), 5, token=mint)
        assert f"is a token account, not a wallet. It belongs to {owner}. Give that" in refusal("solana", account)
    fee_mint = solana.create_fee_token(basis_points=100)
    assert "token contract" in refusal("solana", fee_mint)
    table = solana.create_lookup_table([str(owner)])
    assert "a program" in refusal("solana", str(table.key))


def test_a_vault_on_solana_is_a_wallet_with_a_warning_once_it_is_there(solana: "SolanaNode") -> None:
    vault, _ = Pubkey.find_program_address([b"vault"], Keypair().pubkey())
    assert "no key" in refusal("solana", str(vault))
    solana.airdrop(str(vault))
    assert look("solana", str(vault)).warning


def test_accounts_on_ton(ton: "TonNode") -> None:
    wallet = ton.create_wallet(units=5)
    friendly = look("ton", wallet.address)
    assert friendly.warning is None
    # Once it has sent something, its code is there.
    ton.pay(wallet.address, 1, payer=ton.payer)
    assert look("ton", ton.payer.address).warning is None
    for owner in (wallet.address, ton.payer.address):
        assert "token account" in refusal("ton", ton.jetton_wallet(owner))
    assert "token contract" in refusal("ton", ton.usdt)


def answered(call: str, result: Any) -> Any:
    """Have a node answer one method so."""

    def fault(_: str, answer: Answer) -> Answer:
        told = orjson.loads(answer.body)
        return Answer(orjson.dumps(told | {"result": result}))

    return fault


@pytest.mark.parametrize("result", ["0x", "yes", None, 7, {}, [], "0xzz", {"context": {"slot": 1}, "value": 7}])
def test_an_answer_that_is_none_stores_nothing(
    solana_node: "SolanaNode", base_node: Anvil, settings: Any, result: Any
) -> None:
    settings.CHAIN_NETWORK = "local"
    for chain, node, address in (("solana", solana_node, USDC), ("base", base_node, AT)):
        with HttpProxy(node.url) as proxy:
            proxy.fault = answered(chain, result)
            settings.CHAIN_SETTINGS = {f"{chain.upper()}_RPC_URLS": proxy.url}
            with pytest.raises((UnavailableError, InvalidRequestError)):
                look(chain, address)


@pytest.mark.parametrize("urls", [{}, {"BASE_RPC_URLS": "http://127.0.0.1:1"}])
def test_without_a_nodes_answer_the_page_says_so(settings: Any, urls: dict[str, str]) -> None:
    settings.CHAIN_SETTINGS = urls
    with pytest.raises(UnavailableError, match="Nothing was saved"):
        look("base", WALLET)


def test_a_second_node_answers_where_the_first_is_away_and_the_worst_answer_counts(
    base_node: Anvil, settings: Any
) -> None:
    away = "http://127.0.0.1:1"
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": f"{away},{base_node.url}"}
    assert look("base", AT) == Inspected(AT)
    base_node.rpc("anvil_setCode", AT, answering_code(WETH))
    with HttpProxy(base_node.url) as liar:
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": f"{liar.url},{base_node.url}"}
        liar.fault = without_code
        assert "token contract" in refusal("base", AT)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32601, "the method eth_call does not exist/is not available"),
        (-32000, "header not found"),
        (-32000, "execution aborted (timeout = 5s)"),
        (-32001, "monthly quota exceeded"),
    ],
)
def test_a_node_that_allows_no_calls_says_nothing_about_a_wallet(
    base: Anvil, settings: Any, code: int, message: str
) -> None:
    base.rpc("anvil_setCode", AT, answering_code(OWNERS))
    passed = {base.rpc("eth_chainId"), base.rpc("eth_getCode", AT, "latest")}
    error = {"id": 1, "error": {"code": code, "message": message}}

    def refused(_: str, answer: Answer) -> Answer:
        is_passed = orjson.loads(answer.body).get("result") in passed
        return answer if is_passed else Answer(orjson.dumps(error))

    with HttpProxy(base.url) as proxy:
        proxy.fault = refused
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": proxy.url}
        with pytest.raises(UnavailableError):
            look("base", AT)
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": f"{proxy.url},{base.url}"}
        assert look("base", AT).warning


def test_nodes_that_keep_silent_hold_nobody_longer_than_the_deadline(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wallets.receiving.inspection._SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings.CHAIN_SETTINGS = {f"{chain}_RPC_URLS": f"{url},{url}/2" for chain in ("BASE", "POLYGON")}
        began = time.monotonic()
        with pytest.raises(UnavailableError, match="Nothing was saved"):
            look("base", AT)
        assert time.monotonic() - began < 5


def without_code(_: str, answer: Answer) -> Answer:
    told = orjson.loads(answer.body)
    is_code = len(str(told.get("result"))) > 80
    return Answer(orjson.dumps(told | {"result": "0x"})) if is_code else answer


def test_a_merchant_looks_up_so_many_addresses_a_minute(base: Anvil) -> None:
    now = timezone.now()
    for _ in range(20):
        inspect("base", AT, now=now, asker="1")
    with pytest.raises(RateLimitError):
        inspect("base", AT, now=now, asker="1")
    inspect("base", AT, now=now, asker="2")


SOMEBODY = "EQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinaPP"
RAW = f"0:{address_key(SOMEBODY)[1:].hex().upper()}"
UNKNOWN_CODE = base64.b64encode(bytes(32)).decode()
# Of wallet v3r2, as TON's explorers name it.
WALLET_CODE = "hNr6RJ+Ypph3ibojI1gHK8D3bcRSQAKl0JGLmnXS1Zk="
HAS = {"get_wallet_data": 0, "get_jetton_data": 1, "get_nft_data": 2}
HAS |= {"get_collection_data": 3, "get_multisig_data": 4, "get_public_key": 5}


def telling(account: Any, *, methods: int = -1) -> Any:
    """An index that tells so of an account, whose contract has the method of this place in the order of questions."""
    asked = iter(range(100))

    def fault(target: str, answer: Answer) -> Answer:
        told = orjson.loads(answer.body)
        if "accountStates" in target:
            told = {"accounts": account}
        elif "runGetMethod" in target:
            told = {"exit_code": 0 if next(asked) == methods else 11, "stack": []}
        return Answer(orjson.dumps(told))

    return fault


def active(**fields: Any) -> list[Any]:
    return [{"address": RAW, "status": "active", "code_hash": UNKNOWN_CODE} | fields]


@pytest.mark.parametrize(
    ("account", "method", "words"),
    [
        (active(status="frozen", code_hash=None), -1, "frozen"),
        (active(code_hash=WALLET_CODE), -1, ""),
        (active(code_hash=WALLET_CODE), HAS["get_wallet_data"], ""),
        (active(), HAS["get_wallet_data"], "token account"),
        (active(), HAS["get_jetton_data"], "token contract"),
        (active(), HAS["get_nft_data"], "an NFT"),
        (active(), HAS["get_collection_data"], "an NFT"),
        (active(), -1, "router or an exchange"),
        (active(), HAS["get_multisig_data"], None),
        (active(), HAS["get_public_key"], ""),
        (active(status="uninit", code_hash=None), -1, ""),
        ([], -1, ""),
    ],
)
def test_what_an_index_of_ton_tells_of_an_account_decides(
    ton_node: "TonNode", settings: Any, account: Any, method: int, words: str | None
) -> None:
    settings.CHAIN_NETWORK = "local"
    with HttpProxy(ton_node.url) as proxy:
        settings.CHAIN_SETTINGS = {"TON_RPC_URLS": proxy.url}
        proxy.fault = telling(account, methods=method)
        if words:
            assert words in refusal("ton", SOMEBODY)
        else:
            assert bool(look("ton", SOMEBODY).warning) == (words is None)


@pytest.mark.parametrize(
    "account",
    [
        active(address="0:" + "0" * 64),
        active(status="fine"),
        active(status=["active"]),
        active(code_hash=7),
        [*active(), *active()],
        "none",
        [7],
    ],
)
def test_a_false_index_of_ton_stores_nothing(ton_node: "TonNode", settings: Any, account: Any) -> None:
    settings.CHAIN_NETWORK = "local"
    with HttpProxy(ton_node.url) as proxy:
        settings.CHAIN_SETTINGS = {"TON_RPC_URLS": proxy.url}
        proxy.fault = telling(account, methods=HAS["get_public_key"])
        with pytest.raises(UnavailableError):
            look("ton", SOMEBODY)


def test_each_way_to_a_wallet_asks_the_chain_first() -> None:
    """What stores an address trusts its caller. Of the demo, the addresses are its own; a proof follows a look-up."""
    stores = re.compile(r"\b(?:set_receiving_wallet|set_machine_wallet|request_wallet|ask_for_proof|start_proof)\(")
    asks = re.compile(r"\b(?:inspect|look_up)\(")
    trusted = {"service.py", "proofs.py", "seed.py"}
    callers = {
        path
        for path in python_sources()
        if relative(path).split("/")[0] not in {"tests", "benchmarks"}
        if stores.search(path.read_text()) and path.name not in trusted
    }
    assert {path.name for path in callers} >= {"create_merchant.py", "steps.py"}
    assert [path for path in callers if not asks.search(path.read_text())] == []
