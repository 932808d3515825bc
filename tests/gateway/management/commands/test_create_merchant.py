"""Setting up a merchant by command."""

import io
import re

import pytest
from django.core.management import CommandError, call_command

from accounts.keys.authentication import principal_of
from accounts.models import Membership, Merchant, User
from accounts.states import Mode, Role
from tests.factories import WALLET
from tests.nodes.answering import answering_code
from wallets.models import ReceivingWallet
from webhooks.models import Endpoint

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_chains")]


@pytest.fixture(autouse=True)
def a_password_is_piped(monkeypatch, settings):
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))


def create(*options: str) -> str:
    out = io.StringIO()
    call_command("create_merchant", "Halden Roasters", "o@example.test", *options, stdout=out)
    return out.getvalue()


def test_a_merchant_can_take_payments_after_one_command():
    printed = create("--wallet", f"base={WALLET}", "--webhook-url", "https://shop.example/hook")
    merchant = Merchant.objects.get()
    membership = Membership.objects.get(merchant=merchant)
    assert membership.role == Role.OWNER
    assert membership.user.check_password("correct horse battery")
    assert ReceivingWallet.objects.get().address == WALLET
    assert set(Endpoint.objects.values_list("mode", flat=True)) == {Mode.LIVE, Mode.TEST}
    keys = re.findall(r"sk_(?:live|test)_\S+", printed)
    assert [principal_of(key).mode for key in keys] == [Mode.LIVE, Mode.TEST]
    assert "whsec_" in printed
    assert "correct horse" not in printed


def test_buyers_may_not_retry_unless_it_is_said():
    create()
    assert not Merchant.objects.get().buyers_may_retry


def test_buyers_may_retry_where_the_command_says_so():
    create("--buyers-may-retry")
    assert Merchant.objects.get().buyers_may_retry


@pytest.mark.parametrize("wallet", ["base=0x123", "nowhere=0x123", "base"])
def test_a_bad_wallet_creates_nothing_at_all(wallet):
    with pytest.raises(CommandError):
        create("--wallet", wallet)
    assert not Merchant.objects.exists()
    assert not User.objects.exists()


def test_an_address_in_use_is_refused():
    create()
    with pytest.raises(CommandError, match="already exists"):
        create()
    assert Merchant.objects.count() == 1


@pytest.mark.parametrize("options", [(), ("--mail-receipts",)])
def test_receipts_are_mailed_where_the_command_says_so_and_nowhere_else(options):
    create(*options)
    assert Merchant.objects.get().mails_receipts is bool(options)


@pytest.mark.parametrize("nodes", [{}, {"BASE_RPC_URLS": "http://127.0.0.1:1"}])
def test_a_wallet_that_no_node_knows_creates_nothing(settings, nodes):
    settings.CHAIN_SETTINGS = nodes
    with pytest.raises(CommandError, match="Nothing was saved"):
        create("--wallet", f"base={WALLET}")
    assert not User.objects.exists()


def test_a_token_creates_nothing_and_a_contract_wallet_wants_to_be_confirmed(base_node, settings):
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    token = {"313ce567": [6], "18160ddd": [1]}
    base_node.rpc("anvil_setCode", WALLET, answering_code(token))
    with pytest.raises(CommandError, match="is a token contract"):
        create("--wallet", f"base={WALLET}", "--contract-wallet", "base")
    safe = {"a0e67e2b": [32, 1, 7], "e75235b8": [1]}
    base_node.rpc("anvil_setCode", WALLET, answering_code(safe))
    with pytest.raises(CommandError, match="--contract-wallet base"):
        create("--wallet", f"base={WALLET}")
    assert not User.objects.exists()
    create("--wallet", f"base={WALLET}", "--contract-wallet", "base")
    assert ReceivingWallet.objects.get().address == WALLET
