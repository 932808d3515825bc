"""The demo's wallets: a real transfer of exactly so much on each family's node, with what its payment link asks for."""

import base64
import multiprocessing
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from solders.keypair import Keypair

from demo.families import DEMO_FAMILIES
from demo.nodes.base import LocalChain
from demo.payments import Wish, pay_option
from demo.wallet import pay
from demo.wallets.base import WalletError
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.solana.node import USDC, SolanaNode
from localnet.tokens import balance_of, token_address
from localnet.ton.node import TonNode
from localnet.tron.addresses import to_base58, to_hex
from localnet.tron.node import USDT, TronNode

UNITS = 12_340_017
AMOUNT = "12.340017"
TOO_MUCH = "999999999999"
BUYER = "0x000000000000000000000000000000000000dEaD"


class Till(NamedTuple):
    """A family's own test node, described as var/demo.json describes the demo's, and somebody to pay there."""

    entry: dict[str, Any]
    to: str
    balance: Callable[[], int]


def entry_of(name: str, kind: str, node: Any, tokens: dict[str, str], address: str, key: str) -> dict[str, Any]:
    """What var/demo.json says of a chain."""
    anvil = getattr(node, "anvil", node)
    chain_id = getattr(anvil, "chain_id", None)
    return LocalChain(name, kind, node.url, anvil.url, tokens, address, key, chain_id).as_json()


def evm_entry(node: Anvil) -> dict[str, Any]:
    """An EVM chain with USDC."""
    return entry_of("base", "evm", node, {"USDC": token_address("USDC")}, payer(node).address, payer(node).key)


def ton_entry(node: TonNode) -> dict[str, Any]:
    """TON with USDT."""
    return entry_of("ton", "ton", node, {"USDT": node.usdt}, node.payer.address, node.payer.seed.hex())


@pytest.fixture(scope="module")
def ton() -> Iterator[TonNode]:
    with TonNode() as node:
        yield node


@pytest.fixture
def till(request: pytest.FixtureRequest) -> Till:
    """The node of the family that the test is run for."""
    if request.param == "evm":
        base: Anvil = request.getfixturevalue("base_node")
        return Till(evm_entry(base), BUYER, lambda: balance_of(base, token_address("USDC"), BUYER))
    to = DEMO_FAMILIES[request.param].receiving_wallet
    if request.param == "tron":
        tron: TronNode = request.getfixturevalue("tron_node")
        account = payer(tron.anvil)
        entry = entry_of("tron", "tron", tron, {"USDT": USDT}, to_base58(account.address), account.key)
        return Till(entry, to, lambda: balance_of(tron.anvil, to_hex(USDT), to_hex(to)))
    if request.param == "solana":
        solana: SolanaNode = request.getfixturevalue("solana_node")
        key = solana.payer
        entry = entry_of("solana", "solana", solana, {"USDC": USDC}, str(key.pubkey()), str(key))
        return Till(entry, to, lambda: solana.balance(to))
    ton: TonNode = request.getfixturevalue("ton")
    return Till(ton_entry(ton), to, lambda: ton.balance(to))


@pytest.mark.parametrize("till", ["evm", "tron", "solana", "ton"], indirect=True)
def test_a_wallet_sends_exactly_the_amount_and_nothing_when_it_has_too_little(till: Till) -> None:
    [token] = till.entry["tokens"]
    before = till.balance()
    assert pay(till.entry, token=token, to=till.to, amount=AMOUNT)
    assert till.balance() == before + UNITS
    with pytest.raises(WalletError, match="did not take the transfer"):
        pay(till.entry, token=token, to=till.to, amount=TOO_MUCH)
    assert till.balance() == before + UNITS


@pytest.mark.parametrize("till", ["tron"], indirect=True)
def test_a_tron_wallet_writes_its_hashes_as_tron_does(till: Till, tron_node: TronNode) -> None:
    tx_hash = pay(till.entry, token="USDT", to=till.to, amount=AMOUNT)
    assert tron_node.anvil.receipt(f"0x{tx_hash}")["status"] == "0x1"


@pytest.mark.parametrize("till", ["solana"], indirect=True)
def test_a_solana_wallet_names_the_links_reference_and_writes_a_memo(till: Till, solana_node: SolanaNode) -> None:
    reference = str(Keypair().pubkey())
    signature = pay(till.entry, token="USDC", to=till.to, amount=AMOUNT, reference=reference, comment="order 17")
    [listed] = solana_node.rpc("getSignaturesForAddress", reference, {"commitment": "confirmed"})
    assert listed["signature"] == signature
    assert "order 17" in listed["memo"]


def test_where_transfers_carry_no_comment_the_wallet_refuses_one(base_node: Anvil) -> None:
    with pytest.raises(WalletError, match="no comment"):
        pay(evm_entry(base_node), token="USDC", to=BUYER, amount="1", comment="x")
    assert balance_of(base_node, token_address("USDC"), BUYER) == 0


@pytest.mark.parametrize(
    ("wish", "units", "comment"),
    [
        (Wish("ton"), UNITS, b"K7QX"),
        (Wish("ton", comment="another"), UNITS, b"another"),
        (Wish("ton", amount="1.5"), 1_500_000, None),
        (Wish("ton", amount="1.5", comment="by hand"), 1_500_000, b"by hand"),
    ],
)
def test_a_payment_follows_the_link_unless_it_is_typed_by_hand(
    ton: TonNode, wish: Wish, units: int, comment: bytes | None
) -> None:
    to = ton.create_wallet(nanotons=0).address
    link = f"ton://transfer/{to}?jetton=EQ&amount={UNITS}&text=K7QX"
    pay_option(ton_entry(ton), {"address": to, "payAmount": AMOUNT, "paymentUri": link}, wish)
    [row] = ton.get("jetton/transfers", owner_address=to, direction="in")["jetton_transfers"]
    payload = row["forward_payload"] and base64.b64decode(row["forward_payload"])
    assert row["amount"] == str(units)
    assert payload is None if comment is None else comment in payload


def pay_one(entry: dict[str, Any]) -> None:
    """Pay one USDC, in a process that knows no Django."""
    pay(entry, token="USDC", to=BUYER, amount="1")


def test_wallets_of_two_processes_never_sign_with_one_number(base_node: Anvil) -> None:
    spawn = multiprocessing.get_context("spawn")
    jobs = [spawn.Process(target=pay_one, args=(evm_entry(base_node),)) for _ in range(3)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(180)
    assert [job.exitcode for job in jobs] == [0, 0, 0]
    assert balance_of(base_node, token_address("USDC"), BUYER) == 3_000_000
