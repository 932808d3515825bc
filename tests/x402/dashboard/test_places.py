"""Where machines pay, and what is missing where they cannot."""

from typing import Any

import pytest

from accounts.states import Mode
from tests.dashboard.people import Desk
from tests.x402.recorded import make_payable, make_seller
from wallets.models import DepositAddress
from x402.models import Forwarder
from x402.payments.addresses import known_pay_to

pytestmark = pytest.mark.django_db


def test_set_up_shows_where_machines_pay_and_what_is_missing(owner: Desk, settings: Any) -> None:
    to = make_seller(owner.merchant, settings)
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {
        "SOLANA_RPC_URLS": "http://127.0.0.1:1",
        "POLYGON_RPC_URLS": "http://127.0.0.1:1",
    }
    page = owner.get("dashboard_x402_setup")
    assert f'data-copy="{to}"' in page.text
    found = {place.chain: str(place.missing) for place in page.context["places"]}
    assert found == {
        "base": "",
        "polygon": "receiving_wallet",
        "solana": "wallet",
        "ton": "node",
        "tron": "node",
        "ethereum": "node",
    }
    assert "No receiving wallet on Polygon" in page.text
    assert "No wallet for machines" in page.text
    assert owner.url("dashboard_x402_wallet", chain="solana") in page.text


def test_looking_at_the_pages_makes_no_address_and_asking_for_one_does(
    admin: Desk, viewer: Desk, settings: Any
) -> None:
    make_payable(admin.merchant, settings)
    for desk in (admin, viewer):
        assert "Machines cannot pay you yet" in desk.get("dashboard_x402").text
        page = desk.get("dashboard_x402_setup")
        assert "It has not been created yet" in page.text
        assert ("Show the address on Base" in page.text) == (desk is admin)
    assert viewer.post("dashboard_x402_forwarders").status_code == 403
    assert not DepositAddress.objects.exists()
    asked = admin.post("dashboard_x402_forwarders")
    assert asked["Location"] == admin.url("dashboard_x402_setup")
    made = known_pay_to(admin.merchant.pk, Mode.LIVE, "base")
    assert f'data-copy="{made}"' in viewer.get("dashboard_x402_setup").text
    assert DepositAddress.objects.count() == Forwarder.objects.count() == 1
