"""Gas accounts that run low."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from mails.models import OutgoingMail
from settlements.errors import NoGasError
from settlements.gas.balances import refresh_balances
from settlements.gas.node import GasNode
from settlements.models import GasAccount, GasAttempt
from tests.factories import make_user
from tests.settlements.calls import ask

pytestmark = pytest.mark.django_db


def test_an_account_that_runs_low_is_told_of_once_a_day(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    operator = make_user("operator@florin.example")
    operator.is_staff = True
    operator.save()
    ask(base_gas_node, "one")
    base_settings.GAS_LOW_COINS = {"base": "1000000"}
    now = timezone.now()
    for moment in (now, now + timedelta(hours=5), now + timedelta(hours=25)):
        refresh_balances("base", node=base_gas_node, now=moment)
    [account] = GasAccount.objects.all()
    assert account.balance_wei == base_node.balance(account.address)
    assert told() == 2


def told() -> int:
    return OutgoingMail.objects.filter(key__startswith="gas:").count()


def test_an_account_that_is_too_poor_promises_nothing(base_gas_node: GasNode, base_node: Anvil) -> None:
    ask(base_gas_node, "one")
    [account] = GasAccount.objects.all()
    base_node.rpc("anvil_setBalance", account.address, "0x1")
    refresh_balances("base", node=base_gas_node, now=timezone.now())
    with pytest.raises(NoGasError, match="too little coin"):
        ask(base_gas_node, "two")
    assert GasAttempt.objects.count() == 1
