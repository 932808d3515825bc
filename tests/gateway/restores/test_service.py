"""The address of a lost checkout follows from its id."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone

from checkouts.models import Checkout
from gateway.core.ids import new_id
from gateway.restores.service import recover_addresses
from tests.contract.client import ApiClient
from tests.factories import LOCAL_NODES, make_key, make_live_chain, make_merchant, make_wallet
from wallets.models import DepositAddress

pytestmark = pytest.mark.django_db


@pytest.fixture
def seller(settings: Any) -> ApiClient:
    """Who sells on Base."""
    settings.CHAIN_SETTINGS = LOCAL_NODES
    merchant = make_merchant()
    make_wallet(merchant, "base")
    make_live_chain("base")
    return ApiClient(make_key(merchant)[1])


def lost(client: ApiClient) -> tuple[str, DepositAddress]:
    """A checkout's id and its address, whose rows are gone."""
    public_id = client.created()["id"]
    deposit = DepositAddress.objects.get()
    Checkout.objects.all().delete()
    DepositAddress.objects.all().delete()
    return public_id, deposit


def test_the_address_of_a_lost_checkout_is_watched_again(seller: ApiClient, settings: Any) -> None:
    public_id, deposit = lost(seller)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    again = recover_addresses(deposit.merchant, [public_id], now=timezone.now())
    assert again == 2
    found = DepositAddress.objects.get(key=deposit.key)
    assert bytes(found.nonce) == bytes(deposit.nonce)
    assert recover_addresses(deposit.merchant, [public_id], now=timezone.now()) == 0


def test_without_the_id_or_the_key_nobody_finds_it(seller: ApiClient, settings: Any) -> None:
    public_id, deposit = lost(seller)
    now = timezone.now()
    recover_addresses(deposit.merchant, [new_id("chk_live")], now=now)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    recover_addresses(deposit.merchant, [public_id], now=now)
    assert not DepositAddress.objects.filter(key=deposit.key).exists()


def test_checkouts_that_are_here_and_those_of_test_mode_are_passed_over(seller: ApiClient) -> None:
    here = seller.created()["id"]
    merchant = DepositAddress.objects.get().merchant
    ids = [here, new_id("chk_test")]
    assert recover_addresses(merchant, ids, now=timezone.now()) == 0
