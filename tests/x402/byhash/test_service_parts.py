"""One transaction that pays a merchant's machines several times: each transfer is a payment, and none are added up."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from tests.checkouts.schema import alter
from tests.contract.client import ApiClient
from tests.x402.byhash.test_service_chains import SOLANA_WALLET, TON_WALLET, names_of, own_wallet_seller
from tests.x402.calls import Claim, verdict
from wallets.chains.base import PARTS_FROM
from wallets.chains.solana.changes import Parts
from wallets.lookup import look_up_on
from wallets.models import Transfer, TransferClaim
from wallets.states import TransferState
from wallets.transfers.service import record_transfers
from wallets.watchers.owners import Owners
from x402.models import X402Payment
from x402.payments.rechecks import recheck_payments
from x402.payments.transfers import follow_transfers

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode

pytestmark = pytest.mark.django_db

READS = "wallets.chains.solana.changes.Parts"
Pays = Callable[..., tuple[ApiClient, Claim]]


@pytest.fixture
def pays(solana_node: "SolanaNode", settings: Any) -> Pays:
    """Pay a merchant's machines so many units each, in one transaction."""
    from localnet.solana.node import Payment

    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    seller = own_wallet_seller("solana", SOLANA_WALLET)

    def pay(*units: int) -> tuple[ApiClient, Claim]:
        tx_hash = solana_node.pay_all([Payment(SOLANA_WALLET, one) for one in units])
        payer = str(solana_node.payer.pubkey())
        return seller, Claim("solana", "USDC", tx_hash, payer, SOLANA_WALLET)

    return pay


def record_all(claim: Claim) -> list[Transfer]:
    """Record what a watcher records."""
    [found] = look_up_on(claim.chain, claim.tx_hash).transactions
    payments = Owners(claim.chain).payments(found.transfers)
    record_transfers(payments, now=timezone.now())
    return list(Transfer.objects.order_by("position"))


def asked(seller: ApiClient, claim: Claim, price: str) -> str:
    return verdict(seller, claim, amount=price, price=price)


@pytest.mark.parametrize("is_recorded", [False, True])
def test_two_amounts_in_one_transaction_are_two_payments(pays: Pays, is_recorded: bool) -> None:
    seller, claim = pays(10_000, 20_000)
    if is_recorded:
        record_all(claim)
    assert asked(seller, claim, "0.03") == "insufficient_amount"
    assert asked(seller, claim, "0.02") == "valid"
    assert asked(seller, claim, "0.01") == "valid"
    assert asked(seller, claim, "0.01") == "already_used"
    assert asked(seller, claim, "0.02") == "already_used"
    paid = X402Payment.objects.order_by("units").values_list("units", flat=True)
    assert [int(units) for units in paid] == [10_000, 20_000]


@pytest.mark.parametrize("is_recorded", [False, True])
def test_two_halves_are_not_one_payment_and_two_equal_ones_are_two(pays: Pays, is_recorded: bool) -> None:
    seller, claim = pays(5_000, 5_000)
    if is_recorded:
        record_all(claim)
    assert asked(seller, claim, "0.01") == "insufficient_amount"
    told = [asked(seller, claim, "0.005") for _ in range(3)]
    assert told == ["valid", "valid", "already_used"]


class SumsAlone(Parts):
    """How the release before 0.26 read a transaction."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._unclear = {*self._totals}


def paid_as_sum(pays: Pays, patch: pytest.MonkeyPatch) -> tuple[ApiClient, Claim]:
    """Two transfers that the release before verified as one, and that no watcher has recorded yet."""
    with patch.context() as before:
        before.setattr(READS, SumsAlone)
        seller, claim = pays(10_000, 20_000)
        assert asked(seller, claim, "0.03") == "valid"
    assert X402Payment.objects.get().position < PARTS_FROM
    return seller, claim


@pytest.mark.parametrize("is_recorded", [False, True])
def test_what_the_release_before_took_as_a_sum_pays_nothing_more(
    pays: Pays, monkeypatch: pytest.MonkeyPatch, is_recorded: bool
) -> None:
    seller, claim = paid_as_sum(pays, monkeypatch)
    if is_recorded:
        record_all(claim)
    for price in ("0.01", "0.02"):
        assert asked(seller, claim, price) == "already_used"
    assert X402Payment.objects.count() == 1


@pytest.mark.parametrize("is_missed", [False, True])
@pytest.mark.parametrize("prices", [("0.02",), ("0.02", "0.01")])
def test_a_sum_of_a_watcher_of_the_release_before_stands_for_one_part_and_no_other(
    pays: Pays, monkeypatch: pytest.MonkeyPatch, prices: Any, is_missed: bool
) -> None:
    seller, claim = pays(10_000, 20_000)
    now = timezone.now()
    for price in prices:
        assert asked(seller, claim, price) == "valid"
    with monkeypatch.context() as before:
        before.setattr(READS, SumsAlone)
        [total] = record_all(claim)
    # Its processor may miss payments that are about to be committed.
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=now, queued_at=None if is_missed else now)
    follow_transfers(now=now)
    recheck_payments(now=now)
    linked = X402Payment.objects.get(transfer=total)
    assert linked.status == "settled"
    assert int(linked.units) < int(total.units)
    others = X402Payment.objects.exclude(pk=linked.pk)
    assert [one.transfer for one in others] == [None] * (len(prices) - 1)
    assert TransferClaim.objects.get().transfer == total


def test_a_payment_taken_as_a_sum_stands_when_its_parts_are_recorded(
    pays: Pays, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, claim = paid_as_sum(pays, monkeypatch)
    first, second = record_all(claim)
    now = timezone.now()
    follow_transfers(now=now)
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=now, queued_at=now)
    follow_transfers(now=now)
    assert recheck_payments(now=now) == 0
    payment = X402Payment.objects.get()
    assert (payment.status, int(payment.units)) == ("settled", 30_000)
    assert payment.transfer == first
    assert not hasattr(second, "x402_payment")


def test_a_part_that_was_used_is_not_paid_with_as_part_of_a_sum(pays: Pays, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an upgrade goes on, a process of the release before may be asked."""
    seller, claim = pays(10_000, 20_000)
    assert asked(seller, claim, "0.01") == "valid"
    monkeypatch.setattr(READS, SumsAlone)
    assert asked(seller, claim, "0.02") == "already_used"


def test_without_the_trigger_a_sum_and_its_parts_would_both_pay(pays: Pays, monkeypatch: pytest.MonkeyPatch) -> None:
    alter("ALTER TABLE x402_payment DISABLE TRIGGER x402_payment_one_reading")
    seller, claim = paid_as_sum(pays, monkeypatch)
    assert asked(seller, claim, "0.01") == "valid"


def test_on_ton_each_transfer_of_one_message_is_a_payment(ton_node: "TonNode", settings: Any) -> None:
    from localnet.ton.messages import Payment

    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        "TON_RPC_URLS": ton_node.url,
        "TON_TOKEN_USDT": ton_node.usdt,
        "TON_REQUESTS_PER_MINUTE": "600",
    }
    seller = own_wallet_seller("ton", TON_WALLET)
    first, *_ = ton_node.send([Payment(TON_WALLET, one) for one in (5_000, 5_000, 9_000)])
    ton_node.advance(2)
    # The whole trace has one name too.
    signed = names_of(ton_node, first)[0]
    claim = Claim("ton", "USDT", signed, ton_node.payer.address, TON_WALLET)
    assert asked(seller, claim, "0.01") == "insufficient_amount"
    assert asked(seller, claim, "0.009") == "valid"
    told = [asked(seller, claim, "0.005") for _ in range(3)]
    assert told == ["valid", "valid", "already_used"]
