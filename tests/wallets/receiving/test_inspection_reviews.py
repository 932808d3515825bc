"""Wallets that were stored before chains were asked what an address is, or have changed since."""

import socket
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone
from solders.keypair import Keypair

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode, Role
from localnet.anvil import Anvil
from mails.models import OutgoingMail
from tests.dashboard.people import Desk, make_member
from tests.factories import LOCAL_NODES, make_live_chain, make_merchant, make_wallet
from tests.nodes.answering import answering_code
from tests.wallets.contract.hostile import HttpProxy
from tests.wallets.receiving.test_inspection import AT, OWNERS, WETH, without_code
from tests.wallets.wallet_changes import new_address
from wallets.chains.family import AccountKind
from wallets.models import ChainCursor, ReceivingWallet
from wallets.receiving.inspection import InspectionRound, objected_wallets, review_wallets
from wallets.receiving.service import set_receiving_wallet
from wallets.selectors import forget, offerable_chains
from wallets.states import ClaimKind
from x402.payments.addresses import known_pay_to

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode

pytestmark = pytest.mark.django_db


def offered(merchant: Merchant) -> list[str]:
    forget()
    return [one.name for one in offerable_chains(merchant.pk, Mode.LIVE)]


def mails(what: str) -> list[str]:
    return list(OutgoingMail.objects.filter(key__contains=f":{what}:").values_list("text", flat=True))


def review(*, after: timedelta = timedelta(0)) -> int:
    """Look the wallets up after some time, in which the chains were read."""
    now = timezone.now() + after
    if after:
        ChainCursor.objects.update(head_at=now)
        forget()
    return review_wallets(now=now)


@pytest.fixture
def merchant() -> Merchant:
    merchant = make_merchant()
    make_member(merchant, Role.OWNER)
    return merchant


@pytest.fixture
def stored(
    merchant: Merchant, settings: Any, request: pytest.FixtureRequest
) -> Callable[[str], tuple[ReceivingWallet, ReceivingWallet]]:
    """Store on a chain what an older version accepted: a trap for the merchant, and a sound wallet of another."""

    def store(chain: str) -> tuple[ReceivingWallet, ReceivingWallet]:
        settings.CHAIN_NETWORK = "local"
        node = request.getfixturevalue(f"{chain}_node")
        settings.CHAIN_SETTINGS = {f"{chain.upper()}_RPC_URLS": node.url}
        make_live_chain(chain)
        trap, sound = PLACES[chain](node)
        return make_wallet(merchant, chain, trap), make_wallet(make_merchant(), chain, sound)

    return store


def _on_base(node: Anvil) -> tuple[str, str]:
    node.rpc("anvil_setCode", AT, answering_code(WETH))
    return AT, new_address()


def _on_solana(node: "SolanaNode") -> tuple[str, str]:
    return node.create_token(), str(Keypair().pubkey())


def _on_ton(node: "TonNode") -> tuple[str, str]:
    owner = node.create_wallet(units=5).address
    return node.jetton_wallet(owner), owner


PLACES: dict[str, Callable[[Any], tuple[str, str]]] = {"base": _on_base, "solana": _on_solana, "ton": _on_ton}


@pytest.mark.parametrize("chain", PLACES)
def test_a_stored_wallet_that_loses_the_money_is_offered_no_more_and_its_owners_are_told(
    merchant: Merchant, stored: Callable[[str], tuple[ReceivingWallet, ReceivingWallet]], chain: str
) -> None:
    trap, sound = stored(chain)
    assert offered(merchant) == [chain]
    assert review() == 1
    trap.refresh_from_db()
    sound.refresh_from_db()
    assert trap.refused_at == trap.retired_at is not None
    assert (sound.retired_at, sound.objection) == (None, "")
    assert offered(merchant) == []
    assert offered(sound.merchant) == [chain]
    [text] = mails("refused")
    assert "loses" not in text.split("\n")[0]
    assert trap.objection in text
    assert "Add a wallet whose key you hold" in text
    assert AuditEntry.objects.get(action="receiving_wallet.refused").object_id == chain
    # It is told once.
    assert review(after=timedelta(days=2)) == 0
    assert len(mails("refused")) == 1


def test_the_pages_say_what_is_wrong_with_a_wallet_and_what_to_do(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    now = timezone.now()
    lost = make_wallet(owner.merchant, "ton", "EQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinaPP")
    words = "The address is a token account, not a wallet."
    end = {"objection": words, "refused_at": now, "retired_at": now}
    ReceivingWallet.objects.filter(pk=lost.pk).update(**end)
    doubted = make_wallet(owner.merchant, "base")
    ReceivingWallet.objects.filter(pk=doubted.pk).update(objection="The address is a contract.")
    machines = make_wallet(owner.merchant, "tron", "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8")
    ReceivingWallet.objects.filter(pk=machines.pk).update(purpose=ClaimKind.X402, **end)
    headings = [notice.heading for notice in owner.get("dashboard_overview").context["notices"]]
    assert headings[:3] == [
        "Your Base wallet may lose what it receives.",
        "Your TON wallet loses what it receives.",
        "Your Tron wallet for machines loses what it receives.",
    ]
    page = owner.get("dashboard_receiving_wallets").text
    assert f"loses what it receives.</b> {words}" in page
    assert "may lose what it receives.</b> The address is a contract." in page
    assert "loses what it receives.</b>" in owner.get("dashboard_x402_setup").text
    # Another wallet ends it.
    make_wallet(owner.merchant, "ton", "EQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinaPP")
    assert [wallet.chain for wallet in objected_wallets(owner.merchant.pk)] == ["base", "tron"]


def test_machines_no_longer_pay_at_a_wallet_that_loses_it(
    merchant: Merchant, solana_node: "SolanaNode", settings: Any
) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    make_live_chain("solana")
    wallet = make_wallet(merchant, "solana", solana_node.create_token())
    ReceivingWallet.objects.filter(pk=wallet.pk).update(purpose=ClaimKind.X402)
    assert known_pay_to(merchant.pk, Mode.LIVE, "solana") == wallet.address
    assert review() == 1
    assert known_pay_to(merchant.pk, Mode.LIVE, "solana") is None
    assert len(mails("refused")) == 1


@pytest.mark.parametrize("told", [[AccountKind.CONTRACT], [AccountKind.EMPTY], [AccountKind.TOKEN, AccountKind.WALLET]])
def test_a_stored_wallet_in_doubt_stays_and_its_owners_are_told_once(
    merchant: Merchant, settings: Any, monkeypatch: pytest.MonkeyPatch, told: list[AccountKind]
) -> None:
    """One node that lies must not stop a shop, nor a vault that does not answer as a wallet."""
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_live_chain("base")
    wallet = make_wallet(merchant)
    monkeypatch.setattr(InspectionRound, "_ask", lambda *_: told)
    assert [review(after=timedelta(days=days)) for days in (0, 2)] == [0, 0]
    assert offered(merchant) == ["base"]
    assert objected_wallets(merchant.pk) == [wallet]
    assert len(mails("doubted")) == 1
    monkeypatch.setattr(InspectionRound, "_ask", lambda *_: [AccountKind.WALLET])
    review(after=timedelta(days=4))
    assert objected_wallets(merchant.pk) == []


def test_two_nodes_must_agree_that_a_stored_wallet_is_a_token(
    merchant: Merchant, base_node: Anvil, settings: Any
) -> None:
    base_node.rpc("anvil_setCode", AT, answering_code(WETH))
    make_live_chain("base")
    wallet = make_wallet(merchant, "base", AT)
    with HttpProxy(base_node.url) as other:
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": f"{base_node.url},{other.url}"}
        honest, other.fault = other.fault, without_code
        assert review() == 0
        other.fault = honest
        assert review(after=timedelta(days=2)) == 1
    wallet.refresh_from_db()
    assert wallet.refused_at is not None


def test_a_contract_wallet_that_nobody_was_warned_of_is_told_once(
    merchant: Merchant, base_node: Anvil, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    make_live_chain("base")
    base_node.rpc("anvil_setCode", AT, answering_code(OWNERS))
    make_wallet(merchant, "base", AT)
    review()
    [text] = mails("contract")
    assert "This is a contract on Base" in text
    # One that was set through the pages was confirmed there.
    other = make_merchant()
    make_member(other, Role.OWNER)
    set_receiving_wallet(other, chain="base", address=AT, now=timezone.now())
    review(after=timedelta(days=2))
    assert len(mails("contract")) == 1


def test_wallets_of_a_chain_that_is_down_or_silent_wait_and_hold_up_no_others(
    merchant: Merchant, base_node: Anvil, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wallets.receiving.inspection._SECONDS", 0.5)
    base_node.rpc("anvil_setCode", AT, answering_code(WETH))
    for _ in range(5):
        make_wallet(make_merchant(), "ethereum", new_address())
        make_wallet(make_merchant(), "polygon", new_address())
    trap = make_wallet(merchant, "base", AT)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        urls = {"BASE": base_node.url, "ETHEREUM": url, "POLYGON": url}
        settings.CHAIN_SETTINGS = {f"{chain}_RPC_URLS": one for chain, one in urls.items()}
        for chain in ("base", "ethereum"):
            make_live_chain(chain)
        make_live_chain("polygon", head_at=timezone.now() - timedelta(hours=1))
        began = time.monotonic()
        assert review() == 1
        assert time.monotonic() - began < 4
    looked_up = ReceivingWallet.objects.filter(inspected_at__isnull=False)
    assert [wallet.pk for wallet in looked_up] == [trap.pk]


def test_each_wallet_is_looked_up_once_a_day(merchant: Merchant, base_node: Anvil, settings: Any) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    make_live_chain("base")
    make_wallet(merchant, "base", AT)
    review()
    base_node.rpc("anvil_setCode", AT, answering_code(WETH))
    assert [review(after=timedelta(hours=hours)) for hours in (23, 25)] == [0, 1]
