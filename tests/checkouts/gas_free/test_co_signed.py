"""Buyers without SOL pay on a local Solana: they sign, our account signs last and pays the fee, and the watcher sees a usual transfer."""

import base64
from datetime import timedelta
from decimal import Decimal
from typing import Any

import base58
import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import Transaction

from checkouts.gas_free import co_signed
from checkouts.models import AmountReservation
from checkouts.states import CheckoutStatus
from localnet.solana.node import SolanaNode
from settlements.gas import solana_relay, strangers
from settlements.gas.fees import LAMPORTS
from settlements.gas.ledger import prune_sponsored
from settlements.gas.shares import FAILED_LEAST
from settlements.gas.solana_relay import PART, machines_part, tend_sponsored
from settlements.models import SponsoredTransaction
from settlements.states import Outcome
from tests.checkouts.gas_free.co_signers import OURS, new_buyer, offered, pay_fees, signed
from tests.checkouts.page.buyers import ask, chosen, error_of, with_twice_the_units
from tests.checkouts.shop import Shop
from tests.nodes.proxy import Fault, RpcProxy, drops, honest, results
from wallets.chains.registry import open_pool
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana.unsigned_payment import SPONSORED_FEE
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db

UNAVAILABLE = ("gas_free_unavailable", None)


@pytest.fixture
def shop(solana_shop: Shop, solana_node: SolanaNode, settings: Any) -> Shop:
    """A shop whose buyers' network fees the operator pays, and whose wallet received the token before."""
    settings.GAS_FREE = ["solana"]
    pay_fees(solana_node, settings, solana_shop.address)
    return solana_shop


@pytest.fixture(autouse=True)
def _no_blockhash_of_before() -> None:
    """A blockhash is kept for seconds, in which tests let the local chain pass it by."""
    co_signed._desks._kept.clear()


@pytest.fixture
def buyer(solana_node: SolanaNode) -> Keypair:
    """Somebody with USDC and no SOL."""
    return new_buyer(solana_node)


def tend(node: SolanaNode) -> int:
    pool = open_pool(chain_spec("solana"))
    try:
        return tend_sponsored(chain_spec("solana"), pool=pool)
    finally:
        pool.close()


def test_a_buyer_without_sol_completes_a_checkout(
    client: Client, shop: Shop, buyer: Keypair, solana_node: SolanaNode
) -> None:
    checkout = chosen(shop)
    held = AmountReservation.objects.get()
    offer = offered(client, checkout, buyer)
    assert offer.status_code == 200, offer.content
    message = Transaction.from_bytes(base64.b64decode(offer.json()["transaction"])).message
    assert [str(key) for key in message.account_keys[:2]] == [str(OURS.pubkey()), str(buyer.pubkey())]
    # Our account is in no instruction: it loses its fee and nothing else.
    assert all(0 not in bytes(one.accounts) for one in message.instructions)
    answer = signed(client, checkout, offer.json(), buyer)
    assert answer.status_code == 200, answer.content
    made = SponsoredTransaction.objects.get()
    assert answer.json() == {"tx_hash": made.tx_hash}
    assert (made.merchant_id, made.payer, made.fee) == (checkout.merchant_id, str(buyer.pubkey()), SPONSORED_FEE)
    solana_node.advance(2)
    shop.watch()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.COMPLETED
    assert solana_node.balance(shop.address) == 1 + 25_000_000 + held.suffix
    assert tend(solana_node) == 0
    made.refresh_from_db()
    assert made.outcome == Outcome.DONE


def test_what_was_signed_is_sent_once_however_often_it_is_posted(
    client: Client, shop: Shop, buyer: Keypair, solana_node: SolanaNode
) -> None:
    checkout = chosen(shop)
    offer = offered(client, checkout, buyer).json()
    answers = [signed(client, checkout, offer, buyer) for _ in range(2)]
    solana_node.advance(2)
    shop.watch()
    answers.append(signed(client, checkout, offer, buyer))
    assert [answer.status_code for answer in answers] == [200] * 3
    assert len({answer.content for answer in answers}) == 1
    assert SponsoredTransaction.objects.count() == 1
    assert error_of(offered(client, checkout, buyer), 409)[0] in {"payment_pending", "state_conflict"}


@pytest.mark.parametrize(
    "changed",
    [
        {"GAS_FREE": []},
        {"GAS_KEYS_SOLANA": []},
        {"GAS_FREE_LEAST_USD": {"solana": "1000"}},
        {"GAS_DAILY_COINS": {"solana": "0.00002"}},
        {"GAS_MERCHANT_SHARE": "0"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_is_not_wanted_or_too_much_is_not_offered(
    client: Client, shop: Shop, buyer: Keypair, settings: Any, changed: dict[str, Any]
) -> None:
    for name, value in changed.items():
        setattr(settings, name, value)
    assert error_of(offered(client, chosen(shop), buyer), 409) == UNAVAILABLE


def test_a_merchant_without_a_token_account_leaves_the_rent_to_the_buyer(
    client: Client, solana_shop: Shop, solana_node: SolanaNode, buyer: Keypair, settings: Any
) -> None:
    settings.GAS_FREE = ["solana"]
    settings.GAS_KEYS_SOLANA = [base58.b58encode(bytes(OURS)).decode()]
    assert error_of(offered(client, chosen(solana_shop), buyer), 409) == UNAVAILABLE


def test_a_signature_of_anything_else_is_worth_nothing(client: Client, shop: Shop, buyer: Keypair) -> None:
    checkout = chosen(shop)
    offer = offered(client, checkout, buyer).json()
    doubled = {"transaction": with_twice_the_units(offer["transaction"]), "ticket": offer["ticket"]}
    for given, signer in ((offer, Keypair()), (doubled, buyer)):
        assert error_of(signed(client, checkout, given, signer), 400) == ("signature_invalid", "signature")
    for signature in ("", "00" * 63, "00" * 65, "zz" * 64):
        answer = ask(client, checkout, action="signed", ticket=offer["ticket"], signature=signature)
        assert error_of(answer, 400)[1] == "signature"
    assert not SponsoredTransaction.objects.exists()


def test_what_would_fail_is_not_signed(client: Client, shop: Shop, solana_node: SolanaNode) -> None:
    buyer, other = Keypair(), chosen(shop)
    solana_node.fund(str(buyer.pubkey()), 30_000_000)
    first = chosen(shop)
    offers = [offered(client, checkout, buyer).json() for checkout in (first, other)]
    assert signed(client, first, offers[0], buyer).status_code == 200
    # Another one of the same payer waits until this one has ended.
    assert error_of(signed(client, other, offers[1], buyer), 409) == UNAVAILABLE
    solana_node.advance(2)
    tend(solana_node)
    assert error_of(signed(client, other, offers[1], buyer), 409) == UNAVAILABLE
    assert SponsoredTransaction.objects.count() == 1


def test_an_account_that_holds_less_is_told_so(client: Client, shop: Shop, solana_node: SolanaNode) -> None:
    poor = Keypair()
    solana_node.fund(str(poor.pubkey()), 24_000_000)
    assert error_of(offered(client, chosen(shop), poor), 409)[0] == "funds_insufficient"


def test_a_ticket_serves_its_own_checkout(client: Client, shop: Shop, buyer: Keypair) -> None:
    checkout, other = chosen(shop), chosen(shop)
    offer = offered(client, checkout, buyer).json()
    assert error_of(signed(client, other, offer, buyer), 400)[1] == "ticket"


def sponsored(shop: Shop, **values: Any) -> SponsoredTransaction:
    """A transaction of somebody, as stored."""
    usual = {
        "chain": "solana",
        "reference": "chk:1",
        "merchant": shop.merchant,
        "fee_payer": str(OURS.pubkey()),
        "payer": str(Pubkey.default()),
        "signed": b"",
        "tx_hash": "1" * 88,
        "fee": SPONSORED_FEE,
        "last_height": 10,
    }
    return SponsoredTransaction.objects.create(**usual | values)


def test_a_payer_has_one_on_its_way_and_a_reference_one_transaction(shop: Shop) -> None:
    sponsored(shop)
    for constraint, values in (
        ("sponsored_one_open_per_payer", {"reference": "chk:2"}),
        ("sponsored_once_per_reference", {"payer": "another"}),
    ):
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            sponsored(shop, **values)
    SponsoredTransaction.objects.update(outcome=Outcome.DONE)
    sponsored(shop, reference="chk:2")


def test_what_no_block_took_cost_nothing_and_may_be_asked_for_again(
    client: Client, shop: Shop, buyer: Keypair, solana_node: SolanaNode
) -> None:
    checkout = chosen(shop)
    row = sponsored(shop, reference=f"{checkout.public_id}:1", payer=str(buyer.pubkey()), last_height=1)
    assert error_of(offered(client, checkout, buyer), 409)[0] == "payment_pending"
    solana_node.advance(200)
    solana_node.finalize()
    assert tend(solana_node) == 0
    row.refresh_from_db()
    assert (row.outcome, row.fee) == (Outcome.FAILED, 0)
    assert offered(client, checkout, buyer).status_code == 200


def unknown(slot: int | None = None) -> Fault:
    """Answer that no block has a transaction, in a state of this slot."""

    def change(method: str, told: Any) -> Any:
        if method != "getSignatureStatuses":
            return told
        return {"context": told["context"] if slot is None else {"slot": slot}, "value": [None]}

    return results(change)


def test_a_transaction_that_one_node_does_not_know_is_not_taken_for_lost(
    shop: Shop, solana_node: SolanaNode, solana_proxy: RpcProxy
) -> None:
    row = sponsored(shop, tx_hash=solana_node.pay(shop.address, 5), last_height=1)
    solana_node.finalize()
    solana_proxy.fault = unknown()
    assert tend_sponsored(chain_spec("solana"), pool=RpcPool([solana_proxy.url, solana_node.url])) == 0
    row.refresh_from_db()
    assert (row.outcome, row.fee) == (Outcome.DONE, SPONSORED_FEE)


def test_what_lagging_or_silent_nodes_do_not_know_stays_open(
    shop: Shop, solana_node: SolanaNode, solana_proxy: RpcProxy
) -> None:
    row = sponsored(shop, last_height=1)
    later = sponsored(shop, reference="chk:2", payer="2", tx_hash=solana_node.pay(shop.address, 5), last_height=2)
    solana_node.finalize()
    # Its final blocks are new; those that it searched are not.
    for fault in (unknown(slot=1), drops):
        solana_proxy.fault = fault
        assert tend_sponsored(chain_spec("solana"), pool=RpcPool([solana_node.url, solana_proxy.url])) == 1
        row.refresh_from_db()
        assert row.outcome == Outcome.OPEN
    later.refresh_from_db()
    assert later.outcome == Outcome.DONE
    solana_proxy.fault = honest
    assert tend_sponsored(chain_spec("solana"), pool=RpcPool([solana_node.url, solana_proxy.url])) == 0
    row.refresh_from_db()
    assert (row.outcome, row.fee) == (Outcome.FAILED, 0)


def test_after_failures_payers_wait_and_machines_keep_their_part(
    client: Client, shop: Shop, buyer: Keypair, settings: Any
) -> None:
    settings.GAS_DAILY_COINS = {"solana": "0.5"}
    assert machines_part("solana") * PART == LAMPORTS // 2
    now = timezone.now()
    for number in range(2):
        sponsored(shop, reference=f"f{number}", payer=str(buyer.pubkey()), outcome=Outcome.FAILED, created_at=now)
    assert error_of(offered(client, chosen(shop), buyer), 409) == UNAVAILABLE
    SponsoredTransaction.objects.update(created_at=now - timedelta(minutes=2))
    assert offered(client, chosen(shop), buyer).status_code == 200
    settings.GAS_FREE = []
    assert machines_part("solana") == LAMPORTS // 2


def test_who_funded_payers_is_asked_once_the_payer_has_signed(
    client: Client, shop: Shop, buyer: Keypair, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone may ask for an offer, and each search asks nodes up to two hundred questions."""
    asked: list[str] = []

    def unfunded(*given: Any) -> str:
        asked.append(given[-1])
        return ""

    monkeypatch.setattr(co_signed, "funder_of", unfunded)
    strangers._funders.clear()
    for number in range(FAILED_LEAST + 1):
        payer = str(Keypair().pubkey())
        sponsored(shop, reference=f"f{number}", payer=payer, outcome=Outcome.FAILED, created_at=timezone.now())
    share = 100 * SPONSORED_FEE
    settings.GAS_MERCHANT_SHARE = "0.1"
    settings.GAS_DAILY_COINS = {"solana": f"{Decimal(10 * PART * share) / LAMPORTS:f}"}
    checkout = chosen(shop)
    offer = offered(client, checkout, buyer)
    assert (offer.status_code, asked) == (200, [])
    assert signed(client, checkout, offer.json(), buyer).status_code == 200
    assert len(asked) == FAILED_LEAST + 2


def test_payments_that_are_judged_at_the_same_moment_cost_no_more_than_the_day(
    client: Client, shop: Shop, buyer: Keypair, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = chosen(shop)
    offer = offered(client, checkout, buyer).json()

    def another_is_faster(*_: Any, **__: Any) -> None:
        sponsored(shop, reference="another", fee=LAMPORTS)

    monkeypatch.setattr(solana_relay, "refuse_sponsoring", another_is_faster)
    assert error_of(signed(client, checkout, offer, buyer), 409) == UNAVAILABLE
    assert not SponsoredTransaction.objects.filter(payer=str(buyer.pubkey())).exists()


def test_signed_bytes_are_cleared_long_after_their_end(shop: Shop) -> None:
    now = timezone.now()
    for number, (outcome, days) in enumerate([(Outcome.DONE, 91), (Outcome.DONE, 89), (Outcome.OPEN, 91)]):
        sponsored(
            shop,
            reference=str(number),
            payer=str(number),
            signed=b"x",
            outcome=outcome,
            created_at=now - timedelta(days=days),
        )
    assert prune_sponsored(now=now) == 1
    assert bytes(SponsoredTransaction.objects.get(reference="0").signed) == b""
