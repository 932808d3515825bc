"""What the inbox asks the database is answered from indexes, however many items there are."""

import pytest
from django.db import connection

from accounts.models import Merchant
from checkouts.inbox.queries import Tab, items_in
from gateway.core.api.keyset import PAGE_ROWS
from tests.checkouts.inboxes import extra_item
from tests.dashboard.people import Desk

pytestmark = pytest.mark.django_db

ITEMS = 10_000
_TRANSFERS = """
    INSERT INTO wallets_transfer (chain, tx_hash, position, token, token_address, units, sender, recipient, deposit_id,
        labels, merchant_id, mode, block_height, block_hash, block_time, state, detected_at, confirmed_at)
    SELECT chain, tx_hash || n, position, token, token_address, units, sender, recipient, deposit_id,
        labels, merchant_id, mode, block_height, block_hash, block_time, state, detected_at, confirmed_at
    FROM wallets_transfer CROSS JOIN generate_series(1, %s) n WHERE id = %s
"""
# One in twenty is open.
_ITEMS = """
    INSERT INTO checkouts_inboxitem
        (merchant_id, mode, transfer_id, reason, explanation, candidates, status, created_at)
    SELECT merchant_id, mode, id, 'unmatched', '', '[]',
        CASE WHEN id %% 20 = 0 THEN 'open' ELSE 'dismissed' END, now()
    FROM wallets_transfer WHERE id > %s
"""


def fill(merchant: Merchant) -> None:
    """Give a merchant as many items as it gathers in years."""
    newest = extra_item(merchant=merchant).transfer_id
    with connection.cursor() as cursor:
        cursor.execute(_TRANSFERS, [ITEMS, newest])
        cursor.execute(_ITEMS, [newest])


@pytest.mark.parametrize("tab", [Tab.OPEN, Tab.DOING])
def test_what_is_open_is_found_without_reading_what_is_resolved(tab: Tab, owner: Desk, stranger: Desk) -> None:
    fill(owner.merchant)
    fill(stranger.user.memberships.get().merchant)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    seat = owner.get("dashboard_inbox").wsgi_request.seat
    plan = items_in(seat, tab).order_by("-pk")[:PAGE_ROWS].explain()
    assert "inbox_open" in plan
    assert "Seq Scan on checkouts_inboxitem" not in plan
    assert "Seq Scan on wallets_transfer" not in plan
