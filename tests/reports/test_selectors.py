"""Which transfers a report is about."""

import pytest

from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, WALLET, make_wallet
from tests.reports.answers import listed, named
from tests.reports.takings import days_later, earn, receive
from wallets.models import Transfer

pytestmark = pytest.mark.django_db


def test_nobody_sees_what_others_or_the_other_mode_received(shop: ApiClient) -> None:
    mine = earn(shop.merchant)
    tested = receive(shop.merchant, mode=Mode.TEST)
    earn(client_of(mode=Mode.LIVE).merchant)
    assert listed(shop) == named(mine)
    assert listed(client_of(shop.merchant, Mode.TEST)) == named(tested)
    assert listed(client_of(mode=Mode.LIVE)) == []


def test_from_is_included_and_to_is_not(shop: ApiClient) -> None:
    midnight = NOON.replace(hour=0)
    wanted = receive(shop.merchant, block_time=midnight)
    receive(shop.merchant, block_time=midnight.replace(day=21))
    receive(shop.merchant, block_time=midnight.replace(day=19, hour=23))
    assert listed(shop, since="2026-11-20", to="2026-11-21") == named(wanted)
    moment = "2026-11-20T01:00:00+01:00"
    assert listed(shop, since=moment, to="2026-11-20T00:00:00.000001Z") == named(wanted)


def test_each_filter_leaves_what_it_names(shop: ApiClient) -> None:
    on_base = earn(shop.merchant)
    tether = receive(shop.merchant, chain="polygon", token="USDT", **days_later(1))
    assert listed(shop, chain="base") == named(on_base)
    assert listed(shop, token="USDT") == named(tether)
    assert listed(shop, direction="in") == named(tether, on_base)
    assert listed(shop, direction="out") == []
    assert listed(shop, tag="shop-1") == []
    assert listed(shop, wallet=on_base.recipient.lower()) == named(on_base)
    assert listed(shop, wallet="0x" + "11" * 20) == []


def test_a_wallet_is_where_deposit_addresses_pay_to(shop: ApiClient) -> None:
    assert shop.merchant is not None
    deposited = receive(shop.merchant)
    direct = receive(shop.merchant, chain="ethereum", **days_later(1))
    wallet = make_wallet(shop.merchant, "ethereum")
    Transfer.objects.filter(pk=direct.pk).update(deposit=None, wallet=wallet, recipient=wallet.address)
    assert listed(shop, wallet=WALLET) == named(direct, deposited)
    assert listed(shop, wallet=WALLET, chain="ethereum") == named(direct)
