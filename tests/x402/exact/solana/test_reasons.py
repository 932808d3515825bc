"""What is not carried out on Solana: nothing is signed for it, and it costs nothing."""

from collections.abc import Iterator
from typing import Any

import pytest
from base58 import b58encode
from django.utils import timezone
from solders.keypair import Keypair

from accounts.audit.actors import Actor
from accounts.states import Mode
from localnet.solana.programs import TOKEN_2022
from tests.contract.client import ApiClient, client_of
from tests.factories import make_merchant, make_user
from tests.nodes.proxy import Fault, RpcProxy, garbage, refuses
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.solana.payers import UNITS, Shop, ticking
from wallets.receiving.service import set_machine_wallet
from wallets.selectors import forget
from x402.exact.solana import reasons
from x402.models import Authorization, X402Payment

pytestmark = pytest.mark.django_db

RENT = 890_880
"""Lamports that an account must hold at least."""


def codes(seller: ApiClient, body: dict[str, Any]) -> tuple[str, str]:
    """Why it is not verified, and not settled; nothing was written down for it."""
    verified, settled = verify(seller, body), settle(seller, body)
    assert (verified["isValid"], settled["success"]) == (False, False)
    assert settled["transaction"] == ""
    signed = Authorization.objects.exclude(signed=None)
    assert not signed.exists()
    assert not X402Payment.objects.exists()
    return verified["invalidReason"], settled["errorReason"]


def both(reason: str) -> tuple[str, str]:
    return reason, reason


@pytest.mark.parametrize(
    "changes",
    [
        # The token is another program's.
        {"program": TOKEN_2022},
        {"decimals": 9},
        {"units": UNITS, "limit": 100},
        {"payer": Keypair()},
        {"blockhash": str(Keypair().pubkey())},
    ],
)
def test_what_the_network_would_refuse_is_not_sent(
    solana_stall: Shop, solana_seller: ApiClient, changes: dict[str, Any]
) -> None:
    body = solana_stall.body(solana_stall.draft(**changes).signed())
    assert codes(solana_seller, body) == both(reasons.SIMULATION)


@pytest.mark.parametrize("units", [UNITS - 1, UNITS + 1, 0, 2**64 - 1])
def test_another_amount_than_asked_for_is_refused(solana_stall: Shop, solana_seller: ApiClient, units: int) -> None:
    body = solana_stall.body(solana_stall.draft(units=units).signed())
    expected = "invalid_exact_svm_payload_amount_mismatch"
    assert codes(solana_seller, body) == both(expected)


def test_somebody_else_s_wallet_is_not_paid_here(solana_stall: Shop, solana_seller: ApiClient) -> None:
    thief = Keypair()
    solana_stall.node.fund(str(thief.pubkey()), 1)
    signed = solana_stall.draft(recipient=str(thief.pubkey())).signed()
    code = codes(solana_seller, solana_stall.body(signed, payTo=str(thief.pubkey())))
    assert code == both(reasons.RECIPIENT)


def test_an_account_that_is_not_ours_pays_nothing(solana_stall: Shop, solana_seller: ApiClient) -> None:
    stranger = str(Keypair().pubkey())
    solana_stall.node.airdrop(stranger)
    signed = solana_stall.draft(fee_payer=stranger).signed()
    body = solana_stall.body(signed, extra={"feePayer": stranger})
    assert codes(solana_seller, body) == both(reasons.FEE_PAYER_UNKNOWN)


def test_another_merchant_does_not_get_the_payment(solana_stall: Shop, solana_seller: ApiClient) -> None:
    thief, wallet, now = make_merchant(), str(Keypair().pubkey()), timezone.now()
    set_machine_wallet(thief, chain="solana", address=wallet, actor=Actor(make_user()), now=now)
    forget()
    signed, own = solana_stall.draft().signed(), client_of(thief, Mode.LIVE)
    assert codes(own, solana_stall.body(signed)) == both(reasons.RECIPIENT)
    assert codes(own, solana_stall.body(signed, payTo=wallet)) == both(reasons.RECIPIENT)


TROUBLE = ("unexpected_verify_error", "unexpected_settle_error")


@pytest.mark.parametrize("lamports", [0, 9_000, RENT + 9_000])
def test_our_account_s_want_of_money_says_nothing_about_the_payment(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any, lamports: int
) -> None:
    poor = Keypair()
    if lamports:
        solana_stall.node.rpc("sim_setLamports", str(poor.pubkey()), lamports)
    settings.GAS_KEYS_SOLANA = [b58encode(bytes(poor)).decode()]
    solana_stall.fee_payer = str(poor.pubkey())
    body = solana_stall.body(solana_stall.draft().signed())
    assert codes(solana_seller, body) == TROUBLE
    solana_stall.node.airdrop(solana_stall.fee_payer)
    with ticking(solana_stall.node):
        assert settle(solana_seller, body)["success"]


@pytest.mark.parametrize(
    ("name", "limit"), [("GAS_DAILY_COINS", {"solana": "0.000000001"}), ("GAS_MERCHANT_SHARE", "0")]
)
def test_a_limit_that_settle_keeps_to_is_said_at_verify(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any, name: str, limit: Any
) -> None:
    body = solana_stall.body(solana_stall.draft().signed())
    assert verify(solana_seller, body)["isValid"]
    before = getattr(settings, name)
    setattr(settings, name, limit)
    assert codes(solana_seller, body) == TROUBLE
    setattr(settings, name, before)
    with ticking(solana_stall.node):
        assert settle(solana_seller, body)["success"]


@pytest.fixture
def proxy(solana_stall: Shop, settings: Any) -> Iterator[RpcProxy]:
    """Stands between the gateway and the node."""
    with RpcProxy(solana_stall.node.url) as between:
        settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": between.url}
        yield between


@pytest.mark.parametrize(
    "fault",
    [
        refuses(-32601, "no such method", method="simulateTransaction"),
        refuses(-32602, "not in this plan", method="simulateTransaction"),
        refuses(-32005, "behind by 7 slots", method="simulateTransaction"),
        garbage(b'{"jsonrpc":"2.0","id":1,"result":{"value":{"err":null}}}'),
        garbage(b'{"jsonrpc":"2.0","id":1,"result":null}'),
        garbage(status=502),
    ],
    ids=["method", "plan", "behind", "no slot", "nothing", "status"],
)
def test_a_node_s_trouble_says_nothing_about_the_payment(
    solana_stall: Shop, proxy: RpcProxy, solana_seller: ApiClient, fault: Fault
) -> None:
    body = solana_stall.body(solana_stall.draft().signed())
    proxy.fault = fault
    assert codes(solana_seller, body) == TROUBLE


def test_asking_whether_it_would_settle_changes_nothing(solana_stall: Shop, solana_seller: ApiClient) -> None:
    body = solana_stall.body(solana_stall.draft().signed())
    answers = [verify(solana_seller, body) for _ in range(16)]
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["isValid"]
    assert not Authorization.objects.exists()
    assert solana_stall.node.balance(solana_stall.wallet) == 1
