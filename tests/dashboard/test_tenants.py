"""Nobody reaches another merchant's objects, nor the other mode's, over any route of the dashboard that names one.

A new route with an object's id fails here until somebody says which object it is about.
"""

from decimal import Decimal
from typing import Any

import pytest

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode, Role
from accounts.team.service import invite
from checkouts.inbox.acceptances import accept_as_paid
from checkouts.states import InboxAct
from settlements.states import Sender, SettlementStatus
from tests.checkouts.inboxes import extra_item
from tests.checkouts.till.terminals import make_terminal
from tests.checkouts.watcher import DOLLAR, pay
from tests.dashboard.inboxes import decide, make_report
from tests.dashboard.machines import make_machine_payment, make_settlement
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, WALLET, make_checkout, make_key
from tests.links.factories import make_link, make_template
from tests.notices.browsers import Browser, make_chat
from tests.payouts.factories import make_batch, make_payout
from tests.routes import Route, by_app, dashboard_routes
from tests.webhooks.factories import HOOK, make_endpoint, new_event
from tests.x402.recorded import make_machine_transfer, make_seller
from wallets.models import WatchedWallet
from webhooks.listed.service import add_endpoint
from webhooks.models import Delivery
from webhooks.outbox.events import publish

NO_OBJECTS = {"kind", "month", "chain"}
ELSEWHERE = {"proof_id", "change_id"}
"""Ids that tests/wallets/dashboard/test_proofs.py and test_pages.py have."""
OF_THE_MERCHANT = {"invitation_id", "user_id", "device_id"}
"""Ids of what both modes share."""
REST = {"status": "paused", "format_name": "png"}
FORM = {"act": "dismiss", "role": "viewer"}
ROUTES = [
    route
    for route in dashboard_routes()
    if route.decision
    and not route.decision.everybody
    and {name for name, _ in route.arguments} - NO_OBJECTS - ELSEWHERE
]
BY_APP = by_app(ROUTES)


def objects_of(owner: Desk, settings: Any) -> dict[str, Any]:
    """One of everything that a path can name, in live mode."""
    merchant = owner.merchant
    checkout = make_checkout(merchant)
    pay(checkout, 20 * DOLLAR)
    accepted = accept_as_paid(checkout, amount=Decimal(20), now=NOON, actor=Actor(owner.user))
    endpoint = make_endpoint(merchant, HOOK)
    values = {"url": "https://erp.example/", "name": "", "events": None, "is_enabled": True}
    listed, _ = add_endpoint(merchant, mode=Mode.LIVE, values=values, now=NOON)
    [event] = publish([new_event(merchant, url=HOOK, subject_id=checkout.public_id)], now=NOON)
    item = extra_item(merchant=merchant)
    decide(owner, item, InboxAct.DISMISS)
    settlement = make_settlement(merchant, sender=Sender.WALLET, status=SettlementStatus.PENDING)
    watched = WatchedWallet.objects.create(
        merchant=merchant, mode=Mode.LIVE, chain="base", address=WALLET, key=bytes(20)
    )
    return {
        "invitation_id": invite(
            merchant, email="new@b.test", role=Role.VIEWER, actor=Actor(owner.user), now=NOON
        ).public_id,
        "user_id": make_desk(merchant, Role.VIEWER).user.public_id,
        "key_id": make_key(merchant)[0].public_id,
        "checkout_id": checkout.public_id,
        "event_id": event.public_id,
        "delivery_id": Delivery.objects.get(event=event, endpoint=endpoint).public_id,
        "endpoint_id": endpoint.pk,
        "listed_id": listed.public_id,
        "report_id": make_report(checkout).pk,
        "item_id": item.pk,
        "decision_id": item.decisions.get().pk,
        "template_id": make_template(merchant).public_id,
        "link_id": make_link(merchant, mode=Mode.LIVE).public_id,
        "settlement_id": settlement.public_id,
        "batch": settlement.batch,
        "acceptance_id": accepted.pk,
        "payout_id": make_payout(merchant).public_id,
        "payment_id": make_machine_payment(merchant).public_id,
        "transfer_id": make_machine_transfer(merchant, make_seller(merchant, settings)).public_id,
        "batch_id": make_batch(merchant).public_id,
        "wallet_id": watched.public_id,
        "device_id": Browser().added(owner.user, merchant).public_id,
        "chat_id": make_chat(merchant, owner.user).public_id,
        "terminal_id": make_terminal(merchant, Mode.LIVE).public_id,
    }


def answers(desk: Desk, route: Route, objects: dict[str, Any]) -> set[int]:
    """The statuses that the methods which the route takes are answered with."""
    here = desk.url(route.name, **{name: (objects | REST)[name] for name, _ in route.arguments})
    return {
        desk.client.post(here, FORM).status_code if method == "POST" else desk.client.get(here, FORM).status_code
        for method in route.decision.acts
    }


@pytest.mark.django_db
@pytest.mark.parametrize("app", BY_APP)
def test_what_is_anothers_or_the_other_modes_is_not_there(app: str, merchant: Merchant, settings: Any) -> None:
    owner, stranger = make_desk(merchant, factor=True), make_desk(factor=True)
    objects = objects_of(owner, settings)
    in_test_mode = Desk(owner.client, merchant, owner.user, Mode.TEST)
    for route in BY_APP[app]:
        with stranger.undone(route.name), owner.undone():
            assert answers(stranger, route, objects) == {404}
            if not {name for name, _ in route.arguments} & OF_THE_MERCHANT:
                assert answers(in_test_mode, route, objects) == {404}
            # It is there for its own merchant.
            assert 404 not in answers(owner, route, objects)
