"""What operators are told of gas, forwarders and books."""

from datetime import timedelta

import pytest

from gateway.pages.metrics import measure
from settlements.models import BookCheck, GasAccount, GasTransaction, TroubledForwarder
from settlements.states import Purpose
from tests.factories import NOON
from tests.wallets.factories import make_deposit

pytestmark = pytest.mark.django_db


def make_trouble(failures: int) -> TroubledForwarder:
    return TroubledForwarder.objects.create(
        deposit=make_deposit(), chain="base", token="USDC", failures=failures, failed_at=NOON, retry_at=NOON
    )


def test_metrics_tell_of_gas_and_books() -> None:
    account = GasAccount.objects.create(chain="base", address="0xGas", balance_wei=10**16, doubt_told_at=NOON)
    GasTransaction.objects.create(
        account=account,
        nonce=1,
        purpose=Purpose.SWEEP,
        reference="bat",
        to="0x",
        data=b"",
        gas_limit=1,
        most_wei=1,
        created_at=NOON - timedelta(seconds=90),
    )
    BookCheck.objects.create(chain="base", checked_at=NOON, differences=["a", "b"])
    make_trouble(2), make_trouble(3)
    told = measure(now=NOON).decode()
    labels = '{address="0xGas",chain="base"}'
    assert f"florin_gas_coins{labels} 0.01" in told
    assert f"florin_gas_transaction_seconds{labels} 90.0" in told
    assert f"florin_gas_number_doubted{labels} 1.0" in told
    assert 'florin_book_differences{chain="base"} 2.0' in told
    assert 'florin_troubled_forwarders{chain="base"} 1.0' in told
