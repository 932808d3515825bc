"""What the templates of watched wallets show."""

import pytest
from django.utils import timezone

from tests.dashboard.people import Desk
from tests.wallets.dashboard.watched.test_pages_wallet_list import opened
from tests.wallets.watched_wallets import hold, watch

pytestmark = pytest.mark.django_db


def test_labels_and_tags_are_words_and_never_markup(owner_by_factor: Desk) -> None:
    evil = "<script>alert(1)</script>"
    wallet = watch(owner_by_factor.merchant, label=evil, tags=['"><img src=x>'])
    for page in (
        owner_by_factor.get("dashboard_watched_wallets"),
        opened(owner_by_factor, wallet),
        owner_by_factor.get("dashboard_edit_watched_wallet", wallet_id=wallet.public_id),
    ):
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text


def test_what_is_held_is_written_with_all_its_decimals(owner_by_factor: Desk) -> None:
    now = timezone.now()
    wallet = watch(owner_by_factor.merchant, chain="polygon", now=now)
    hold(wallet, 1_250_004_500, read_at=now)
    page = opened(owner_by_factor, wallet).text
    assert "at most 1,250.0045. Days are UTC.<" in page
    assert ": 1,250.0045 USDC<" in page
    assert '<b class="number">1,250.0045</b>' in page
    assert "1,250.0045 USDC now." in page
    assert '<td class="table__end number">1,250.0045</td>' in page
    report = owner_by_factor.get("dashboard_reports").text
    assert '<td class="table__amount number">1,250.0045</td>' in report
