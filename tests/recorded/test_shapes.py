"""The emulators answer in the shapes that mainnet nodes do, as far as the adapters read them."""

import http.client
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from solders.keypair import Keypair

from localnet import tokens
from localnet.anvil import Anvil
from localnet.errors import NodeError
from localnet.funding import payer
from localnet.solana.node import USDC, SolanaNode
from localnet.ton.node import TonNode
from localnet.tron.node import TronNode
from tests.recorded.samples import sample
from tests.recorded.stages import as_json_encoding
from wallets.chains.evm import decode as evm_decode
from wallets.chains.rpc.client import Node
from wallets.chains.solana import decode as solana_decode
from wallets.chains.solana.changes import read_strangers, read_transaction
from wallets.chains.ton import decode as ton_decode
from wallets.chains.ton.questions import lone_transactions
from wallets.chains.tron import grid as trongrid_decode

Shape = Mapping[str, frozenset[str]]
"""The JSON types found at each path."""


class _TracedObject(dict[str, Any]):
    """An object that notes which of its fields are looked at."""

    def __init__(self, fields: Mapping[str, Any], path: str, read: set[str]) -> None:
        super().__init__(fields)
        self._path, self._read = path, read

    def __getitem__(self, name: str) -> Any:
        self._note(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._note(name)
        return super().get(name, default)

    def _note(self, name: str) -> None:
        if name in self:
            self._read.add(_below(self._path, name))


def traced(answer: Any, read: set[str], path: str = "") -> Any:
    """Return an answer that adds the paths of the fields that are looked at to `read`."""
    if isinstance(answer, dict):
        fields = {name: traced(one, read, _below(path, name)) for name, one in answer.items()}
        return _TracedObject(fields, path, read)
    if isinstance(answer, list):
        return [traced(one, read, f"{path}[]") for one in answer]
    return answer


def shape_of(*answers: Any) -> Shape:
    """Return the types of all answers' fields together."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for answer in answers:
        _add(answer, "", found)
    return {path: frozenset(types) for path, types in found.items()}


def lacking(read: set[str], *, recorded: Shape, emulated: Shape) -> list[str]:
    """Return what an emulator's answer lacks of the fields that were read, and those that have another type there."""
    return sorted(
        f"{path}: {sorted(recorded[path])}, not {sorted(emulated.get(path, ()))}"
        for path in read
        if not _known(recorded[path]) <= emulated.get(path, frozenset()) or path not in emulated
    )


def different(*, recorded: Shape, emulated: Shape) -> list[str]:
    """Return the fields that both answers have, and whose types are known in both and not the same."""
    return sorted(
        f"{path}: {sorted(types)}, not {sorted(emulated[path])}"
        for path, types in recorded.items()
        if path in emulated and _known(types) and _known(emulated[path]) and not _known(types) & _known(emulated[path])
    )


def _known(types: frozenset[str]) -> frozenset[str]:
    """Null says nothing of what a field holds otherwise."""
    return types - {"null"}


def _add(answer: Any, path: str, found: defaultdict[str, set[str]]) -> None:
    found[path].add(_type_of(answer))
    if isinstance(answer, dict):
        for name, one in answer.items():
            _add(one, _below(path, name), found)
    if isinstance(answer, list):
        for one in answer:
            _add(one, f"{path}[]", found)


def _type_of(answer: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "list", type(None): "null"}
    return names.get(type(answer), "object")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


BUYER = "0x" + "5a" * 20
TRON_BUYER = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"
TRON_USDT = "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c"
FIRST = "0x0"


def assert_alike(read: Callable[[Any], object], recorded: list[Any], emulated: list[Any]) -> None:
    """Read recorded answers, and look in the emulator's for all that was read. Both must hold at least one."""
    fields: set[str] = set()
    for answer in recorded:
        read(traced(answer, fields))
    assert fields
    real, local = shape_of(*recorded), shape_of(*emulated)
    assert lacking(fields, recorded=real, emulated=local) == []
    assert different(recorded=real, emulated=local) == []


def rpc(method: str, *params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}


def tron_post(node: TronNode, path: str, document: Any) -> Any:
    connection = http.client.HTTPConnection(urlsplit(node.grid_url).netloc, timeout=60)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(document), headers)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def pay_on(node: Anvil) -> str:
    usdc = tokens.token_address("USDC")
    return tokens.transfer(node, payer(node), usdc, BUYER, 25)


@pytest.fixture
def paid(base_node: Anvil) -> tuple[Anvil, str]:
    return base_node, pay_on(base_node)


@pytest.mark.parametrize("name", ["evm_ethereum_usdc", "evm_arbitrum_usdt_plain_transfer"])
def test_anvils_receipts_are_like_a_mainnets(name: str, paid: tuple[Anvil, str]) -> None:
    node, tx_hash = paid
    receipt = sample(f"{name}.receipt").result
    usdc = {log["address"] for log in receipt["logs"]}

    def read(answer: Any) -> object:
        return evm_decode.told_transfers(answer, tx_hash=receipt["transactionHash"], tokens=usdc)

    assert_alike(read, [receipt], [node.rpc("eth_getTransactionReceipt", tx_hash)])


@pytest.mark.parametrize("name", ["evm_ethereum_usdc", "evm_arbitrum_usdt_plain_transfer"])
def test_anvils_logs_are_like_a_mainnets(name: str, paid: tuple[Anvil, str]) -> None:
    node, _ = paid
    logs = node.rpc("eth_getLogs", {"fromBlock": FIRST})
    assert_alike(
        lambda answer: evm_decode.transfer_logs(evm_decode.sided_logs(answer), tokens={}),
        [sample(f"{name}.getLogs").result],
        [[log for log in logs if len(log["topics"]) == 3]],
    )


def test_the_tron_emulators_logs_have_all_that_is_recorded(tron_node: TronNode) -> None:
    """The recorded log is of another event, which the adapter refuses: all of its fields are compared."""
    tron_node.pay(TRON_BUYER, 25)
    question = {"fromBlock": FIRST, "toBlock": "latest"}
    answer = tron_post(tron_node, "/jsonrpc", rpc("eth_getLogs", question))
    recorded = shape_of(sample("tron_jsonrpc.eth_getLogs").result)
    emulated = shape_of(answer["result"])
    assert lacking(set(recorded), recorded=recorded, emulated=emulated) == []


def test_the_tron_emulators_transactions_are_like_the_recorded_one(tron_node: TronNode) -> None:
    tx_id = tron_node.pay(TRON_BUYER, 25)
    told = sample("tron_gettransactioninfobyid.usdt_transfer").response
    path = "/wallet/gettransactioninfobyid"

    def read(answer: Any) -> object:
        return trongrid_decode.transaction(answer, tx_id=told["id"], tokens={TRON_USDT}).logs

    emulated = tron_post(tron_node, path, {"value": tx_id})
    assert_alike(read, [told], [emulated])
    # Nothing recorded is left out either, read or not.
    assert set(shape_of(told)) <= set(shape_of(emulated))


def test_the_tron_emulators_listing_is_like_the_derived_one(tron_node: TronNode) -> None:
    tron_node.pay(TRON_BUYER, 25)
    tron_node.mine(20)
    told = sample("tron_v1_trc20_history.usdt_derived").response
    path = f"v1/accounts/{TRON_BUYER}/transactions/trc20"
    node = Node(tron_node.grid_url)
    emulated = node.get(path, [("only_confirmed", "true")])
    node.close()
    assert_alike(trongrid_decode.page_of, [told], [emulated])
    assert set(shape_of(told)) <= set(shape_of(emulated))


def solana_options(**options: Any) -> dict[str, Any]:
    return {"commitment": "confirmed", "maxSupportedTransactionVersion": 0} | options


@pytest.mark.parametrize("derived", [False, True], ids=["json", "a fee payer's"])
def test_the_solana_emulators_transactions_are_like_the_recorded_ones(derived: bool, solana_node: SolanaNode) -> None:
    name = "solana_getTransaction.usdc_transferChecked_json"
    told = sample(name + "Parsed" * derived).result
    told = as_json_encoding(told) if derived else told
    owner = str(Keypair().pubkey())
    # Into a new account, as the recorded ones, and into one that is there.
    paid = [solana_node.pay(owner, 25, memo="transfer") for _ in range(2)]
    emulated = [solana_node.rpc("getTransaction", one, solana_options(encoding="json")) for one in paid]

    def read(answer: Any) -> object:
        read_strangers(answer, known={USDC})
        signature = answer["transaction"]["signatures"][0]
        return read_transaction(answer, asked=signature, decimals={USDC: 6})

    assert_alike(read, [told], emulated)
    if not derived:
        missing = set(shape_of(told)) - set(shape_of(*emulated))
        assert missing == set()


def test_the_solana_emulators_parsed_transactions_have_all_that_is_recorded(solana_node: SolanaNode) -> None:
    told = sample("solana_getTransaction.usdc_transferChecked_jsonParsed").result
    signature = solana_node.pay(str(Keypair().pubkey()), 25, memo="transfer")
    options = solana_options(encoding="jsonParsed")
    emulated = shape_of(solana_node.rpc("getTransaction", signature, options))
    # What programs' instructions mean is parsed for memos alone: no adapter reads it.
    missing = {
        path
        for path in shape_of(told).keys() - emulated.keys()
        if ".parsed" not in path and not path.endswith(".program")
    }
    assert missing == set()
    assert not [one for one in different(recorded=shape_of(told), emulated=emulated) if ".parsed" not in one]


def test_the_solana_emulators_listing_is_like_the_recorded_one(solana_node: SolanaNode) -> None:
    owner = str(Keypair().pubkey())
    solana_node.pay(owner, 25, memo="transfer")
    solana_node.finalize()
    told = sample("solana_getSignaturesForAddress").result
    place = solana_node.token_account(owner)
    emulated = solana_node.rpc("getSignaturesForAddress", place, {})

    def read(answer: Any) -> object:
        return solana_decode.listed_signatures(answer, most=10)

    assert_alike(read, [told], [emulated])
    assert set(shape_of(told)) <= set(shape_of(emulated))


def test_the_solana_emulators_mint_is_like_the_recorded_ones(solana_node: SolanaNode) -> None:
    names = ["solana_mint.usdc_spl_token", "solana_mint.pyusd_token2022"]
    told = [sample(name).result for name in names]
    options = {"encoding": "jsonParsed", "commitment": "confirmed"}
    emulated = solana_node.rpc("getAccountInfo", USDC, options)
    assert_alike(solana_decode.mint_program, told, [emulated])
    assert set(shape_of(told[0])) <= set(shape_of(emulated))


def test_the_ton_emulators_masterchain_is_like_the_recorded_one(ton_node: TonNode) -> None:
    told = sample("ton_v3_masterchainInfo").response
    emulated = ton_node.get("masterchainInfo")

    def read(answer: Any) -> object:
        ton_decode.network_id(answer)
        return ton_decode.newest_block(answer), ton_decode.genesis_hash(answer)

    assert_alike(read, [told], [emulated])
    assert set(shape_of(told)) <= set(shape_of(emulated))


def test_the_ton_emulators_listing_is_like_the_recorded_ones(ton_node: TonNode) -> None:
    buyer = ton_node.create_wallet()
    ton_node.pay(buyer.address, 25)
    told = [
        sample("ton_v3_jetton_transfers.usdt_2024").response,
        sample("ton_v3_jetton_transfers.2026_fields").response,
    ]
    emulated = ton_node.get("jetton/transfers", owner_address=buyer.address)

    def read(answer: Any) -> object:
        return [ton_decode.listed(row) for row in answer["jetton_transfers"]]

    assert_alike(read, told, [emulated])
    assert set(shape_of(*told)) <= set(shape_of(emulated))


def test_the_ton_emulators_transactions_are_like_the_recorded_ones(ton_node: TonNode) -> None:
    buyer = ton_node.create_wallet()
    ton_node.pay(buyer.address, 25)
    told = [
        sample("ton_v3_transactions.jetton_transfer_sender_success").response,
        sample("ton_v3_transactions.aborted").response,
    ]
    emulated = ton_node.get("transactions", limit=1_000)
    assert_alike(lone_transactions, told, [emulated])


def test_the_ton_emulators_rate_limit_is_the_recorded_one(ton_node: TonNode) -> None:
    told = sample("ton_rate_limited").response
    ton_node.limit_rate(1)
    with pytest.raises(NodeError) as refusal:
        ton_node.get("masterchainInfo")
    assert refusal.value.code == told["code"]


def test_the_comparison_sees_a_missing_field_and_another_type() -> None:
    recorded = {"a": [{"b": "1", "c": None}], "d": 1}
    read: set[str] = set()
    answer = traced(recorded, read)
    assert answer["a"][0].get("b") == "1"
    assert answer.get("none") is None
    assert read == {"a", "a[].b"}
    real = shape_of(recorded)

    def compare(emulated: Any) -> list[str]:
        return lacking(read, recorded=real, emulated=shape_of(emulated))

    assert compare({"a": [{"b": "2"}]}) == []
    assert compare({"a": [{}]}) == ["a[].b: ['string'], not []"]
    assert compare({"a": [{"b": 2}]}) == ["a[].b: ['string'], not ['number']"]
    other = shape_of({"d": "1"})
    assert different(recorded=real, emulated=other) == ["d: ['number'], not ['string']"]
