"""A node that lies about a gas account's number stops nothing, and a person can repair what an older lie did."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from mails.models import OutgoingMail
from settlements.errors import NoGasError
from settlements.gas import nonces
from settlements.gas.balances import refresh_balances
from settlements.gas.keys import gas_keys
from settlements.gas.ledger import addresses_in_use, open_accounts
from settlements.gas.node import GasNode, gas_node
from settlements.gas.repair import leaving, retire
from settlements.gas.upkeep import tend
from settlements.models import GasAccount
from settlements.selectors import gas_health
from settlements.states import TransactionState
from tests.factories import make_user
from tests.nodes.proxy import RpcProxy
from tests.settlements.calls import ask
from tests.settlements.chain import ABSURD, CONFIRMATIONS, LATE, tells

pytestmark = pytest.mark.django_db


BEYOND_ANY = 2**63
NOWHERE = "http://127.0.0.1:9"


@contextmanager
def asking(base_settings: Any, *urls: str) -> Iterator[GasNode]:
    base_settings.CHAIN_SETTINGS = base_settings.CHAIN_SETTINGS | {"BASE_RPC_URLS": ",".join(urls)}
    with gas_node("base") as opened:
        yield opened


def account() -> GasAccount:
    return GasAccount.objects.get()


def told_mails() -> int:
    return OutgoingMail.objects.filter(key__startswith="gas-number:").count()


def make_operator() -> None:
    operator = make_user("operator@florin.example")
    operator.is_staff = True
    operator.save()


def test_a_number_no_account_can_have_is_not_believed_and_told_once_a_day(
    base_gas_node: GasNode, absurd_node: RpcProxy, base_settings: Any
) -> None:
    make_operator()
    first = ask(base_gas_node, "one")
    now = timezone.now()
    with asking(base_settings, absurd_node.url) as lying:
        for hours in (0, 5, 25):
            refresh_balances("base", node=lying, now=now + timedelta(hours=hours))
    assert account().next_nonce == first.nonce + 1
    assert account().balance_wei
    assert told_mails() == 2
    assert ask(base_gas_node, "two").nonce == first.nonce + 1


def test_without_the_bound_one_lie_would_stop_the_account(
    monkeypatch: pytest.MonkeyPatch, base_gas_node: GasNode, absurd_node: RpcProxy, base_settings: Any
) -> None:
    """The negative control of the test above."""
    monkeypatch.setattr(nonces, "MOST_RAISED", BEYOND_ANY)
    ask(base_gas_node, "one")
    with asking(base_settings, absurd_node.url) as lying:
        refresh_balances("base", node=lying, now=timezone.now())
    assert account().next_nonce == ABSURD


def test_nothing_is_given_up_on_the_word_of_one_that_is_not_believed(
    base_gas_node: GasNode, base_node: Anvil, absurd_node: RpcProxy, base_settings: Any
) -> None:
    made = ask(base_gas_node, "one")
    base_node.mine(CONFIRMATIONS)
    with asking(base_settings, absurd_node.url) as lying:
        assert tend("base", node=lying, now=timezone.now()) == 1
    assert tend("base", node=base_gas_node, now=timezone.now() + LATE) == 1
    base_node.mine(CONFIRMATIONS)
    assert tend("base", node=base_gas_node, now=timezone.now() + LATE) == 0
    made.refresh_from_db()
    assert (made.state, made.succeeded) == (TransactionState.MINED, True)


def test_a_small_lie_is_found_out_by_the_second_node(
    base_gas_node: GasNode, base_node: Anvil, absurd_node: RpcProxy, base_settings: Any
) -> None:
    made = ask(base_gas_node, "one")
    absurd_node.fault = tells(made.nonce + 7)
    base_node.mine(CONFIRMATIONS)
    with asking(base_settings, absurd_node.url, base_node.url) as divided:
        refresh_balances("base", node=divided, now=timezone.now())
        assert tend("base", node=divided, now=timezone.now()) == 1
    made.refresh_from_db()
    assert made.state != TransactionState.DROPPED
    assert account().next_nonce == made.nonce + 1
    assert account().doubt_told_at is not None


def test_without_a_second_node_a_small_lie_is_believed(
    base_gas_node: GasNode, base_node: Anvil, absurd_node: RpcProxy, base_settings: Any
) -> None:
    """The negative control of the test above."""
    made = ask(base_gas_node, "one")
    absurd_node.fault = tells(made.nonce + 7)
    base_node.mine(CONFIRMATIONS)
    with asking(base_settings, absurd_node.url) as lying:
        tend("base", node=lying, now=timezone.now())
    made.refresh_from_db()
    assert made.state == TransactionState.DROPPED
    assert account().next_nonce == made.nonce + 7


def test_while_the_second_node_is_away_nothing_is_given_up_or_held_up(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    lost, behind = ask(base_gas_node, "one"), ask(base_gas_node, "two")
    holder = base_node.accounts[3]
    base_node.send(holder, to=holder.address)
    base_node.mine(CONFIRMATIONS)
    with asking(base_settings, base_node.url, NOWHERE) as alone:
        assert tend("base", node=alone, now=timezone.now()) == 2
    base_node.mine(CONFIRMATIONS)
    tend("base", node=base_gas_node, now=timezone.now())
    for one, state in ((lost, "dropped"), (behind, "mined")):
        one.refresh_from_db()
        assert one.state == state


def test_an_account_is_not_begun_with_a_number_nodes_do_not_agree_on(
    base_node: Anvil, absurd_node: RpcProxy, base_settings: Any
) -> None:
    for urls in ([absurd_node.url, base_node.url], [absurd_node.url]):
        with asking(base_settings, *urls) as doubtful, pytest.raises(NoGasError, match="no trustworthy nonce"):
            ask(doubtful, "one")
    assert account().next_nonce is None


def test_a_number_that_fits_no_column_passes_to_the_next_node(
    base_node: Anvil, absurd_node: RpcProxy, base_settings: Any
) -> None:
    absurd_node.fault = tells(BEYOND_ANY)
    with asking(base_settings, absurd_node.url, base_node.url) as divided:
        address = base_node.accounts[3].address
        assert divided.nonce(address) == int(base_node.rpc("eth_getTransactionCount", address, "latest"), 16)


# Keys of gas accounts.


def test_without_a_key_nothing_is_sent(base_gas_node: GasNode, base_settings: Any) -> None:
    base_settings.GAS_KEYS = []
    with pytest.raises(NoGasError, match="no gas key"):
        ask(base_gas_node, "one")
    assert not GasAccount.objects.exists()


# A gas key that is retired gets nothing new, and finishes what it began.


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


def test_a_call_of_one_account_is_given_to_no_other(base_gas_node: GasNode, old: str) -> None:
    [new] = set(gas_keys()) - {old}
    made = [ask(base_gas_node, name, sender=new) for name in ("one", "two")]
    assert [one.account.address for one in made] == [new, new]
    assert addresses_in_use("base") == [old, new]
    retire(new, chains=CHAINS, now=timezone.now())
    assert addresses_in_use("base") == [old]
    # What payers signed for it before: no other account can carry that out.
    assert ask(base_gas_node, "three", sender=new).account.address == new
    with pytest.raises(NoGasError, match="0x00 on base is unusable"):
        ask(base_gas_node, "five", sender="0x00")
    assert ask(base_gas_node, "four").account.address == old


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
