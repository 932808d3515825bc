"""Contract wallets that prove themselves: the chain's node asks the contract, and may answer anything."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct

from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError, RateLimitError, UnavailableError
from localnet.abi import encode_arguments
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.smart_wallet import deploy_wallet
from tests.factories import make_merchant, make_wallet
from tests.nodes.proxy import Answer, Ask, Dropped, Request, RpcProxy
from tests.wallets.proving import prove, start
from tests.wallets.signing import Signer
from wallets.models import ReceivingWallet, WalletChange, WalletProof
from wallets.receiving.proofs import message_of

pytestmark = pytest.mark.django_db
ERC6492 = "6492" * 16
YES = "0x1626ba7e" + "00" * 28


class Safe(Signer):
    """A contract wallet, whose owner signs for it."""

    def __init__(self, node: Anvil, owner: int = 1) -> None:
        super().__init__("ethereum")
        held = payer(node)
        object.__setattr__(self, "at", deploy_wallet(node, held))
        object.__setattr__(self, "key", node.accounts[owner].key)

    @property
    def address(self) -> str:
        return str(self.at)  # type: ignore[attr-defined]

    def sign(self, message: str) -> str:
        signable = encode_defunct(text=message)
        signed = Account.sign_message(signable, self.key)  # type: ignore[attr-defined]
        return "0x" + bytes(signed.signature).hex() + "00"


@pytest.fixture
def proxy(ethereum_node: Anvil, settings: Any) -> Iterator[RpcProxy]:
    """What stands before Ethereum's only node."""
    with RpcProxy(ethereum_node.url) as proxy:
        settings.CHAIN_SETTINGS = {"ETHEREUM_RPC_URLS": proxy.url}
        yield proxy


def answering(result: Any) -> Any:
    """Have a node answer every call of a contract so."""

    def fault(_: RpcProxy, request: Request, ask: Ask) -> Answer:
        if request["method"] != "eth_call":
            return Answer(json.dumps(ask(request)).encode())
        told = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        return Answer(json.dumps(told).encode())

    return fault


def hang_up(_: RpcProxy, request: Request, ask: Ask) -> Answer:
    if request["method"] == "eth_call":
        raise Dropped
    return Answer(json.dumps(ask(request)).encode())


def test_a_contract_wallet_takes_its_address_back(
    owned_merchant: Merchant, proxy: RpcProxy, ethereum_node: Anvil
) -> None:
    safe = Safe(ethereum_node)
    squatter = make_merchant("Squatter Ltd")
    make_wallet(squatter, "ethereum", safe.address)
    answer = prove(start(owned_merchant, safe), safe)
    assert isinstance(answer, WalletChange)
    assert squatter.receiving_wallets.get().taken_over_at is not None


def test_a_signature_that_would_deploy_the_wallet_is_read_where_it_is_deployed(
    owned_merchant: Merchant, proxy: RpcProxy, ethereum_node: Anvil
) -> None:
    safe = Safe(ethereum_node)
    proof = start(owned_merchant, safe)
    inner = bytes.fromhex(safe.sign(message_of(proof))[2:])
    kinds = ["address", "bytes", "bytes"]
    wrapped = encode_arguments(kinds, safe.address, b"make", inner).hex() + ERC6492
    answer = prove(proof, safe, signature=wrapped)
    assert isinstance(answer, ReceivingWallet)
    assert WalletProof.objects.get().signature == wrapped


def test_what_the_contract_does_not_vouch_for_proves_nothing(
    owned_merchant: Merchant, proxy: RpcProxy, ethereum_node: Anvil
) -> None:
    stranger = Safe(ethereum_node, owner=7)
    with pytest.raises(InvalidRequestError):
        prove(start(owned_merchant, stranger), stranger)
    mine = Safe(ethereum_node)
    other = mine.sign("another message")
    for spoilt in (other, "0x", "zz", "0x" + "00" * 66, "00" * 40 + ERC6492):
        with pytest.raises(InvalidRequestError):
            prove(start(owned_merchant, mine), mine, signature=spoilt)
    assert not ReceivingWallet.objects.exists()


@pytest.mark.parametrize(
    "result",
    [
        "0x",
        "0x1626ba7e",
        "0x" + "00" * 28 + "1626ba7e",
        "0x" + "ff" * 32,
        "0x1626ba7e" + "00" * 27 + "01",
        YES[:-2],
        "0x" + "00" * 32 + YES[2:],
    ],
)
def test_an_answer_that_is_not_exactly_yes_is_a_no(
    owned_merchant: Merchant, proxy: RpcProxy, ethereum_node: Anvil, result: str
) -> None:
    safe = Safe(ethereum_node)
    proxy.fault = answering(result)
    with pytest.raises(InvalidRequestError):
        prove(start(owned_merchant, safe), safe)
    assert not ReceivingWallet.objects.exists()


@pytest.mark.parametrize("result", [None, 1, True, [], {}, "yes", YES[2:], "0xzz"])
def test_an_answer_of_another_form_says_nothing_and_uses_nothing_up(
    owned_merchant: Merchant, proxy: RpcProxy, ethereum_node: Anvil, result: Any
) -> None:
    safe = Safe(ethereum_node)
    proof = start(owned_merchant, safe)
    proxy.fault = answering(result)
    with pytest.raises(UnavailableError, match="could not be asked"):
        prove(proof, safe)
    assert not ReceivingWallet.objects.exists()


def test_where_no_node_answers_the_proof_stays_open_and_then_proves(
    owned_merchant: Merchant, proxy: RpcProxy, ethereum_node: Anvil
) -> None:
    safe = Safe(ethereum_node)
    proof = start(owned_merchant, safe)
    honest, proxy.fault = proxy.fault, hang_up
    with pytest.raises(UnavailableError):
        prove(proof, safe)
    proxy.fault = honest
    assert isinstance(prove(proof, safe), ReceivingWallet)


def test_a_key_is_judged_without_asking_a_node(owned_merchant: Merchant, proxy: RpcProxy) -> None:
    assert isinstance(prove(start(owned_merchant)), ReceivingWallet)
    assert proxy.requests == 0


@pytest.mark.usefixtures("still_window")
def test_one_merchant_has_ten_signatures_a_minute_asked_about(owned_merchant: Merchant, proxy: RpcProxy) -> None:
    proof = start(owned_merchant)
    for _ in range(10):
        with pytest.raises(InvalidRequestError):
            prove(proof, signature="0x12")
    with pytest.raises(RateLimitError):
        prove(proof, signature="0x12")
