"""`manage.py check_books`."""

import pytest
from django.core.management import CommandError, call_command

from demo.localnet.anvil import Anvil
from settlements.gas.node import GasNode
from tests.settlements.chain import paid
from wallets.models import DepositTotal

pytestmark = pytest.mark.django_db


def test_the_command_says_what_differs_and_fails(
    base_gas_node: GasNode, base_node: Anvil, capsys: pytest.CaptureFixture[str]
) -> None:
    paid(base_node, 25_000_000)
    call_command("check_books")
    assert "All balances agree." in capsys.readouterr().out
    DepositTotal.objects.update(flushed=1)
    with pytest.raises(CommandError, match="1 differences"):
        call_command("check_books")
    assert "flushed 1" in capsys.readouterr().out
