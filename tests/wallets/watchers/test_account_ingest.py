"""What was read of an account is written at once or not at all."""

from datetime import timedelta
from typing import Any

import pytest

from tests.wallets.accounts import NOW, Watched, make_account
from wallets.models import EPOCH, ChainCursor, Transfer
from wallets.watchers import account_ingest as accountingest

pytestmark = pytest.mark.django_db


LATER = NOW + timedelta(minutes=30)


def test_a_watcher_that_dies_between_reading_and_writing_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, wallet = Watched(), make_account(expected_until=LATER)
    watched.tick()
    watched.pay(wallet)

    def dies(*args: Any, **options: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(accountingest, "write_pulse", dies)
        with pytest.raises(SystemExit):
            watched.tick(after=1)
    assert not Transfer.objects.exists()
    watched.owner = "two"
    watched.restart()
    ChainCursor.objects.update(lease_until=EPOCH)
    watched.tick(after=11)
    assert Transfer.objects.get().units == 25
