"""What Florin's own pages do with the invoices of shops: no buyer renews one, and people read what is left to do in the shop."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Merchant
from checkouts.creation.service import begin_again
from checkouts.models import Checkout, InboxItem
from checkouts.options import may_begin_again
from checkouts.states import InboxAct
from greenfield.models import InvoiceOptions
from tests.contract.payments import expire, pay
from tests.dashboard.inboxes import DECIDE, ITEM, carry_out, decide
from tests.dashboard.people import Desk
from tests.greenfield.plugin import SHOPWARE, WOO, Plugin, make_live_plugin

pytestmark = pytest.mark.django_db

SHOPWARES = {"orderId": "1001", "orderNumber": "10001", "transactionId": "3" * 32}


def named(invoice: str) -> Checkout:
    return Checkout.objects.select_related("merchant").get(public_id=invoice)


def test_a_buyer_does_not_renew_a_shops_invoice_on_our_page(live_woo: Plugin) -> None:
    """The shop would not know the new one: it would be paid, and the order would not."""
    Merchant.objects.update(buyers_may_retry=True)
    invoice = live_woo.order()["id"]
    expire(invoice)
    checkout = named(invoice)
    again = f"/c/{checkout.code}/again"
    page = Client().get(f"/c/{checkout.code}")
    assert page.status_code == 200
    assert again not in page.text
    Client().post(again)
    assert Checkout.objects.count() == 1
    # The shop does, once the buyer comes back to it.
    assert live_woo.order()["id"] != invoice
    assert not may_begin_again(checkout)
    InvoiceOptions.objects.all().delete()
    # Without the shop the buyer would.
    assert may_begin_again(named(invoice))


def test_a_renewal_of_a_shops_invoice_is_not_renewed_either(live_woo: Plugin) -> None:
    """The release before let buyers renew them. The shop knows none of the renewals."""
    Merchant.objects.update(buyers_may_retry=True)
    newest = named(live_woo.order()["id"])
    first = newest.pk
    for _ in range(2):
        expire(newest.public_id)
        newest = named(begin_again(named(newest.public_id), now=timezone.now()).public_id)
    expire(newest.public_id)
    assert not may_begin_again(named(newest.public_id))
    InvoiceOptions.objects.filter(checkout=first).delete()
    assert may_begin_again(named(newest.public_id))


@pytest.mark.parametrize(
    ("permissions", "metadata", "note"),
    [
        (SHOPWARE, SHOPWARES, "Set the state of the order&#x27;s payment to paid in Shopware."),
        (WOO, {"orderId": "1001"}, "look in the shop whether the order is paid"),
    ],
)
def test_who_accepts_late_money_reads_what_is_left_to_do_in_the_shop(
    owner: Desk, local_nodes: None, permissions: tuple[str, ...], metadata: dict[str, Any], note: str
) -> None:
    shop = make_live_plugin(permissions, owner.merchant)
    invoice = shop.order(metadata=metadata)["id"]
    expire(invoice)
    pay(invoice)
    item = InboxItem.objects.get()
    assert note in owner.get(ITEM, item_id=item.pk).text
    assert note in owner.get(DECIDE, "?act=accept_late", item_id=item.pk).text
    assert note not in owner.get(DECIDE, "?act=dismiss", item_id=item.pk).text
    decide(owner, item, act=InboxAct.ACCEPT_LATE)
    carry_out()
    # Also after it was accepted, by a colleague or by the merchant's rule.
    assert note in owner.get(ITEM, item_id=item.pk).text


def test_late_money_of_other_checkouts_has_no_such_note(owner: Desk, local_nodes: None) -> None:
    shop = make_live_plugin(WOO, owner.merchant)
    invoice = shop.order()["id"]
    InvoiceOptions.objects.all().delete()
    expire(invoice)
    pay(invoice)
    page = owner.get(ITEM, item_id=InboxItem.objects.get().pk).text
    assert "Accept late payment" in page
    assert "in the shop" not in page
