"""When links ran out of exact amounts, their checkouts do without those chains, and nobody else's."""

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.exact.exhaustion import note_exhausted
from tests.contract.client import client_of
from tests.factories import make_merchant
from tests.links.factories import make_link
from tests.links.payer import Payer

EXACT = {"solana", "ton", "tron", "ethereum"}


@pytest.mark.django_db
def test_only_checkouts_of_links_do_without_exact_amounts() -> None:
    merchant = make_merchant()
    link = make_link(merchant)
    assert link.amount is not None
    payer, path = Payer(Client()), f"/p/{link.code}"
    before = payer.pay(path)
    assert set(before.offers) > EXACT
    note_exhausted(merchant.pk, Mode.TEST, link.amount, now=timezone.now(), for_links=True)
    assert EXACT.isdisjoint(payer.pay(path).offers)
    made = client_of(merchant, Mode.TEST).created(amount=str(link.amount))
    assert {option["chain"] for option in made["available_chains"]} > EXACT
