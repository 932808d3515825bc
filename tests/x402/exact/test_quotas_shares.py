"""Neither a merchant nor a payer uses up the gas, or the nodes' patience, that is there for all."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.tokens import mint
from settlements.errors import NoGasError
from settlements.gas import shares, upkeep
from settlements.gas.strangers import Stranger, refuse_failed
from settlements.models import GasTransaction
from settlements.states import Outcome, Purpose, TransactionState
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, make_merchant, make_wallet
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.payers import pay_to_of
from wallets.chains.family import Network
from wallets.networks import chain_spec
from wallets.selectors import forget
from x402.exact import quotas
from x402.exact.errors import RefusedPaymentError
from x402.exact.facilitator import settle_standard, verify_standard
from x402.exact.forms import parse_standard
from x402.exact.waiting import longest_pause
from x402.models import Authorization, X402Payment
from x402.payments.claims import Caller
from x402.states import AuthorizationState

pytestmark = pytest.mark.django_db
UNITS = 1


def pay(node: Anvil, client: ApiClient, usdc: str) -> dict[str, Any]:
    return settle(client, body_of(authorize(node, pay_to_of(client), UNITS), usdc))


def test_a_merchants_dust_takes_no_more_than_its_share_of_the_days_gas(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pay(base_node, exact_seller, usdc)["success"]
    cost = int(GasTransaction.objects.get().most_wei)
    GasTransaction.objects.update(cost_wei=cost)
    # One payment and a half.
    give(settings, monkeypatch, share=cost * 3 // 2)
    assert pay(base_node, exact_seller, usdc)["errorReason"] == "unexpected_settle_error"
    assert GasTransaction.objects.count() == 1
    assert pay(base_node, elsewhere(base_node), usdc)["success"]
    settings.GAS_MERCHANT_SHARE = "1"
    assert pay(base_node, exact_seller, usdc)["success"]


@pytest.mark.parametrize(
    ("whose", "is_refused"),
    [({}, True), ({"state": TransactionState.DROPPED}, False), ({"purpose": Purpose.CANCEL}, False)],
)
def test_a_payer_whose_authorisations_failed_on_our_gas_waits_for_some_minutes(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, whose: dict[str, Any], is_refused: bool
) -> None:
    for _ in range(3):
        assert pay(base_node, exact_seller, usdc)["success"]
    GasTransaction.objects.update(**whose)
    Authorization.objects.update(state=AuthorizationState.FAILED)
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    assert verify(exact_seller, body)["isValid"] is not is_refused
    assert settle(exact_seller, body)["success"] is not is_refused
    other = base_node.accounts[6]
    mint(base_node, usdc, other.address, UNITS)
    told = authorize(base_node, pay_to_of(exact_seller), UNITS, account=other)
    assert settle(exact_seller, body_of(told, usdc))["success"]
    Authorization.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    assert pay(base_node, exact_seller, usdc)["success"]


@pytest.mark.parametrize(("failures", "minutes"), [(1, 0), (2, 1), (3, 2), (5, 8), (9, 15)])
def test_each_further_failure_doubles_the_wait_up_to_a_quarter_of_an_hour(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, failures: int, minutes: int
) -> None:
    assert pay(base_node, exact_seller, usdc)["success"]
    row = Authorization.objects.get()
    row.state, row.payment = AuthorizationState.FAILED, None
    row.save()
    for number in range(1, failures):
        row.pk, row.nonce = None, f"0x{number:064x}"
        row.save()
    now = timezone.now()
    Authorization.objects.update(created_at=now)
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    request = parse_standard(body_of(told, usdc), Mode.LIVE)
    a_little = timedelta(seconds=1)
    if minutes:
        with pytest.raises(RefusedPaymentError):
            quotas.refuse_failing(request, now=now + timedelta(minutes=minutes) - a_little)
    quotas.refuse_failing(request, now=now + timedelta(minutes=minutes) + a_little)


def test_what_fails_for_a_merchants_payers_takes_a_small_part_of_its_gas_at_once(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One payer's failure may be anybody's: the merchant's others are not to pay for many.
    failures = shares.FAILED_LEAST + 1
    cost = attack(base_node, exact_seller, usdc, payers=failures)
    share = cost * failures * shares.FAILED_PART
    give(settings, monkeypatch, share=share * 9 // 10)
    assert pay(base_node, exact_seller, usdc)["errorReason"] == "unexpected_settle_error"
    assert GasTransaction.objects.count() == failures
    assert pay(base_node, elsewhere(base_node), usdc)["success"]
    GasTransaction.objects.update(created_at=timezone.now() - shares.WINDOW)
    assert pay(base_node, exact_seller, usdc)["success"]


def test_where_gas_is_dear_one_failed_payment_stops_no_other_and_leaves_no_queue(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Ethereum one payment may cost more than a 300th of a merchant's share."""
    cost = attack(base_node, exact_seller, usdc, payers=1)
    give(settings, monkeypatch, share=cost * shares.FAILED_PART // 2)
    for _ in range(3):
        assert pay(base_node, exact_seller, usdc)["success"]
        turn(AuthorizationState.SENT, Authorization.objects.exclude(state=AuthorizationState.FAILED))


def attack(node: Anvil, client: ApiClient, usdc: str, *, payers: int) -> int:
    """As many payers settle, and their payments fail on the chain; return the wei that one of them costs."""
    others = node.accounts[2 : 2 + payers]
    for other in others:
        mint(node, usdc, other.address, UNITS)
        told = authorize(node, pay_to_of(client), UNITS, account=other)
        assert settle(client, body_of(told, usdc))["success"]
    turn(AuthorizationState.FAILED, Authorization.objects.all())
    cost = int(GasTransaction.objects.latest("id").most_wei)
    GasTransaction.objects.update(cost_wei=cost)
    return cost


OUTCOMES = {
    AuthorizationState.SENT: Outcome.OPEN,
    AuthorizationState.SETTLED: Outcome.DONE,
    AuthorizationState.FAILED: Outcome.FAILED,
}


def turn(state: AuthorizationState, rows: QuerySet[Authorization]) -> None:
    """Pretend that payments came to something else, as the ledger is told of it too."""
    pks = list(rows.values_list("pk", flat=True))
    chosen = Authorization.objects.filter(pk__in=pks)
    GasTransaction.objects.filter(pk__in=list(chosen.values_list("transaction", flat=True))).update(
        outcome=OUTCOMES[state]
    )
    chosen.update(state=state)


def give(settings: Any, monkeypatch: pytest.MonkeyPatch, share: int) -> None:
    """Let the merchant spend so many wei a day."""
    monkeypatch.setattr(shares, "_of_a_day", shares._of_a_day.__wrapped__)
    settings.GAS_MERCHANT_SHARE = "0.5"
    coins = Decimal(share * 2) / 10**18
    settings.GAS_DAILY_COINS = settings.GAS_DAILY_COINS | {"base": f"{coins:f}"}


def test_after_an_attack_of_failing_payers_an_honest_one_is_served_minutes_later(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What failed cost more than the share of the day.
    cost = attack(base_node, exact_seller, usdc, payers=5)
    give(settings, monkeypatch, share=4 * cost)
    assert pay(base_node, exact_seller, usdc)["errorReason"] == "unexpected_settle_error"
    long_ago = timezone.now() - shares.WINDOW - timedelta(seconds=1)
    GasTransaction.objects.update(created_at=long_ago)
    assert pay(base_node, exact_seller, usdc)["success"]
    assert pay(base_node, exact_seller, usdc)["success"]


def test_what_is_on_its_way_after_an_attack_counts_as_failed_until_it_did_not(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each wave could be as large as the first."""
    cost = attack(base_node, exact_seller, usdc, payers=3)
    long_ago = timezone.now() - shares.WINDOW - timedelta(seconds=1)
    GasTransaction.objects.update(created_at=long_ago)
    give(settings, monkeypatch, share=cost * shares.FAILED_PART // 2)
    for _ in range(shares.FAILED_LEAST + 1):
        assert pay(base_node, exact_seller, usdc)["success"]
    turn(AuthorizationState.SENT, Authorization.objects.filter(state=AuthorizationState.SETTLED))
    assert pay(base_node, exact_seller, usdc)["errorReason"] == "unexpected_settle_error"
    turn(AuthorizationState.SETTLED, Authorization.objects.filter(state=AuthorizationState.SENT))
    assert pay(base_node, exact_seller, usdc)["success"]


def test_only_a_quarter_of_the_share_is_on_its_way_at_once(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pay(base_node, exact_seller, usdc)["success"]
    cost = int(GasTransaction.objects.get().most_wei)
    GasTransaction.objects.update(cost_wei=cost)
    give(settings, monkeypatch, share=cost * shares.OPEN_PART - 1)
    turn(AuthorizationState.SENT, Authorization.objects.all())
    assert pay(base_node, exact_seller, usdc)["errorReason"] == "unexpected_settle_error"
    assert pay(base_node, elsewhere(base_node), usdc)["success"]
    turn(AuthorizationState.SETTLED, Authorization.objects.all())
    assert pay(base_node, exact_seller, usdc)["success"]


SHARE = Decimal(10**16)


def refuse_known_to_nobody(costs: shares.FailedCosts) -> None:
    """Refuse a payment of an account that is related to none that failed."""
    record: Any = SimpleNamespace(has_paid=lambda *_, **__: False, failed_payers=lambda **_: [])
    stranger = Stranger(1, "base", "token", "payer", lambda _: "", record)
    refuse_failed(stranger, costs, SHARE, now=NOON)


def refuse_any(costs: shares.FailedCosts) -> None:
    """Refuse a payment of an account that nothing exempts."""
    shares.refuse_failed(costs, SHARE, "base")


def failed_in_a_day(payment: int, refuse: Callable[[shares.FailedCosts], None] = refuse_any) -> int:
    """What fails in a day of an attacker who sends, every minute, all payments that are let through."""
    failed: list[tuple[int, int]] = []
    for minute in range(24 * 60):
        spent = 0
        window = minute - int(shares.WINDOW / timedelta(minutes=1))
        costs = shares.FailedCosts(
            day=sum(cost for _, cost in failed),
            lately=sum(cost for at, cost in failed if at > window),
            open=0,
            payment=payment,
        )
        with suppress(NoGasError):
            while True:
                refuse(replace(costs, open=spent))
                spent += payment
        failed.append((minute, spent))
    return sum(cost for _, cost in failed)


def test_failures_of_a_whole_day_cost_three_quarters_of_the_share_at_most() -> None:
    assert SHARE / 2 < failed_in_a_day(10**11) <= SHARE * 3 / 4


def test_failures_of_unrelated_accounts_cost_the_whole_share_at_most() -> None:
    assert SHARE * 3 / 4 < failed_in_a_day(10**11, refuse_known_to_nobody) <= SHARE


@pytest.mark.parametrize("part", [50, 100, 300, 1_000])
def test_where_gas_is_dear_they_cost_a_quarter_and_one_payment_in_ten_minutes(part: int) -> None:
    payment = int(SHARE) // part
    windows = int(timedelta(days=1) / shares.WINDOW)
    in_ten_minutes = SHARE / shares.FAILED_PART + payment
    most = SHARE / 4 + payment + windows * in_ten_minutes
    assert failed_in_a_day(payment) <= most
    assert failed_in_a_day(payment, refuse_known_to_nobody) <= most + SHARE / 4


@pytest.fixture
def public(settings: Any, usdc: str) -> str:
    """USDC's address where nodes are everybody's, and allow so many requests that a merchant may verify nine times a minute."""
    settings.CHAIN_NETWORK = "mainnet"
    settings.CHAIN_SETTINGS |= {"BASE_REQUESTS_PER_MINUTE": "48"}
    return usdc


def machines_of(client: ApiClient) -> Caller:
    assert client.merchant is not None
    return Caller(client.merchant.pk, Mode.LIVE)


def elsewhere(node: Anvil) -> ApiClient:
    merchant = make_merchant("Elsewhere")
    make_wallet(merchant, "base", node.accounts[7].address)
    forget()
    return client_of(merchant, Mode.LIVE)


def test_a_flood_of_verifications_leaves_a_chains_nodes_to_others_and_refuses_nothing(
    base_node: Anvil, exact_seller: ApiClient, public: str
) -> None:
    minute = timezone.now()

    def ask(client: ApiClient) -> dict[str, Any]:
        told = authorize(base_node, pay_to_of(client), UNITS)
        body = body_of(told, public)
        return verify_standard(machines_of(client), body, clock=lambda: minute)

    flood = [ask(exact_seller) for _ in range(11)]
    assert [one["isValid"] for one in flood] == [True] * 9 + [False] * 2
    assert flood[-1]["invalidReason"] == "unexpected_verify_error"
    other = elsewhere(base_node)
    assert [ask(other)["isValid"] for _ in range(4)] == [True] * 3 + [False]


def test_what_was_verified_can_be_settled_and_what_was_sent_can_be_asked_about(
    base_node: Anvil, exact_seller: ApiClient, public: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The test's clock goes a minute ahead of the newest block.
    monkeypatch.setattr(upkeep, "patience", lambda _: timedelta(hours=1))
    minute = timezone.now()
    caller, spec = machines_of(exact_seller), chain_spec("base")

    def ask(body: dict[str, Any]) -> dict[str, Any]:
        return settle_standard(caller, body, clock=lambda: minute)

    def paid() -> dict[str, Any]:
        return body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), public)

    sharing_out = partial(quotas.may_ask, merchant_id=caller.merchant_id, spec=spec, now=minute)
    while sharing_out(quotas.VERIFYING):
        pass
    first = paid()
    answer = ask(first)
    assert answer["success"], answer
    while sharing_out(quotas.SETTLING):
        pass
    later = paid()
    assert ask(later)["errorReason"] == "unexpected_settle_error"
    left_lying: dict[str, Any] = {"state": AuthorizationState.SENT}
    left_lying |= {"answer": None, "payment": None, "served_at": None}
    Authorization.objects.filter(payment__isnull=False).update(**left_lying)
    X402Payment.objects.all().delete()
    again = ask(first)
    assert (again["success"], again["transaction"]) == (True, answer["transaction"])
    minute += timedelta(minutes=1)
    assert ask(later)["success"]


def test_who_waits_for_a_receipt_leaves_public_nodes_for_others() -> None:
    own = replace(chain_spec("base"), requests_per_minute=300)
    public = replace(own, network=Network.MAINNET)
    local = replace(own, network=Network.LOCAL)
    assert longest_pause(public) == pytest.approx(0.8)
    assert longest_pause(public, questions=3) == pytest.approx(2.4)
    assert longest_pause(replace(public, requests_per_minute=100_000)) < 0.1
    assert longest_pause(local) < 0.1
