"""The inbox as a file."""

import csv
import io

import pytest

from checkouts.states import InboxAct
from tests.checkouts.inboxes import REFUND, extra_item
from tests.dashboard.inboxes import carry_out, decide, export
from tests.dashboard.people import Desk
from wallets.models import Transfer

pytestmark = pytest.mark.django_db


def test_the_csv_holds_a_tab_and_no_formulas(owner: Desk) -> None:
    item = extra_item(merchant=owner.merchant, order_ref="=1+1")
    Transfer.objects.filter(pk=item.transfer_id).update(sender="@SUM(A1)")
    [row] = csv.DictReader(io.StringIO(export(owner)))
    assert row["order_ref"] == "'=1+1"
    assert row["from"] == "'@SUM(A1)"
    assert (row["amount"], row["status"]) == ("25.00", "open")
    decide(owner, item, InboxAct.REFUNDED, refund_tx=REFUND)
    carry_out()
    assert list(csv.DictReader(io.StringIO(export(owner)))) == []
    [resolved] = csv.DictReader(io.StringIO(export(owner, "?tab=resolved")))
    assert resolved["decided_by"] == owner.user.email
    assert resolved["refund_transaction"] == REFUND
