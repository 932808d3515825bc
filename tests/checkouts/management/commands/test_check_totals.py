"""`manage.py check_totals` compares the days' sums with their rows."""

import pytest
from django.core.management import CommandError, call_command

from checkouts.models import DailyTotal
from tests.checkouts.counted import play
from tests.factories import NOON, make_merchant

pytestmark = pytest.mark.django_db

TODAY = NOON.date()


def test_the_command_tells_and_repairs(capsys: pytest.CaptureFixture[str]) -> None:
    play("completed", make_merchant())
    days = {"since": TODAY, "until": TODAY}
    call_command("check_totals", **days)
    DailyTotal.objects.filter(chain="base").update(completed=3)
    with pytest.raises(CommandError, match="1 totals"):
        call_command("check_totals", **days)
    assert "chain=base token=USDC: kept less raw created +0 completed +2" in capsys.readouterr().out
    call_command("check_totals", **days, repair=True)
    call_command("check_totals", **days)
    assert "All totals agree with their rows." in capsys.readouterr().out
