"""What a merchant's payments of some days cost it."""

from datetime import timedelta

import pytest

from accounts.states import Mode
from tests.accounts.fee_entries import charged
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, make_merchant
from tests.reports.answers import summary
from wallets.transfers.totals import fold_days

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("evening")]


def test_fees_are_those_charged_in_the_time_less_those_taken_back_in_it(shop: ApiClient) -> None:
    assert shop.merchant is not None
    charged(shop.merchant, "100.000000", at=NOON)
    charged(shop.merchant, "200.000000", at=NOON - timedelta(days=3))
    charged(shop.merchant, "400.000000", at=NOON - timedelta(days=40), voided_at=NOON - timedelta(days=2))
    charged(make_merchant(), "800.000000", at=NOON)
    fold_days()
    assert summary(shop)["fees"] == "-1.50"
    assert summary(shop, since="2026-11-19")["fees"] == "1.50"
    assert summary(shop, since="2026-11-20T12:00:01")["fees"] == "0.00"
    assert summary(shop, chain="polygon")["fees"] == "0.00"
    assert summary(shop, tag="till")["fees"] == "0.00"
    assert summary(client_of(shop.merchant, Mode.TEST))["fees"] == "0.00"
