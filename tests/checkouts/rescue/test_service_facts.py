"""A buyer's transaction looked up on real nodes: what each chain tells, as the buyer reads it."""

import re
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.models import Merchant
from checkouts.attribution.queue import attribute_transfers
from checkouts.models import BuyerReport, Checkout, Payment
from checkouts.rescue import service
from checkouts.states import CheckoutStatus, InboxReason
from demo.nodes.factory import prepare_chain
from localnet.abi import encode_call
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import FAKE, deploy_token, mint, token_address, transfer, transfer_many
from localnet.tron.node import USDT as TRON_USDT
from localnet.tron.node import TronNode, prepare_tron
from tests.checkouts.factories import EXACT_OFFERS
from tests.checkouts.questions import answer, any_hash, ask, in_wallet, to_inbox
from tests.factories import make_checkout, make_merchant
from tests.wallets.factories import TOKENS, make_watcher, read_all
from wallets.lookup import look_up
from wallets.models import ChainCursor
from wallets.selectors import forget

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

UNITS = 25_000_000
WALLET = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"


def connect(settings: Any, **urls: str) -> None:
    """Use these nodes, and no others; the local chains' tokens are the test tokens."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        f"{chain.upper()}_TOKEN_{key}": token_address(symbol)
        for chain, known in TOKENS.items()
        for key, symbol in known.items()
    } | {f"{chain.upper()}_RPC_URLS": url for chain, url in urls.items()}
    # Nobody has read these.
    ChainCursor.objects.all().delete()
    forget()


def fresh_checkout(merchant: Merchant | None = None, **values: Any) -> Checkout:
    """A checkout of 25 USD on Base alone, made a moment ago."""
    checkout = make_checkout(merchant, created_at=timezone.now() - timedelta(minutes=1), **values)
    if "offers" not in values:
        checkout.offers = {"base": checkout.offers["base"]}
        checkout.save()
    return checkout


def address_of(checkout: Checkout) -> str:
    return str(checkout.offers["base"]["address"])


@pytest.fixture
def base(base_node: Anvil, settings: Any) -> Anvil:
    """Base, with the tokens on it, as the only chain that can be asked."""
    prepare_chain(base_node)
    connect(settings, base=base_node.url)
    return base_node


def pay(node: Anvil, to: str, units: int = UNITS, *, token: str | None = None) -> str:
    sent = transfer(node, payer(node), token or token_address("USDC"), to, units)
    node.receipt(sent)
    return sent


def told(client: Client, checkout: Checkout, tx_hash: str) -> tuple[str, str]:
    """The verdict as it is filed, and the answer as it is read."""
    words = answer(client, checkout, tx_hash)
    return BuyerReport.objects.get(checkout=checkout).verdict, words


def test_a_payment_is_told_from_the_chain_to_the_credit(base: Anvil, client: Client) -> None:
    checkout = fresh_checkout()
    sent = pay(base, address_of(checkout), 20_000_000)
    verdict, words = told(client, checkout, sent)
    assert verdict == "not_final"
    assert "We see your 20.00 USDC on Base. We usually credit it" in words
    assert "Don't send it again" in words
    base.mine(5)
    read_all(make_watcher(base.url))
    attribute_transfers(now=timezone.now())
    assert Payment.objects.get().checkout == checkout
    BuyerReport.objects.update(looked_at=timezone.now() - timedelta(minutes=1))
    verdict, words = told(client, checkout, sent)
    assert verdict == "short"
    assert "It is 5.00 USDC short of 25.00" in words
    report = BuyerReport.objects.get()
    assert (report.tx_hash, report.chain) == (sent, "base")
    assert report.details["recipient"] == address_of(checkout)


def test_an_unlisted_token_of_the_same_name_is_a_fake(base: Anvil, client: Client) -> None:
    checkout = fresh_checkout()
    fake = deploy_token(base, "USDC", salt=FAKE)
    verdict, words = told(client, checkout, mint(base, fake, address_of(checkout), UNITS))
    assert verdict == "fake_token"
    assert "This is not real USDC" in words
    assert "25" not in re.sub(r"0x\w+", "", words)


def test_an_unlisted_token_of_its_own_name_is_another_token_and_no_fake(base: Anvil, client: Client) -> None:
    checkout = fresh_checkout()
    weth = deploy_token(base, "WETH", salt=FAKE)
    sent = mint(base, weth, address_of(checkout), UNITS)
    verdict, words = told(client, checkout, sent)
    assert verdict == "wrong_token"
    assert "You sent a token on Base that we don't know." in words
    assert "deceived" not in words


def test_a_known_look_alike_is_another_token(base: Anvil, client: Client) -> None:
    checkout = fresh_checkout()
    bridged = deploy_token(base, "USDbC")
    sent = mint(base, bridged, address_of(checkout), UNITS)
    verdict, words = told(client, checkout, sent)
    assert verdict == "wrong_token"
    assert "You sent 25.00 USDbC on Base." in words
    assert checkout.public_id in words


def test_the_network_s_own_coin_is_another_token(base: Anvil, client: Client) -> None:
    checkout = fresh_checkout()
    sent = base.send(payer(base), to=address_of(checkout), value=10**15)
    base.receipt(sent)
    verdict, words = told(client, checkout, sent)
    assert verdict == "wrong_token"
    assert "You sent the native coin of Base." in words


def test_the_right_address_on_another_network_is_told(
    base: Anvil, polygon_node: Anvil, client: Client, settings: Any
) -> None:
    prepare_chain(polygon_node)
    connect(settings, base=base.url, polygon=polygon_node.url)
    checkout = fresh_checkout()
    verdict, words = told(client, checkout, pay(polygon_node, address_of(checkout)))
    assert verdict == "wrong_network"
    assert "You sent 25.00 USDC on Polygon." in words
    assert "the network is wrong: you can pay on Base." in words


TO_ITSELF = "a wallet sent money to itself. That moves nothing, so nothing was paid."


def test_a_wallet_that_pays_itself_is_told_that_this_moves_nothing(base: Anvil, client: Client) -> None:
    checkout = fresh_checkout()
    verdict, words = told(client, checkout, pay(base, payer(base).address))
    assert verdict == "other_address"
    assert f"In this transaction on Base, {TO_ITSELF}" in words
    assert "Pay from a different wallet than the one that receives." in words
    assert "sent no money" not in words


def test_a_transaction_that_failed_moved_nothing(base: Anvil, client: Client) -> None:
    checkout = fresh_checkout()
    much = encode_call("transfer(address,uint256)", address_of(checkout), 10**30)
    sent = base.send(payer(base), to=token_address("USDC"), data=much)
    base.receipt(sent)
    verdict, words = told(client, checkout, sent)
    assert verdict == "failed"
    assert "Your money is still in your wallet" in words


def test_late_money_that_no_watcher_has_read_is_late(base: Anvil, client: Client) -> None:
    checkout = fresh_checkout(expires_at=timezone.now() - timedelta(seconds=250))
    verdict, words = told(client, checkout, pay(base, address_of(checkout)))
    assert verdict == "late"
    # The node's clock runs ahead of ours by what other tests mined.
    assert re.search(r"\b\d+ minutes after this checkout expired", words)


def test_what_came_too_late_for_the_try_before_is_no_other_person_s(
    base: Anvil, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid = fresh_checkout(expires_at=timezone.now() - timedelta(seconds=250), status=CheckoutStatus.EXPIRED)
    again = fresh_checkout(paid.merchant, creation_ref=f"again:{paid.public_id}")
    sent = pay(base, address_of(paid))
    words = answer(client, again, sent)
    assert "after this checkout expired" in words
    assert "Don't pay again" in words
    # Without that the same money is somebody else's.
    monkeypatch.setattr(service, "other_tries", lambda _: [])
    assert told(client, again, sent)[0] == "other_address"


def test_the_address_of_any_other_checkout_is_another_address(base: Anvil, client: Client) -> None:
    mine = fresh_checkout()
    others = [fresh_checkout(mine.merchant), fresh_checkout(make_merchant())]
    nobodys = f"0x{secrets.token_hex(20)}"
    said = []
    for address in (*map(address_of, others), nobodys):
        sent = pay(base, address)
        base.mine(12)
        read_all(make_watcher(base.url))
        attribute_transfers(now=timezone.now())
        BuyerReport.objects.all().delete()
        verdict, words = told(client, mine, sent)
        assert verdict == "other_address"
        assert f"25.00 USDC → {address}".lower() in words.lower()
        said.append(re.sub(r"0x\w+", "", words))
    assert Payment.objects.count() == 2
    assert len(set(said)) == 1
    assert "Only the recipient can return it" in said[0]


def test_of_several_payments_in_one_transaction_the_buyer_s_own_is_told(base: Anvil, client: Client) -> None:
    checkout = fresh_checkout()
    stranger = f"0x{secrets.token_hex(20)}"
    usdc = token_address("USDC")
    sent = transfer_many(base, payer(base), usdc, [(stranger, 90_000_000), (address_of(checkout), UNITS)])
    base.receipt(sent)
    _, words = told(client, checkout, sent)
    assert "We see your 25.00 USDC on Base" in words


def test_what_no_node_knows_is_not_found_and_what_one_did_not_say_is_open(
    base: Anvil, client: Client, settings: Any
) -> None:
    verdict, words = told(client, fresh_checkout(), any_hash())
    assert verdict == "not_found"
    assert "We can't find this transaction yet" in words
    connect(settings, base=base.url, polygon="http://127.0.0.1:1")
    verdict, words = told(client, fresh_checkout(), any_hash())
    assert verdict == "unreachable"
    assert "Polygon did not answer" in words


def test_what_one_chain_knows_is_told_although_another_is_silent(base: Anvil, client: Client, settings: Any) -> None:
    connect(settings, base=base.url, polygon="http://127.0.0.1:1")
    checkout = fresh_checkout()
    verdict, _ = told(client, checkout, pay(base, address_of(checkout)))
    assert verdict == "not_final"
    assert BuyerReport.objects.get().details["silent"] == ["polygon"]


def test_no_transaction_is_open_while_nodes_are_asked(
    base: Anvil, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    depths: list[int] = []
    before = len(connection.savepoint_ids)

    def noted(text: str, **more: Any) -> Any:
        depths.append(len(connection.savepoint_ids))
        return look_up(text, **more)

    monkeypatch.setattr(service, "look_up", noted)
    ask(client, fresh_checkout(), any_hash())
    assert depths == [before]


@pytest.fixture
def tron(tron_node: TronNode, settings: Any) -> TronNode:
    """Tron as the only chain that can be asked."""
    prepare_tron(tron_node.anvil)
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        "TRON_RPC_URLS": tron_node.url,
        "TRON_GRID_URLS": tron_node.grid_url,
        "TRON_TOKEN_USDT": TRON_USDT,
    }
    forget()
    return tron_node


def exact_checkout(merchant: Merchant | None = None, **values: Any) -> Checkout:
    offers = {"tron": {"tokens": ["USDT"], "address": None, "wallet": WALLET}}
    return fresh_checkout(merchant, offers=offers, **values)


def test_a_shared_wallet_tells_nothing_about_other_buyers(tron: TronNode, client: Client) -> None:
    mine = exact_checkout()
    other = exact_checkout(mine.merchant)
    sent = [tron.pay(WALLET, UNITS + n) for n in range(2)]
    credited, unmatched = (
        in_wallet(mine, tx_hash=tx_hash, units=UNITS + n, recipient=WALLET) for n, tx_hash in enumerate(sent)
    )
    Payment.objects.create(checkout=other, transfer=credited, reason="", credited_at=timezone.now())
    to_inbox(mine, InboxReason.UNMATCHED, unmatched, is_meant=False)
    said = []
    for tx_hash in sent:
        BuyerReport.objects.all().delete()
        verdict, words = told(client, mine, tx_hash)
        assert verdict == "waiting"
        said.append(words.replace(tx_hash, "").replace("25.000001", "25.00"))
    assert said[0] == said[1]
    assert "but nothing in it identifies this payment" in said[0]
    # It may be of somebody else, so nothing is promised to this buyer.
    assert "This may be another payment" in said[0]
    assert "Your money is not lost" not in said[0]
    assert other.public_id not in said[0]


def test_a_receiving_wallet_that_pays_itself_is_told_that_this_moves_nothing(tron: TronNode, client: Client) -> None:
    own = tron.payer_address
    offers = {"tron": {"tokens": ["USDT"], "address": None, "wallet": own}}
    words = answer(client, fresh_checkout(offers=offers), tron.pay(own, UNITS))
    assert f"In this transaction on Tron, {TO_ITSELF}" in words


def test_money_in_the_wallet_from_before_the_checkout_was_for_another_payment(tron: TronNode, client: Client) -> None:
    sent = tron.pay(WALLET, UNITS)
    mine = exact_checkout()
    Checkout.objects.update(created_at=timezone.now() + timedelta(hours=1))
    verdict, words = told(client, mine, sent)
    assert verdict == "other_address"
    assert "This transaction is older than this payment" in words


def test_money_in_the_wallet_that_no_watcher_has_read_is_about_to_be_counted(tron: TronNode, client: Client) -> None:
    checkout = exact_checkout()
    sent = tron.pay(WALLET, UNITS + 3_700)
    verdict, words = told(client, checkout, sent)
    assert verdict == "not_final"
    assert "We see your 25.0037 USDT on Tron." in words


def test_solana_and_ton_tell_too(solana_node: "SolanaNode", ton_node: "TonNode", client: Client, settings: Any) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        "SOLANA_RPC_URLS": solana_node.url,
        "TON_RPC_URLS": ton_node.url,
        "TON_TOKEN_USDT": ton_node.usdt,
    }
    forget()
    owner, other = (EXACT_OFFERS[chain]["wallet"] for chain in ("solana", "ton"))
    checkout = fresh_checkout(offers={chain: EXACT_OFFERS[chain] for chain in ("solana", "ton")})
    for sent, amount in (
        (solana_node.pay(owner, UNITS + 3_700), "25.0037 USDC on Solana"),
        (ton_node.pay(other, UNITS + 4_200), "25.0042 USDT on TON"),
    ):
        words = answer(client, checkout, sent)
        assert f"We see your {amount}." in words
    failed = answer(client, checkout, solana_node.fail(owner, UNITS))
    assert "Solana rejected it" in failed
    for sent, title in (
        (solana_node.pay(str(solana_node.payer.pubkey()), UNITS), "Solana"),
        (ton_node.pay(ton_node.payer.address, UNITS), "TON"),
    ):
        assert f"In this transaction on {title}, {TO_ITSELF}" in answer(client, checkout, sent)
