"""A gas key that is retired gets nothing new, and finishes what it began."""

from typing import Any

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from settlements.errors import NoGasError
from settlements.gas.balances import refresh_balances
from settlements.gas.keys import gas_keys
from settlements.gas.ledger import open_accounts
from settlements.gas.node import GasNode
from settlements.gas.retirement import leaving, retire
from settlements.gas.upkeep import tend
from settlements.models import GasAccount
from settlements.selectors import gas_health
from settlements.states import TransactionState
from tests.settlements.calls import ask

pytestmark = pytest.mark.django_db

NEW_KEY = "0x" + "42" * 32
CHAINS = ["base", "polygon"]


@pytest.fixture
def old(base_gas_node: GasNode, settings: Any) -> str:
    """The account of the first key; then there are two."""
    [address] = gas_keys()
    open_accounts("base", node=base_gas_node)
    settings.GAS_KEYS = [*settings.GAS_KEYS, NEW_KEY]
    return address


def test_a_retired_account_gets_no_new_transaction(base_gas_node: GasNode, base_node: Anvil, old: str) -> None:
    assert ask(base_gas_node, "one").account.address == old
    assert retire(old.lower(), chains=CHAINS, now=timezone.now()) == 2
    assert ask(base_gas_node, "two").account.address != old
    assert ask(base_gas_node, "three").account.address != old


def test_without_the_mark_it_would_get_the_next_but_one(base_gas_node: GasNode, base_node: Anvil, old: str) -> None:
    used = [ask(base_gas_node, name).account.address for name in ("one", "two", "three")]
    assert [address == old for address in used] == [True, False, True]


def test_what_a_retired_account_began_is_finished(base_gas_node: GasNode, base_node: Anvil, old: str) -> None:
    made = ask(base_gas_node, "one")
    retire(old, chains=CHAINS, now=timezone.now())
    assert [(one.chain, one.open) for one in leaving()] == [("base", 1), ("polygon", 0)]
    tend("base", node=base_gas_node, now=timezone.now())
    base_node.mine(12)
    tend("base", node=base_gas_node, now=timezone.now())
    made.refresh_from_db()
    assert made.state == TransactionState.MINED
    assert [one.open for one in leaving()] == [0, 0]


def test_the_last_key_is_not_retired(base_gas_node: GasNode, old: str) -> None:
    [new] = set(gas_keys()) - {old}
    retire(old, chains=CHAINS, now=timezone.now())
    with pytest.raises(NoGasError, match="no other key would be left on base"):
        retire(new, chains=CHAINS, now=timezone.now())
    GasAccount.objects.update_or_create(chain="base", address=new, defaults={"retired_at": timezone.now()})
    with pytest.raises(NoGasError, match="every gas account on base is retired"):
        ask(base_gas_node, "one")


def test_an_account_without_a_key_here_is_not_retired(old: str) -> None:
    with pytest.raises(NoGasError, match="no key of 0x00"):
        retire("0x00", chains=CHAINS, now=timezone.now())


def test_an_account_that_lost_its_key_is_named(
    base_gas_node: GasNode, base_node: Anvil, old: str, settings: Any
) -> None:
    ask(base_gas_node, "one")
    settings.GAS_KEYS = [NEW_KEY]
    [lost] = leaving()
    assert (lost.address, lost.has_key, lost.open) == (old, False, 1)


def test_nobody_is_told_that_a_retired_account_runs_low(
    base_gas_node: GasNode, base_node: Anvil, old: str, settings: Any
) -> None:
    settings.GAS_LOW_COINS = {"base": "1000000000"}
    retire(old, chains=CHAINS, now=timezone.now())
    refresh_balances("base", node=base_gas_node, now=timezone.now())
    low = {one.address: one.is_low for one in gas_health() if one.chain == "base"}
    assert low.pop(old) is False
    assert list(low.values()) == [True]
    told = GasAccount.objects.exclude(low_told_at=None)
    assert old not in told.values_list("address", flat=True)
