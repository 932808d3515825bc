"""Each flow that docs/diagrams shows happens as it is drawn."""

from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.attribution.queue import attribute_transfers
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.tokens import mint
from tests.checkouts.arrivals import Till, exact
from tests.checkouts.factories import make_chains_well
from tests.checkouts.watcher import SOON, attribute, status_of
from tests.contract.client import client_of
from tests.diagrams.flows import CHECKOUT, EXACT, FLOWS, SIGNED, Flow
from tests.diagrams.sequences import first_missing, function_of, recorded
from tests.factories import make_merchant, make_wallet
from tests.waiting import wait_until
from tests.wallets.factories import read_all
from tests.webhooks.factories import make_endpoint
from tests.webhooks.receiver import receiving
from tests.webhooks.senders import sending
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.shop import connect_base, open_shop
from tests.x402.payers import pay_to_of
from wallets.chains.registry import open_pool
from wallets.networks import chain_spec
from wallets.selectors import forget
from wallets.watcher_process import open_watcher
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

UNITS = 25_000_000


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.title)
def test_participants_and_functions_of_a_flow_exist(flow: Flow) -> None:
    named = {name for step in flow.steps for name in (step.source, step.target)}
    assert named == set(flow.participants)
    assert all(callable(function_of(name)) for name in flow.functions())


def test_the_recording_sees_a_wrong_order_and_what_is_not_called() -> None:
    assert first_missing(["a", "b"], ["x", "a", "x", "b"]) == ""
    assert first_missing(["a", "b"], ["b", "a"]) == "b"
    assert first_missing(["a", "a"], ["a"]) == "a"


@pytest.mark.django_db(transaction=True)
def test_a_checkout_is_paid_and_its_webhook_sent_as_drawn(base_node: Anvil, settings: Any) -> None:
    usdc = connect_base(settings, base_node)
    settings.CHAIN_SETTINGS |= {"BASE_LARGE_AMOUNT_USD": "0"}
    settings.TRANSFER_CONSUMERS = []
    settings.WEBHOOK_ALLOW_LOOPBACK = True
    forget()
    merchant = make_merchant()
    make_wallet(merchant, "base")
    spec = chain_spec("base")
    watcher = open_watcher(spec, open_pool(spec), owner="one")
    with receiving() as receiver, recorded(CHECKOUT) as calls:
        make_endpoint(merchant, receiver.url)
        read_all(watcher)
        made = client_of(merchant, Mode.LIVE).post("/checkouts", {"amount": "25.00", "currency": "USD"})
        checkout = Checkout.objects.get(public_id=made.body["id"])
        address = checkout.offers["base"]["address"]
        mint(base_node, usdc, address, UNITS)
        base_node.mine(30)
        read_all(watcher)
        assert attribute_transfers(now=timezone.now()) == 1
        # A sender started before would take the delivery between the commit and its release.
        with sending():
            delivered = Delivery.objects.filter(status=DeliveryStatus.DELIVERED)
            wait_until(delivered.exists)
    watcher.close()
    assert b"checkout.completed" in receiver.got[0].body
    assert first_missing(CHECKOUT.functions(), calls) == "", calls


@pytest.mark.django_db
def test_an_exact_amount_is_credited_as_drawn(client: Client, settings: Any) -> None:
    till = Till()
    checkout = till.checkout(chains=("ethereum",))
    with time_machine.travel(SOON, tick=False), recorded(EXACT) as calls:
        make_chains_well(settings)
        form = {"chain": "ethereum", "token": "USDC"}
        client.post(f"/c/{checkout.code}/choose", form)
        page = client.get(f"/c/{checkout.code}?chain=ethereum&token=USDC")
        assert page.status_code == 200
        till.sees(exact(checkout))
        till.confirms()
        attribute()
    assert status_of(checkout) == CheckoutStatus.COMPLETED
    assert first_missing(EXACT.functions(), calls) == "", calls


@pytest.mark.django_db
def test_a_signed_payment_is_settled_as_drawn(base_node: Anvil, settings: Any) -> None:
    usdc, seller = connect_base(settings, base_node), open_shop()
    body = body_of(authorize(base_node, pay_to_of(seller), 10_000), usdc)
    with recorded(SIGNED) as calls:
        assert verify(seller, body)["isValid"]
        assert settle(seller, body)["success"]
    assert first_missing(SIGNED.functions(), calls) == "", calls
