"""Setting up a merchant by command."""

import io
import re

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command

from accounts.keys.authentication import principal_of
from accounts.models import Membership, Merchant, User
from accounts.states import Mode, Role
from tests.factories import WALLET
from wallets.models import ReceivingWallet
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def a_password_is_piped(monkeypatch, settings):
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))


def create(*options: str) -> str:
    out = io.StringIO()
    call_command(
        "create_merchant", "Halden Roasters", "o@example.test", *options, stdout=out
    )
    return out.getvalue()


def test_a_merchant_can_take_payments_after_one_command():
    printed = create(
        "--wallet", f"base={WALLET}", "--webhook-url", "https://shop.example/hook"
    )
    merchant = Merchant.objects.get()
    membership = Membership.objects.get(merchant=merchant)
    assert membership.role == Role.OWNER
    assert membership.user.check_password("correct horse battery")
    assert ReceivingWallet.objects.get().address == WALLET
    assert set(Endpoint.objects.values_list("mode", flat=True)) == {
        Mode.LIVE,
        Mode.TEST,
    }
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
