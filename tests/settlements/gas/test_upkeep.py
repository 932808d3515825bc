"""No transaction holds up those behind it, and none is lost."""

from datetime import timedelta
from typing import Any

import pytest
from base58 import b58encode
from django.utils import timezone
from solders.keypair import Keypair

from accounts.models import User
from localnet.anvil import Anvil
from localnet.solana.node import SolanaNode
from mails.models import OutgoingMail
from settlements.errors import NoGasError
from settlements.gas import balances
from settlements.gas.balances import refresh_balances, refresh_solana_balances
from settlements.gas.fees import Fees, Prices, coin_usd, daily_coins, first_fees, gas_policy, raised_fees
from settlements.gas.ledger import RAW_KEPT, SPANS_KEPT, prune_raw, prune_spans
from settlements.gas.node import GasNode, Sending, broadcast, find_receipt
from settlements.gas.upkeep import refuse_stuck, tend
from settlements.models import GasAccount, GasAttempt, GasSpan, GasTransaction
from settlements.states import TransactionState
from settlements.tasks import prune_gas_task, refresh_gas_balances
from tests.factories import NOON, make_live_chain, make_user
from tests.nodes.proxy import RpcProxy, garbage
from tests.settlements.calls import ask
from tests.settlements.chain import CONFIRMATIONS, LATE
from wallets.chains.base import ChainError
from wallets.chains.family import ChainSpec
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db


COIN = hex(10**18)


def state_of(made: GasTransaction) -> tuple[str, bool | None]:
    made.refresh_from_db()
    return made.state, made.succeeded


def test_who_cannot_pay_offers_no_more(base_gas_node: GasNode, base_node: Anvil) -> None:
    made = ask(base_gas_node, "one")
    base_node.rpc("anvil_setBalance", made.account.address, "0x1")
    assert broadcast(made, node=base_gas_node, now=timezone.now()) is Sending.POOR
    tend("base", node=base_gas_node, now=timezone.now() + LATE)
    assert made.attempts.count() == 1
    base_node.rpc("anvil_setBalance", made.account.address, COIN)
    tend("base", node=base_gas_node, now=timezone.now() + LATE)
    base_node.mine(CONFIRMATIONS)
    assert tend("base", node=base_gas_node, now=timezone.now() + LATE) == 0


def test_a_key_that_is_used_elsewhere_goes_on_after_the_others_number(base_gas_node: GasNode, base_node: Anvil) -> None:
    ask(base_gas_node, "one")
    holder = base_node.accounts[3]
    for _ in range(3):
        base_node.send(holder, to=holder.address)
    base_node.mine(CONFIRMATIONS)
    tend("base", node=base_gas_node, now=timezone.now())
    broadcast(made := ask(base_gas_node, "one"), node=base_gas_node, now=timezone.now())
    base_node.mine(CONFIRMATIONS)
    tend("base", node=base_gas_node, now=timezone.now())
    assert state_of(made) == (TransactionState.MINED, True)
    assert GasTransaction.objects.filter(state=TransactionState.DROPPED).count() == 1


# What gas may cost.


def test_solana_has_a_days_limit_and_no_price_of_gas_in_wei(settings: Any) -> None:
    settings.GAS_MAX_GWEI = settings.GAS_COIN_USD = {"solana": "1"}
    assert daily_coins("solana") > 0
    for ask_for in (gas_policy, coin_usd):
        with pytest.raises(KeyError, match="solana"):
            ask_for("solana")


def test_the_days_limit_is_kept(base_gas_node: GasNode, base_settings: Any) -> None:
    base_settings.GAS_DAILY_COINS = {"base": "0.0000001"}
    with pytest.raises(NoGasError, match="spent"):
        ask(base_gas_node, "one")
    assert not GasTransaction.objects.exists()


def test_gas_that_is_too_dear_is_not_bought(base_gas_node: GasNode, base_settings: Any) -> None:
    base_settings.GAS_MAX_GWEI = {"base": "0.000000001"}
    with pytest.raises(NoGasError, match="costs more"):
        ask(base_gas_node, "one")


# What a transaction may pay for its gas.


PRICES = Prices(base_fee=100, tip=10)


def test_the_first_fees_last_while_the_base_fee_doubles() -> None:
    assert first_fees(PRICES, most=1_000) == Fees(max_fee=210, priority_fee=10)


def test_fees_are_never_above_the_most() -> None:
    assert first_fees(PRICES, most=105) == Fees(max_fee=105, priority_fee=5)
    assert first_fees(PRICES, most=99) is None


def test_what_replaces_an_attempt_pays_an_eighth_more_at_least() -> None:
    raised = raised_fees(Fees(800, 80), PRICES, most=10_000)
    assert raised == Fees(900, 90)


def test_what_replaces_an_attempt_follows_the_prices() -> None:
    raised = raised_fees(Fees(100, 1), PRICES, most=10_000)
    assert raised == Fees(210, 10)


@pytest.mark.parametrize("most", [899, 0])
def test_no_attempt_is_replaced_beyond_the_most(most: int) -> None:
    assert raised_fees(Fees(800, 80), PRICES, most=most) is None


def test_the_smallest_fee_grows_too() -> None:
    raised = raised_fees(Fees(1, 0), Prices(0, 0), most=10)
    assert raised == Fees(2, 1)


# Networks that make no blocks.


def test_not_even_the_first_transaction_is_begun_on_a_network_that_makes_no_blocks(
    base_gas_node: GasNode, base_node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    base_node.mine()
    newest = base_gas_node.prices().at
    assert newest is not None
    # A local chain makes blocks only for payments.
    refuse_stuck("base", node=base_gas_node, now=newest + timedelta(days=1))
    monkeypatch.setattr(ChainSpec, "is_local", False)
    refuse_stuck("base", node=base_gas_node, now=newest + timedelta(seconds=30))
    later = newest + timedelta(seconds=31)
    with pytest.raises(NoGasError, match="makes no blocks"):
        refuse_stuck("base", node=base_gas_node, now=later)
    # Another node told the watcher of a newer one.
    make_live_chain("base", head_time=later)
    refuse_stuck("base", node=base_gas_node, now=later)


# Gas accounts that run low.


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


# Operators are told before an account of ours on Solana has too little to pay for machines' transactions.


@pytest.fixture
def accounts(solana_node: SolanaNode, settings: Any) -> tuple[str, str]:
    """Addresses of ours, the first with a thousand SOL and the second with none; and an operator."""
    rich, poor = Keypair(), Keypair()
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    settings.GAS_KEYS = []
    settings.GAS_KEYS_SOLANA = [b58encode(bytes(key)).decode() for key in (rich, poor)]
    solana_node.airdrop(str(rich.pubkey()))
    operator = make_user("operator@florin.example")
    operator.is_staff = True
    operator.save()
    return str(rich.pubkey()), str(poor.pubkey())


def test_operators_are_told_of_the_poor_account_once_a_day(accounts: tuple[str, str], solana_node: SolanaNode) -> None:
    rich, poor = accounts
    noon = timezone.now().replace(hour=12)
    for hours in (0, 1, 11, 24):
        at = noon + timedelta(hours=hours)
        refresh_solana_balances(chain_spec("solana"), now=at)
    mails = OutgoingMail.objects.all()
    assert len(mails) == 2
    assert all(poor in mail.text and rich not in mail.text for mail in mails)
    solana_node.airdrop(poor)
    refresh_solana_balances(chain_spec("solana"), now=noon + timedelta(days=5))
    assert OutgoingMail.objects.count() == 2


def test_the_beat_asks_about_them_without_any_other_gas_key(accounts: tuple[str, str]) -> None:
    refresh_gas_balances()
    assert OutgoingMail.objects.get().subject == "Gas runs low on Solana"


@pytest.mark.parametrize("value", ["-1", "true", '"5"', "18446744073709551616", "null"])
def test_a_balance_that_is_none_is_told_to_nobody(
    accounts: tuple[str, str], solana_node: SolanaNode, settings: Any, value: str
) -> None:
    told = f'{{"jsonrpc":"2.0","id":1,"result":{{"context":{{"slot":1}},"value":{value}}}}}'
    with RpcProxy(solana_node.url) as proxy:
        settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": proxy.url}
        proxy.fault = garbage(told.encode())
        with pytest.raises(ChainError):
            refresh_solana_balances(chain_spec("solana"), now=timezone.now())
        refresh_gas_balances()
    assert not OutgoingMail.objects.exists()


# Telling operators what a gas account needs of them.


def make_operator() -> User:
    user = make_user()
    user.is_staff = True
    user.save()
    return user


def test_the_same_is_told_once_a_day() -> None:
    operator = make_operator()
    for hours in (0, 6, 24):
        now = NOON + timedelta(hours=hours)
        balances._tell_of_few_lamports(chain_spec("solana"), "a key's address", 5, now)
    recipients = OutgoingMail.objects.values_list("recipient", flat=True)
    assert list(recipients) == [operator.email] * 2


def test_what_happens_each_time_is_told_each_time() -> None:
    make_operator()
    account = GasAccount(pk=1, chain="base", address="0x1", balance_wei=5)
    for seconds in (0, 1):
        balances._tell_operators(account, NOON + timedelta(seconds=seconds))
    assert OutgoingMail.objects.count() == 2


# Signed bytes are forgotten once nobody could send them again, and what they were for is not.


DAY = timedelta(days=1)


def test_the_bytes_of_used_numbers_are_emptied_after_ninety_days(base_gas_node: GasNode, base_node: Anvil) -> None:
    now = timezone.now()
    mined = ask(base_gas_node, "one")
    tend("base", node=base_gas_node, now=now)
    base_node.mine(CONFIRMATIONS)
    tend("base", node=base_gas_node, now=now)
    waiting = ask(base_gas_node, "two")
    assert prune_raw(now=now + RAW_KEPT - DAY) == 0
    assert prune_raw(now=now + RAW_KEPT + DAY) == 1
    assert bytes(mined.attempts.get().raw) == b""
    assert bytes(waiting.attempts.get().raw) != b""
    receipt = find_receipt(mined, node=base_gas_node)
    assert receipt is not None
    assert receipt.tx_hash == mined.attempts.get().tx_hash
    assert prune_raw(now=now + RAW_KEPT + DAY) == 0


def test_a_node_that_forgot_an_old_transaction_makes_nobody_send_it_again(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    now = timezone.now()
    old = ask(base_gas_node, "one")
    long_ago = now - RAW_KEPT - DAY
    GasTransaction.objects.filter(pk=old.pk).update(state=TransactionState.MINED, mined_at=long_ago)
    GasAttempt.objects.update(signed_at=long_ago)
    prune_gas_task()
    ask(base_gas_node, "two")
    tend("base", node=base_gas_node, now=now)
    old.refresh_from_db()
    assert old.state == TransactionState.MINED


def test_sums_of_gas_are_kept_for_a_week(base_gas_node: GasNode) -> None:
    ask(base_gas_node, "one")
    now = timezone.now()
    assert prune_spans(now=now + SPANS_KEPT - DAY) == 0
    assert prune_spans(now=now + SPANS_KEPT + DAY) == 1
    assert not GasSpan.objects.exists()
