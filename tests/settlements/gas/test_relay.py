"""Signed transfers are sent once each, within the merchant's part of the gas, and one of an unknown payer at a time."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from localnet.anvil import Anvil
from localnet.tokens import balance_of
from settlements.errors import NoGasError
from settlements.gas import shares
from settlements.gas.claims import TakenSubjectError, refuse_taken
from settlements.gas.node import gas_node
from settlements.gas.relay import BusyPayerError, Relay, relay
from settlements.gas.shares import (
    FREE_FAILURES,
    LONGEST_WAIT,
    PayerFailedError,
    has_open,
    minutes_to_wait,
    refuse_failing,
    refuse_greedy,
)
from settlements.gas.upkeep import empty, tend
from settlements.models import GasTransaction
from settlements.states import Outcome, Purpose, TransactionState
from tests.factories import make_merchant
from tests.settlements.gas.relays import elsewhere, send, signed_transfer
from wallets.chains.evm.authorizations.contracts import RevertedError
from wallets.chains.registry import CHAINS, open_pool
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db

UNITS = 10_000
SHOP = "0x" + "41" * 20


def tend_all() -> None:
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now())


@pytest.fixture
def counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sum of a day is remembered."""
    monkeypatch.setattr(shares, "_of_a_day", shares._of_a_day.__wrapped__)


def test_what_was_signed_is_sent_once_and_the_ledger_knows_for_whom(
    base_node: Anvil, usdc: str, merchant: Merchant
) -> None:
    signed = signed_transfer(base_node, SHOP, UNITS)
    kept: list[int] = []
    cause = Relay(merchant.pk, "one", keep=lambda made: kept.append(made.pk))
    made = send(signed, cause)
    assert send(signed, cause).pk == made.pk
    assert kept == [made.pk, made.pk]
    assert balance_of(base_node, usdc, SHOP) == UNITS
    assert (made.merchant_id, made.payer, made.purpose) == (merchant.pk, signed.payer, Purpose.RELAY)
    assert made.expires_at == datetime.fromtimestamp(signed.valid_before, UTC)
    assert made.outcome == Outcome.OPEN
    tend_all()
    made.refresh_from_db()
    assert (made.outcome, made.succeeded) == (Outcome.DONE, True)


def test_no_other_contract_than_our_tokens_is_called(base_node: Anvil, usdc: str, merchant: Merchant) -> None:
    signed = elsewhere(signed_transfer(base_node, SHOP, UNITS), "0x" + "42" * 20)
    with pytest.raises(RevertedError, match="none of ours"):
        send(signed, Relay(merchant.pk, "one"))
    assert not GasTransaction.objects.exists()


def test_what_the_token_refuses_costs_nothing(base_node: Anvil, usdc: str, merchant: Merchant) -> None:
    signed = signed_transfer(base_node, SHOP, UNITS, account=base_node.accounts[8])
    with pytest.raises(RevertedError):
        send(signed, Relay(merchant.pk, "one"))
    assert not GasTransaction.objects.exists()


def test_an_unknown_payer_has_one_on_its_way(base_node: Anvil, usdc: str, merchant: Merchant) -> None:
    base_node.set_automine(False)
    first, second = (signed_transfer(base_node, SHOP, UNITS) for _ in range(2))
    send(first, Relay(merchant.pk, "one", is_alone=True))
    assert has_open("base", first.payer)
    with pytest.raises(BusyPayerError):
        send(second, Relay(merchant.pk, "two", is_alone=True))
    # The same one, and one of a merchant's own wallet, are no question of trust.
    send(first, Relay(merchant.pk, "one", is_alone=True))
    assert GasTransaction.objects.count() == 1
    base_node.set_automine(True)
    base_node.mine()
    tend_all()
    assert not has_open("base", first.payer)
    send(second, Relay(merchant.pk, "two", is_alone=True))
    assert balance_of(base_node, usdc, SHOP) == 2 * UNITS


def test_a_payer_whose_transfers_failed_waits(base_node: Anvil, usdc: str, merchant: Merchant) -> None:
    now = timezone.now()
    for number in range(FREE_FAILURES):
        send(signed_transfer(base_node, SHOP, UNITS), Relay(merchant.pk, f"failed-{number}"))
    signed = signed_transfer(base_node, SHOP, UNITS)
    send(signed, Relay(merchant.pk, "failed-last"))
    refuse_failing("base", signed.payer, now=now)
    GasTransaction.objects.update(outcome=Outcome.FAILED, created_at=now)
    with pytest.raises(PayerFailedError) as caught:
        send(signed_transfer(base_node, SHOP, UNITS), Relay(merchant.pk, "next", is_alone=True), now=now)
    assert caught.value.minutes == 1
    # Neither what nobody mined nor what was emptied was the payer's fault.
    for changed in ({"state": TransactionState.DROPPED}, {"purpose": Purpose.CANCEL}):
        first = GasTransaction.objects.order_by("pk")[:1]
        before = GasTransaction.objects.filter(pk__in=first).values(*changed).get()
        GasTransaction.objects.filter(pk__in=first).update(**changed)
        refuse_failing("base", signed.payer, now=now)
        GasTransaction.objects.filter(pk__in=first).update(**before)
    refuse_failing("base", signed.payer, now=now + timedelta(minutes=1, seconds=1))


def test_a_signature_that_ended_while_nodes_were_asked_is_not_sent(
    base_node: Anvil, usdc: str, merchant: Merchant
) -> None:
    signed = signed_transfer(base_node, SHOP, UNITS)
    end = datetime.fromtimestamp(signed.valid_before, UTC)
    begun, later = end - timedelta(minutes=1), end - timedelta(seconds=1)
    for ticks in ([begun, later], [later, later]):
        clock = iter(ticks)
        with closing(open_pool(chain_spec("base"))) as pool, pytest.raises(NoGasError, match="signature ends"):
            relay(signed, Relay(merchant.pk, "one"), pool=pool, clock=lambda: next(clock))  # noqa: B023
    assert not GasTransaction.objects.exists()
    send(signed, Relay(merchant.pk, "one"), now=begun)


def test_what_was_emptied_too_late_has_paid(base_node: Anvil, usdc: str, merchant: Merchant) -> None:
    base_node.set_automine(False)
    made = send(signed_transfer(base_node, SHOP, UNITS), Relay(merchant.pk, "one", subject="chk_live_1"))
    empty(made.attempts.get(), prices=None, now=timezone.now())
    with pytest.raises(TakenSubjectError) as found:
        refuse_taken("chk_live_1", now=timezone.now())
    assert found.value.is_on_its_way
    base_node.set_automine(True)
    base_node.mine(chain_spec("base").confirmations)
    tend_all()
    made.refresh_from_db()
    assert balance_of(base_node, usdc, SHOP) == UNITS
    assert (made.purpose, made.state, made.outcome) == (Purpose.CANCEL, TransactionState.MINED, Outcome.DONE)
    with pytest.raises(TakenSubjectError):
        refuse_taken("chk_live_1", now=timezone.now() + timedelta(days=1))


@pytest.mark.parametrize(("failures", "minutes"), [(0, 0), (1, 0), (2, 1), (3, 2), (5, 8), (9, 15)])
def test_each_further_failure_doubles_the_wait(failures: int, minutes: int) -> None:
    now = timezone.now()
    assert minutes_to_wait([now] * failures, now=now) == minutes
    assert minutes_to_wait([now] * failures, now=now + LONGEST_WAIT) == 0


@pytest.mark.usefixtures("counted_anew")
def test_a_merchants_share_counts_whatever_was_sent_for_it(
    base_node: Anvil, usdc: str, merchant: Merchant, settings: Any
) -> None:
    made = send(signed_transfer(base_node, SHOP, UNITS), Relay(merchant.pk, "one"))
    GasTransaction.objects.update(outcome=Outcome.DONE)
    settings.GAS_MERCHANT_SHARE = "0.5"
    settings.GAS_DAILY_COINS = {"base": f"{Decimal(int(made.most_wei)) * 2 / 10**18 - Decimal(1) / 10**18:f}"}
    now, other = timezone.now(), make_merchant("Other")
    for purpose in (Purpose.RELAY, Purpose.X402):
        GasTransaction.objects.update(purpose=purpose)
        with pytest.raises(NoGasError, match="share"):
            refuse_greedy(merchant.pk, "base", payment=1, now=now)
    refuse_greedy(other.pk, "base", payment=1, now=now)
    refuse_greedy(merchant.pk, "base", payment=1, now=now + timedelta(days=1, seconds=1))


@pytest.mark.usefixtures("counted_anew")
@pytest.mark.parametrize("chain", [one.name for one in CHAINS if one.gas is not None and one.gas.most_gwei is not None])
def test_a_share_of_nothing_lets_not_even_the_first_payment_through(
    merchant: Merchant, settings: Any, chain: str
) -> None:
    refuse_greedy(merchant.pk, chain, payment=1, now=timezone.now())
    settings.GAS_MERCHANT_SHARE = "0"
    with pytest.raises(NoGasError, match="share"):
        refuse_greedy(merchant.pk, chain, payment=1, now=timezone.now())


@pytest.mark.usefixtures("counted_anew")
def test_nothing_is_relayed_for_a_merchant_without_a_share(
    base_node: Anvil, usdc: str, merchant: Merchant, settings: Any
) -> None:
    settings.GAS_MERCHANT_SHARE = "0"
    with pytest.raises(NoGasError, match="share"):
        send(signed_transfer(base_node, SHOP, UNITS), Relay(merchant.pk, "one"))
    assert not GasTransaction.objects.exists()


@pytest.mark.usefixtures("counted_anew")
def test_what_our_own_account_lacked_is_nobodys_failure(base_node: Anvil, usdc: str, merchant: Merchant) -> None:
    signed = signed_transfer(base_node, SHOP, UNITS)
    holder = base_node.accounts[3]
    send(signed, Relay(merchant.pk, "one"))
    base_node.rpc("anvil_setBalance", holder.address, "0x1")
    with pytest.raises(NoGasError):
        send(signed_transfer(base_node, SHOP, UNITS), Relay(merchant.pk, "two"))
    empty = GasTransaction.objects.filter(purpose=Purpose.CANCEL)
    assert {(one.merchant_id, one.payer) for one in empty} <= {(None, "")}
