"""Links whose payments are held in escrow."""

import pytest

from accounts.states import Mode
from settlements.models import Hold
from tests.contract.client import ApiClient
from tests.factories import make_wallet
from tests.links.bodies import CUSTOM, created
from tests.links.factories import make_link
from tests.links.payer import Payer

pytestmark = pytest.mark.django_db


def test_a_link_in_escrow_makes_checkouts_in_escrow(tester: ApiClient, payer: Payer) -> None:
    link = created(tester, CUSTOM | {"escrow": True})
    assert link["escrow"] is True
    path = f"/p/{link['url'].rpartition('/')[2]}"
    # What money cannot wait in is not offered.
    page = payer.look(path)
    assert "Polygon" in page
    assert "Solana" not in page
    checkout = payer.pay(path)
    assert checkout.escrow
    assert set(checkout.offers) == {"base", "polygon"}
    assert Hold.objects.get().subject_id == checkout.public_id
    changed = tester.send("PATCH", f"/links/{link['id']}", {"title": "Coffee"})
    assert changed.body["escrow"] is True
    changed = tester.send("PATCH", f"/links/{link['id']}", {"escrow": False})
    assert changed.body["escrow"] is False
    assert not payer.pay(path).escrow


def test_a_link_in_escrow_says_that_nobody_can_pay_without_a_forwarder(payer: Payer) -> None:
    link = make_link(mode=Mode.LIVE, escrow=True)
    make_wallet(link.merchant, "ethereum")
    assert "Continue to payment" not in payer.look(f"/p/{link.code}")
    link.escrow = False
    link.save()
    assert "Continue to payment" in payer.look(f"/p/{link.code}")
