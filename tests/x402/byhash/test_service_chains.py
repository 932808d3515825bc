"""A payment on each of the chains, proven by its hash."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.states import Mode
from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil
from localnet.tron.node import USDT as TRON_USDT
from localnet.tron.node import TronNode, prepare_tron
from tests.chains import connect
from tests.contract.client import ApiClient, client_of
from tests.factories import make_live_chain, make_merchant, make_user, make_wallet
from tests.wallets.contract.hostile import Answer, Fault, HttpProxy, honest
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import Claim, ask, verdict
from tests.x402.payers import UNITS, paid, pay_to_of
from wallets.models import ChainCursor, Transfer
from wallets.receiving.service import set_machine_wallet
from wallets.selectors import forget
from wallets.transfers.service import NewTransfer, record_transfers
from x402.models import X402Payment
from x402.payments.transfers import follow_transfers

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode

pytestmark = pytest.mark.django_db

SOLANA_WALLET = "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"
TRON_WALLET = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
TON_WALLET = "EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N"


def evm_seller(settings: Any, chain: str, node: Anvil) -> ApiClient:
    prepare_chain(node)
    connect(settings, **{chain: node.url})
    merchant = make_merchant()
    make_wallet(merchant, chain)
    forget()
    return client_of(merchant, Mode.LIVE)


def own_wallet_seller(chain: str, address: str) -> ApiClient:
    """A live key of a merchant whose machines pay a wallet of its own, which no watcher has read yet."""
    merchant = make_merchant()
    ChainCursor.objects.all().delete()
    forget()
    set_machine_wallet(merchant, chain=chain, address=address, actor=Actor(make_user()), now=timezone.now())
    return client_of(merchant, Mode.LIVE)


def test_ethereum_pays_a_forwarder_too(ethereum_node: Anvil, settings: Any) -> None:
    seller = evm_seller(settings, "ethereum", ethereum_node)
    assert seller.get("/x402/config").body["settlement"] == {"ethereum": "batch"}
    early = paid(ethereum_node, seller, chain="ethereum")
    assert verdict(seller, early) == "valid"
    assert verdict(seller, early) == "already_used"
    read_all(make_watcher(ethereum_node.url, chain="ethereum"))
    claim = paid(ethereum_node, seller, chain="ethereum")
    read_all(make_watcher(ethereum_node.url, chain="ethereum"))
    assert Transfer.objects.filter(tx_hash=claim.tx_hash, purpose="x402").exists()
    assert verdict(seller, claim) == "valid"


def test_one_transaction_s_hash_means_nothing_on_another_chain(base: Anvil, polygon_node: Anvil, settings: Any) -> None:
    seller = evm_seller(settings, "polygon", polygon_node)
    connect(settings, base=base.url, polygon=polygon_node.url)
    assert seller.merchant is not None
    make_wallet(seller.merchant, "base")
    forget()
    claim = paid(polygon_node, seller, chain="polygon")
    assert pay_to_of(seller, "base") == claim.pay_to
    assert verdict(seller, claim, chain="base") == "not_found"
    assert verdict(seller, claim, network="base") == "wrong_chain"
    assert verdict(seller, claim) == "valid"
    assert verdict(seller, claim) == "already_used"


def test_tron(tron_node: TronNode, settings: Any) -> None:
    prepare_tron(tron_node.anvil)
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        "TRON_RPC_URLS": tron_node.url,
        "TRON_GRID_URLS": tron_node.grid_url,
        "TRON_TOKEN_USDT": TRON_USDT,
    }
    seller = own_wallet_seller("tron", TRON_WALLET)
    assert seller.get("/x402/config").body == {
        "payTo": {"tron": TRON_WALLET},
        "networks": ["tron"],
        "assets": {"tron": ["USDT"]},
        "scheme": "exact",
        "settlement": {"tron": "direct"},
        "missing": [],
        "requiresSignature": False,
    }
    tx_hash = tron_node.pay(TRON_WALLET, UNITS)
    claim = Claim("tron", "USDT", tx_hash, tron_node.payer_address, TRON_WALLET)
    assert verdict(seller, claim) == "not_confirmed"
    tron_node.mine(2)
    assert verdict(seller, claim, tx_hash=f"0x{tx_hash.upper()}") == "valid"
    assert verdict(seller, claim) == "already_used"


def test_solana_pays_the_owner_of_the_token_account(solana_node: "SolanaNode", settings: Any) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    seller = own_wallet_seller("solana", SOLANA_WALLET)
    tx_hash = solana_node.pay(SOLANA_WALLET, UNITS)
    payer = str(solana_node.payer.pubkey())
    claim = Claim("solana", "USDC", tx_hash, payer, SOLANA_WALLET)
    assert verdict(seller, claim, payer=SOLANA_WALLET) == "wrong_payer"
    assert verdict(seller, claim) == "valid"
    assert verdict(seller, claim) == "already_used"
    # Base58 tells upper case from lower: another case is another hash, or none.
    swapped = ask(seller, claim, tx_hash=tx_hash.swapcase())
    assert swapped.status == 400 or swapped.body["reason"] == "not_found"
    failed = solana_node.fail(SOLANA_WALLET, UNITS)
    assert verdict(seller, claim, tx_hash=failed) == "failed_transaction"


@pytest.fixture
def ton_claim(ton_node: "TonNode", settings: Any) -> tuple[ApiClient, Claim]:
    """A payment on TON, under the hash of the transaction by which it arrived."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        "TON_RPC_URLS": ton_node.url,
        "TON_TOKEN_USDT": ton_node.usdt,
        # Payers know none of the names that watchers record: each time the node is asked.
        "TON_REQUESTS_PER_MINUTE": "600",
    }
    seller = own_wallet_seller("ton", TON_WALLET)
    tx_hash = ton_node.pay(TON_WALLET, UNITS)
    ton_node.advance(2)
    claim = Claim("ton", "USDT", tx_hash, ton_node.payer.address, TON_WALLET)
    return seller, claim


def names_of(node: "TonNode", tx_hash: str) -> list[str]:
    """Every hash of the trace: of what the payer signed, of its wallet's transaction, of all that followed."""
    [trace] = node.get("traces", tx_hash=tx_hash)["traces"]
    order = trace["transactions_order"]
    signed = trace["transactions"][order[0]]["in_msg"]["hash"]
    return [signed, *order]


def test_on_ton_one_payment_has_many_names_and_is_used_once(
    ton_claim: tuple[ApiClient, Claim], ton_node: "TonNode"
) -> None:
    seller, claim = ton_claim
    first, *others = names_of(ton_node, claim.tx_hash)
    assert verdict(seller, claim, tx_hash=first) == "valid"
    payment = X402Payment.objects.get()
    # Kept under the movement's own name, whichever was shown.
    assert payment.tx_hash == claim.tx_hash
    for name in (first, *others, claim.tx_hash):
        assert verdict(seller, claim, tx_hash=name) == "already_used"
    assert X402Payment.objects.count() == 1


def test_on_ton_what_a_watcher_recorded_is_known_under_every_name(
    ton_claim: tuple[ApiClient, Claim], ton_node: "TonNode"
) -> None:
    seller, claim = ton_claim
    recorded = record_like_a_watcher(claim)
    name = names_of(ton_node, claim.tx_hash)[0]
    assert verdict(seller, claim, tx_hash=name) == "valid"
    assert X402Payment.objects.get().transfer == recorded
    assert verdict(seller, claim) == "already_used"
    now = timezone.now()
    Transfer.objects.update(state="confirmed", confirmed_at=now, queued_at=now)
    follow_transfers(now=now)
    # The money is in the merchant's own wallet already.
    payment = X402Payment.objects.get()
    assert (payment.status, payment.settled_at) == ("settled", now)


def under_way(is_missing: Callable[[Mapping[str, Any]], bool]) -> Fault:
    """Tell traces as an index does while messages are under way, without some of their transactions."""

    def fault(target: str, answer: Answer) -> Answer:
        if "/traces?" not in target:
            return answer
        told = json.loads(answer.body)
        for trace in told["traces"]:
            kept = {name: one for name, one in trace["transactions"].items() if not is_missing(one)}
            trace |= {"transactions": kept, "trace_info": trace["trace_info"] | {"trace_state": "pending"}}
        return Answer(json.dumps(told).encode())

    return fault


def test_on_ton_a_payment_under_way_may_be_asked_for_again(
    ton_claim: tuple[ApiClient, Claim], ton_node: "TonNode", settings: Any
) -> None:
    from localnet.ton.messages import Payment

    seller, claim = ton_claim
    # The payer's wallet pays two at once: what arrived elsewhere says nothing of the rest.
    ton_node.send([Payment(ton_node.create_wallet().address, UNITS), Payment(TON_WALLET, UNITS)])
    ton_node.advance(2)
    place = ton_node.jetton_wallet(TON_WALLET)
    [mine] = ton_node.get("transactions", account=place, limit=1)["transactions"]
    name = names_of(ton_node, base64.b64decode(mine["hash"]).hex())[0]
    lacking: list[Callable[[Mapping[str, Any]], bool]] = [
        lambda one: bool(one["hash"] == mine["hash"]),
        lambda one: bool(one["in_msg"]["opcode"] == "0x178d4519"),
    ]
    with HttpProxy(ton_node.url) as proxy:
        settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"TON_RPC_URLS": proxy.url}
        for is_missing in lacking:
            proxy.fault = under_way(is_missing)
            told = ask(seller, claim, tx_hash=name).body
            assert (told["valid"], told["reason"], told["retryAfter"]) == (False, "not_found", 5)
        proxy.fault = honest
        assert verdict(seller, claim, tx_hash=name) == "valid"


def record_like_a_watcher(claim: Claim) -> Transfer:
    from wallets.lookup import look_up_on
    from wallets.watchers.owners import Owners

    [found] = look_up_on(claim.chain, claim.tx_hash).transactions
    payments: list[NewTransfer] = Owners(claim.chain).payments(found.transfers)
    [pk] = record_transfers(payments, now=timezone.now())
    return Transfer.objects.get(pk=pk)


def test_a_jetton_of_the_same_name_is_no_money(ton_claim: tuple[ApiClient, Claim], ton_node: "TonNode") -> None:
    seller, claim = ton_claim
    fake = ton_node.pay(TON_WALLET, UNITS, jetton=ton_node.fake)
    ton_node.advance(2)
    assert verdict(seller, claim, tx_hash=fake) == "wrong_token"


def test_a_chain_without_a_wallet_for_machines_is_not_offered(solana_node: "SolanaNode", settings: Any) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    merchant = make_merchant()
    make_live_chain("solana")
    make_wallet(merchant, "solana", SOLANA_WALLET)
    seller = client_of(merchant, Mode.LIVE)
    config = seller.get("/x402/config").body
    assert config["payTo"] == {}
    page = f"/dashboard/{merchant.public_id}/live/x402/wallets/solana/"
    assert config["missing"] == [{"chain": "solana", "page": f"{settings.BASE_URL}{page}"}]
    payer = str(solana_node.payer.pubkey())
    tx_hash = solana_node.pay(SOLANA_WALLET, UNITS)
    claim = Claim("solana", "USDC", tx_hash, payer, SOLANA_WALLET)
    # What buyers pay never buys a machine anything.
    assert verdict(seller, claim) == "wrong_recipient"
