"""What became of a transaction on Solana that was sent: it is pending until the chain has decided, and then for good."""

import base64
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.keypair import Keypair

from accounts.states import Mode
from localnet.solana.node import Payment
from tests.contract.client import ApiClient
from tests.nodes.proxy import Answer, Ask, Dropped, Request, RpcProxy, honest, methods_of, results
from tests.wallets.accountchains import OnSolana, open_account_watcher, read_all
from tests.x402.calls import Claim, verdict
from tests.x402.exact.calls import settle
from tests.x402.exact.solana.forgeries import sealed, signed_again
from tests.x402.exact.solana.payers import UNITS, Shop, ticking
from tests.x402.exact.solana.test_reasons import TROUBLE
from wallets.models import Transfer, TransferClaim
from x402.exact import waiting
from x402.exact.authorizations import LEASE
from x402.exact.facilitator import finish_open
from x402.exact.forms import parse_standard
from x402.exact.solana import rail
from x402.models import Authorization, X402Payment
from x402.payments.transfers import follow_transfers
from x402.states import AuthorizationState

pytestmark = pytest.mark.django_db

LONG_AGO = timedelta(minutes=3)
# Blocks until a hash is too old, and until that is final.
OVER = 151 + 33


@pytest.fixture
def proxy(solana_stall: Shop, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Stands between the gateway and the node; nobody waits long for a block."""
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.2)
    with RpcProxy(solana_stall.node.url) as between:
        settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": between.url}
        yield between


def loses_what_is_sent(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """Say nothing to whoever sends a transaction, and send none."""
    if "sendTransaction" in methods_of(request):
        raise Dropped
    return honest(proxy, request, ask)


def finish(row: Authorization) -> str:
    """Let the beat look at it, a lease later; return its state."""
    finish_open(clock=lambda: timezone.now() + 2 * LEASE)
    row.refresh_from_db()
    return row.state


def left_lying(shop: Shop, proxy: RpcProxy, seller: ApiClient) -> tuple[Authorization, dict[str, Any]]:
    """One that was written down and reached no node, and its body."""
    body = shop.body(shop.draft().signed())
    proxy.fault = loses_what_is_sent
    answer = settle(seller, body)
    row = Authorization.objects.latest("pk")
    assert (answer["success"], answer["errorReason"]) == (False, "settlement_pending")
    assert answer["transaction"] == row.tx_hash != ""
    proxy.fault = honest
    return row, body


def grow_old(shop: Shop, row: Authorization) -> None:
    """Let so much time pass that its block's hash is too old."""
    shop.node.advance(OVER)
    Authorization.objects.filter(pk=row.pk).update(created_at=row.created_at - LONG_AGO, taken_until=None)


def test_what_a_node_did_not_take_is_settled_by_asking_again(
    solana_stall: Shop, proxy: RpcProxy, solana_seller: ApiClient
) -> None:
    row, body = left_lying(solana_stall, proxy, solana_seller)
    with ticking(solana_stall.node):
        answer = settle(solana_seller, body)
    assert answer["success"], answer
    assert answer["transaction"] == row.tx_hash
    assert solana_stall.node.balance(solana_stall.wallet) == 1 + UNITS


def test_what_nobody_asks_about_again_is_settled_all_the_same(
    solana_stall: Shop, proxy: RpcProxy, solana_seller: ApiClient
) -> None:
    row, body = left_lying(solana_stall, proxy, solana_seller)
    assert finish(row) == AuthorizationState.SENT
    solana_stall.node.advance(2)
    assert finish(row) == AuthorizationState.SETTLED
    assert settle(solana_seller, body)["transaction"] == X402Payment.objects.get().tx_hash


def test_what_can_be_in_no_block_any_more_has_failed_and_cost_nothing(
    solana_stall: Shop, proxy: RpcProxy, solana_seller: ApiClient
) -> None:
    row, body = left_lying(solana_stall, proxy, solana_seller)
    grow_old(solana_stall, row)
    assert finish(row) == AuthorizationState.FAILED
    assert row.network_fee == 0
    answer = settle(solana_seller, body)
    assert (answer["errorReason"], answer["transaction"]) == ("transaction_failed", row.tx_hash)
    assert solana_stall.node.balance(solana_stall.wallet) == 1


def test_two_minutes_alone_end_nothing(solana_stall: Shop, proxy: RpcProxy, solana_seller: ApiClient) -> None:
    row, _ = left_lying(solana_stall, proxy, solana_seller)
    old = row.created_at - LONG_AGO
    Authorization.objects.filter(pk=row.pk).update(created_at=old, taken_until=None)
    # Its block's hash can be used still, and so it is sent.
    assert finish(row) == AuthorizationState.SENT
    solana_stall.node.advance(2)
    assert finish(row) == AuthorizationState.SETTLED


def still_valid(method: str, result: Any) -> Any:
    return result | {"value": True} if method == "isBlockhashValid" else result


def has_a_status(method: str, result: Any) -> Any:
    if method != "getSignatureStatuses":
        return result
    return result | {"value": [{"slot": 1, "err": None}]}


def is_behind(method: str, result: Any) -> Any:
    """As a node that has seen nothing for an hour."""
    if method != "getAccountInfo":
        return result
    value = result["value"]
    data = base64.b64decode(value["data"][0])
    seconds = int.from_bytes(data[32:], "little") - 3600
    older = base64.b64encode(data[:32] + seconds.to_bytes(8, "little")).decode()
    return result | {"value": value | {"data": [older, "base64"]}}


def is_of_another_age(method: str, result: Any) -> Any:
    """As two nodes behind one address, the second of which fell behind."""
    if method != "getSignatureStatuses":
        return result
    return result | {"context": {"slot": 1_000}}


@pytest.mark.parametrize("change", [still_valid, has_a_status, is_behind, is_of_another_age])
def test_nothing_has_failed_while_one_node_cannot_be_sure(
    solana_stall: Shop, proxy: RpcProxy, solana_seller: ApiClient, settings: Any, change: Any
) -> None:
    row, _ = left_lying(solana_stall, proxy, solana_seller)
    grow_old(solana_stall, row)
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": f"{solana_stall.node.url},{proxy.url}"}
    proxy.fault = results(change)
    assert finish(row) == AuthorizationState.SENT
    proxy.fault = honest
    Authorization.objects.update(taken_until=None)
    assert finish(row) == AuthorizationState.FAILED


def test_nothing_has_failed_while_one_node_does_not_answer(
    solana_stall: Shop, proxy: RpcProxy, solana_seller: ApiClient, settings: Any
) -> None:
    row, _ = left_lying(solana_stall, proxy, solana_seller)
    grow_old(solana_stall, row)
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": f"{solana_stall.node.url},{proxy.url}"}

    def drops(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        raise Dropped

    proxy.fault = drops
    assert finish(row) == AuthorizationState.SENT


class Emptying:
    """Lets a payer spend everything between our asking and our sending."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def __call__(self, proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        if "sendTransaction" in methods_of(request):
            self._empty()
        return honest(proxy, request, ask)

    def _empty(self) -> None:
        node, payer = self._shop.node, self._shop.payer
        held = node.balance(str(payer.pubkey()))
        if held:
            node.pay_all([Payment(str(node.payer.pubkey()), held)], payer=payer)


def test_a_payer_who_empties_his_account_in_time_fails_and_soon_may_do_so_no_more(
    solana_stall: Shop, proxy: RpcProxy, solana_seller: ApiClient
) -> None:
    payer = str(solana_stall.payer.pubkey())
    solana_stall.node.airdrop(payer)
    proxy.fault = Emptying(solana_stall)
    for _ in range(2):
        body = solana_stall.body(solana_stall.draft().signed())
        # In a block, but on another fork it might succeed.
        assert settle(solana_seller, body)["errorReason"] == "settlement_pending"
        solana_stall.node.finalize()
        told = settle(solana_seller, body)
        assert told["errorReason"] == "transaction_failed", told
        assert told["transaction"] == Authorization.objects.latest("pk").tx_hash
        assert settle(solana_seller, body) == told
        solana_stall.node.fund(payer, UNITS)
    assert Authorization.objects.filter(network_fee=10_001).count() == 2
    body = solana_stall.body(solana_stall.draft().signed())
    assert settle(solana_seller, body)["errorReason"] == "transaction_failed"
    assert Authorization.objects.count() == 2
    assert not X402Payment.objects.exists()


def test_what_failed_on_a_fork_that_is_gone_may_succeed(
    solana_stall: Shop, proxy: RpcProxy, solana_seller: ApiClient
) -> None:
    solana_stall.node.airdrop(str(solana_stall.payer.pubkey()))
    began = solana_stall.node.slot()
    solana_stall.node.advance()
    body = solana_stall.body(solana_stall.draft().signed())
    proxy.fault = Emptying(solana_stall)
    assert settle(solana_seller, body)["errorReason"] == "settlement_pending"
    proxy.fault = honest
    # Confirmed, and not final.
    solana_stall.node.advance(2)
    assert settle(solana_seller, body)["errorReason"] == "settlement_pending"
    solana_stall.node.rollback(after=began)
    with ticking(solana_stall.node):
        assert settle(solana_seller, body)["success"]
    assert solana_stall.node.balance(solana_stall.wallet) == 1 + UNITS


def test_what_never_landed_is_not_held_against_its_payer(
    solana_stall: Shop, proxy: RpcProxy, solana_seller: ApiClient
) -> None:
    for _ in range(3):
        row, _ = left_lying(solana_stall, proxy, solana_seller)
        grow_old(solana_stall, row)
        assert finish(row) == AuthorizationState.FAILED
    with ticking(solana_stall.node):
        assert settle(solana_seller, solana_stall.body(solana_stall.draft().signed()))["success"]


def test_one_message_signed_twice_is_paid_once(solana_stall: Shop, solana_seller: ApiClient) -> None:
    message = solana_stall.draft().message()
    bodies = [solana_stall.body(sealed(message, signed_again(solana_stall.payer, message))) for _ in range(2)]
    with ticking(solana_stall.node):
        answers = [settle(solana_seller, body) for body in bodies]
    assert [answer["success"] for answer in answers] == [True, False]
    assert answers[1]["errorReason"] == "duplicate_settlement"
    assert answers[0]["transaction"] == answers[1]["transaction"]
    assert solana_stall.node.balance(solana_stall.wallet) == 1 + UNITS


def test_what_was_settled_buys_nothing_again_by_its_hash(solana_stall: Shop, solana_seller: ApiClient) -> None:
    with ticking(solana_stall.node):
        answer = settle(solana_seller, solana_stall.body(solana_stall.draft().signed()))
    payer = str(solana_stall.payer.pubkey())
    claim = Claim("solana", "USDC", answer["transaction"], payer, solana_stall.wallet)
    assert verdict(solana_seller, claim, amount="0.01", price="0.01") == "already_used"


def test_whoever_finds_it_signed_by_a_slow_process_goes_on_with_that(
    solana_stall: Shop, solana_seller: ApiClient
) -> None:
    body = solana_stall.body(solana_stall.draft().signed())
    with ticking(solana_stall.node):
        told = settle(solana_seller, body)
        stale = Authorization.objects.get()
        # As it was when it was taken over: the other one signed it only then.
        stale.signed, stale.tx_hash = None, ""
        request = parse_standard(body, Mode.LIVE)
        again = rail.SolanaRail().go_on(stale, request, clock=timezone.now)
    assert again == told


def test_a_stranger_s_signature_in_our_place_is_not_sent(solana_stall: Shop, solana_seller: ApiClient) -> None:
    message = solana_stall.draft().message()
    theirs = Keypair().sign_message(b"")
    forged = sealed(message, signed_again(solana_stall.payer, message), first=theirs)
    with ticking(solana_stall.node):
        answer = settle(solana_seller, solana_stall.body(forged))
    assert answer["success"]
    assert answer["transaction"] != str(theirs)


def watch(shop: Shop, *, after: int = 0, depth: int = 1) -> X402Payment:
    """Let a watcher read the wallet some seconds later, and have what it found followed."""
    now = timezone.now() + timedelta(seconds=after)
    watcher = open_account_watcher(OnSolana(shop.node), CONFIRMATIONS=str(depth))
    read_all(watcher, now=now)
    follow_transfers(now=now)
    return X402Payment.objects.get()


def settled(shop: Shop, seller: ApiClient) -> X402Payment:
    with ticking(shop.node):
        answer = settle(seller, shop.body(shop.draft().signed()))
    assert answer["success"], answer
    return X402Payment.objects.get()


def test_the_watcher_finds_the_payment_under_the_same_name(solana_stall: Shop, solana_seller: ApiClient) -> None:
    before = settled(solana_stall, solana_seller)
    solana_stall.node.finalize()
    payment = watch(solana_stall)
    found = Transfer.objects.get(tx_hash=before.tx_hash)
    assert payment.transfer == found
    assert (found.position, found.units) == (before.position, before.units)
    assert (found.sender, found.recipient) == (before.payer, before.pay_to)
    assert TransferClaim.objects.get().transfer == found
    # The wallet is the merchant's own.
    assert (payment.status, payment.final_at) == ("settled", payment.settled_at)
    assert payment.final_at is not None


def test_a_watcher_that_was_faster_is_met_as_well(solana_stall: Shop, solana_seller: ApiClient) -> None:
    payment = settled(solana_stall, solana_seller)
    watch(solana_stall)
    transfer = Transfer.objects.get(tx_hash=payment.tx_hash)
    TransferClaim.objects.all().delete()
    Authorization.objects.update(state="sent", payment=None, answer=None, served_at=None)
    X402Payment.objects.all().delete()
    finish_open(clock=lambda: timezone.now() + 2 * LEASE)
    assert X402Payment.objects.get().transfer == transfer
    assert TransferClaim.objects.get().transfer == transfer


def test_what_a_fork_undoes_is_reversed_and_stands_again_once_it_is_sent_again(
    solana_stall: Shop, solana_seller: ApiClient
) -> None:
    solana_stall.node.finalize()
    began = solana_stall.node.slot()
    settled(solana_stall, solana_seller)
    # What is final is not looked for again, so the operator waits for more slots than there are.
    assert watch(solana_stall, depth=1_000).status == "verified"
    # Its own slot may be the one that was the newest before.
    solana_stall.node.rollback(after=began - 1)
    solana_stall.node.advance(5)
    assert watch(solana_stall, after=10, depth=1_000).status == "reversed"
    row = Authorization.objects.get()
    assert row.state == "sent"
    # Its block's hash can be used still: it is sent again.
    finish_open(clock=lambda: timezone.now() + 2 * LEASE)
    solana_stall.node.advance(5)
    assert watch(solana_stall, after=20, depth=1_000).status == "verified"
    assert X402Payment.objects.get().reversed_at is None


@pytest.mark.parametrize(
    "changes",
    [
        {"GAS_DAILY_COINS": {"solana": "0.00001"}},
        {"GAS_DAILY_COINS": {"solana": "0.0001"}, "GAS_MERCHANT_SHARE": "0.1"},
    ],
)
def test_what_a_day_may_cost_is_not_exceeded(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any, changes: dict[str, Any]
) -> None:
    body = solana_stall.body(solana_stall.draft().signed())
    before = {name: getattr(settings, name) for name in changes}
    for name, value in changes.items():
        setattr(settings, name, value)
    assert settle(solana_seller, body)["errorReason"] == TROUBLE[1]
    row = Authorization.objects.get()
    assert (row.state, row.signed) == (AuthorizationState.TAKEN, None)
    for name, value in before.items():
        setattr(settings, name, value)
    with ticking(solana_stall.node):
        assert settle(solana_seller, body)["success"]


def test_each_payment_is_counted_against_the_day(solana_stall: Shop, solana_seller: ApiClient, settings: Any) -> None:
    # Twice two signatures and a lamport of haste each to the lamport, and not three times.
    settings.GAS_DAILY_COINS = {"solana": "0.000020002"}
    settings.GAS_MERCHANT_SHARE = "1"
    with ticking(solana_stall.node):
        answers = [settle(solana_seller, solana_stall.body(solana_stall.draft().signed())) for _ in range(3)]
    assert [answer["success"] for answer in answers] == [True, True, False]
    assert answers[2]["errorReason"] == TROUBLE[1]
    fees = Authorization.objects.values_list("network_fee", flat=True)
    assert sorted(fee for fee in fees if fee) == [10_001, 10_001]


def test_payments_that_are_judged_at_the_same_moment_cost_no_more_than_the_day(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two signatures and a lamport of haste, once.
    settings.GAS_DAILY_COINS = {"solana": "0.000010001"}
    # Each was judged before the other one was signed.
    monkeypatch.setattr(rail, "refuse_spending", lambda *_, **__: None)
    with ticking(solana_stall.node):
        answers = [settle(solana_seller, solana_stall.body(solana_stall.draft().signed())) for _ in range(2)]
    assert [answer["success"] for answer in answers] == [True, False]
    assert answers[1]["errorReason"] == TROUBLE[1]
    assert Authorization.objects.filter(network_fee__gt=0).count() == 1


def test_what_failed_a_while_ago_is_no_part_of_the_merchants_day(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any
) -> None:
    # A share for two payments.
    settings.GAS_DAILY_COINS = {"solana": "0.0001"}
    settings.GAS_MERCHANT_SHARE = "0.25"
    with ticking(solana_stall.node):
        answers = [settle(solana_seller, solana_stall.body(solana_stall.draft().signed())) for _ in range(3)]
        assert [answer["success"] for answer in answers] == [True, True, False]
        paid = Authorization.objects.filter(network_fee__isnull=False)
        paid.update(state=AuthorizationState.FAILED)
        assert not settle(solana_seller, solana_stall.body(solana_stall.draft().signed()))["success"]
        # Further away than a payer's own wait as well.
        paid.update(created_at=timezone.now() - timedelta(minutes=61))
        assert settle(solana_seller, solana_stall.body(solana_stall.draft().signed()))["success"]
