"""The timetable's tasks."""

from datetime import timedelta
from typing import Any

import pytest
from base58 import b58encode
from django.core.management import call_command
from django.utils import timezone
from solders.keypair import Keypair

from gateway.pages.metrics import measure
from localnet.anvil import Anvil
from settlements import serializers
from settlements.checks import (
    factories_of_wallets_are_addresses,
    free_chains_take_relays,
    gas_keys_can_be_read,
    limits_of_gas_are_amounts,
    solana_gas_keys_can_be_read,
)
from settlements.gas.node import GasNode
from settlements.models import BookCheck, GasAccount, GasTransaction, Settlement, TroubledForwarder
from settlements.states import Purpose, SettlementStatus
from settlements.sweeps.schedule import due_owners
from settlements.tasks import (
    check_books_task,
    note_outflows_task,
    refresh_gas_balances,
    sweep_due_task,
    tend_transactions,
)
from tests.factories import NOON
from tests.settlements.chain import paid, read
from tests.wallets.factories import make_deposit
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db


DAY = timedelta(hours=25)


def due(*, later: timedelta = timedelta()) -> list[int]:
    found = due_owners("base", "USDC", now=timezone.now() + later)
    assert {purpose for _, purpose in found} <= {ClaimKind.CHECKOUT}
    return sorted(merchant for merchant, _ in found)


def test_merchants_share_a_transaction(base_node: Anvil, base_gas_node: GasNode) -> None:
    paid(base_node, 25_000_000, 30_000_000)
    [poor] = paid(base_node, 5_000_000)
    sweep_due_task()
    assert Settlement.objects.count() == 2
    assert GasTransaction.objects.count() == 1
    assert not poor.settlement_items.exists()
    base_node.mine(6)
    tend_transactions()
    statuses = Settlement.objects.values_list("status", flat=True)
    assert set(statuses) == {"settled"}


def test_the_timetables_tasks_take_a_payment_to_its_merchant_and_prove_it(
    base_node: Anvil, base_gas_node: GasNode
) -> None:
    refresh_gas_balances()
    assert GasAccount.objects.get().balance_wei
    paid(base_node, 25_000_000)
    sweep_due_task()
    read(base_node)
    tend_transactions()
    note_outflows_task()
    [settlement] = Settlement.objects.all()
    assert (settlement.status, settlement.outflows.count()) == ("settled", 1)
    assert check_books_task() == 0
    assert due(later=DAY) == []


def test_without_a_gas_key_nothing_is_begun(base_node: Anvil, base_settings: Any) -> None:
    base_settings.GAS_KEYS = []
    paid(base_node, 25_000_000)
    refresh_gas_balances()
    sweep_due_task()
    tend_transactions()
    assert not Settlement.objects.exists()
    assert not GasAccount.objects.exists()


# Settings about gas that cannot be used are named before anything runs.


def test_the_defaults_are_in_order() -> None:
    found = gas_keys_can_be_read() + solana_gas_keys_can_be_read()
    assert found + limits_of_gas_are_amounts() == []


def test_a_key_that_is_none_is_refused_and_not_repeated(settings: Any) -> None:
    settings.GAS_KEYS = ["0xsecret"]
    [found] = gas_keys_can_be_read()
    assert found.id == "settlements.E001"
    assert "secret" not in f"{found.msg}{found.hint}"


def keys_of_solana() -> list[str]:
    """A good one, and others: a half, one too long, one whose halves do not belong together, and text."""
    good, other = bytes(Keypair()), bytes(Keypair())
    wrong = [good[:32], good + b"1", good[:32] + other[32:], bytes(64)]
    told = [b58encode(one).decode() for one in (good, *wrong)]
    return [*told, "0OIl", "é", f" {told[0]}", "7" * 5_000]


def test_a_solana_key_that_is_none_is_refused_and_not_repeated(
    settings: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    good, *wrong = keys_of_solana()
    settings.GAS_KEYS_SOLANA = [good]
    assert solana_gas_keys_can_be_read() == []
    for key in wrong:
        settings.GAS_KEYS_SOLANA = [good, key]
        [found] = solana_gas_keys_can_be_read()
        assert found.id == "settlements.E003"
        told = f"{found.msg}{found.hint}"
        assert key not in told
        assert key not in "".join(capfd.readouterr())


@pytest.mark.parametrize("amount", ["", "much", "-1", "NaN", "Infinity"])
def test_a_limit_that_is_no_amount_is_named(settings: Any, amount: str) -> None:
    settings.GAS_DAILY_COINS = {"base": amount}
    settings.SWEEP_MOST_COST = amount
    messages = [found.msg for found in limits_of_gas_are_amounts()]
    assert messages == ["GAS_DAILY_COINS of base is not an amount.", "SWEEP_MOST_COST is not an amount."]


@pytest.mark.parametrize("factory", ["", "0x", "0x" + "g" * 40, "0x" + "a" * 41])
def test_a_factory_that_is_no_address_is_named(settings: Any, factory: str) -> None:
    settings.X402_WALLET_FACTORIES = [" 0x" + "aB" * 20, factory]
    [found] = factories_of_wallets_are_addresses()
    assert found.id == "settlements.E005"


def test_a_chain_on_which_no_payment_can_be_sent_for_its_payer_is_named(settings: Any) -> None:
    settings.GAS_FREE = ["base", "bnb", "polygon", "ethereum", "solana", "arbitrum", "optimism", "tron", "ton", "bse"]
    named = ["bnb", "tron", "ton", "bse"]
    assert [found.msg.split()[2] for found in free_chains_take_relays()] == named
    assert {found.id for found in free_chains_take_relays()} == {"settlements.E004"}


# What operators are told of gas, forwarders and books.


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


# Settlements as the API tells of them.


@pytest.mark.parametrize(
    ("status", "amount"), [(SettlementStatus.PENDING, "49.000000"), (SettlementStatus.SETTLED, "48.500000")]
)
def test_the_amount_is_what_moves_until_it_is_what_moved(status: SettlementStatus, amount: str) -> None:
    told = serializers.Settlement.of(
        Settlement(chain="base", token="USDC", status=status, units=49_000_000, units_moved=48_500_000, created_at=NOON)
    )
    assert told["amount"] == amount
    assert told["txHash"] is None


# A person has forwarders tried again.


def test_a_person_who_looked_lets_forwarders_be_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    trouble = make_trouble(3)
    call_command("retry_forwarders")
    assert f"{trouble.deposit} USDC: 3 failures" in capsys.readouterr().out
    assert TroubledForwarder.objects.exists()
    call_command("retry_forwarders", "--retry")
    assert not TroubledForwarder.objects.exists()
