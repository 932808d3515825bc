"""First payments by Permit2 of payers without coins: the token's own permit comes with them (`eip2612GasSponsoring`)."""

from typing import Any

import pytest

from accounts.states import Mode
from localnet.anvil import Anvil, FundedAccount
from localnet.permit2 import PERMIT2, PROXY, UPTO_PROXY, Permit, lay_permit2, own_permit, permit
from localnet.tokens import balance_of, execute, mint, read
from settlements.models import GasAttempt, GasTransaction
from tests.contract.client import ApiClient
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.permits import permit_body
from tests.x402.exact.shop import connect_base, open_shop
from tests.x402.payers import pay_to_of
from x402.exact import waiting
from x402.exact.evm import permit2
from x402.exact.forms import parse_standard
from x402.models import Authorization, X402Payment

pytestmark = pytest.mark.django_db
UNITS, CHARGED = 10_000, 3_500
EXTENSION = "eip2612GasSponsoring"


@pytest.fixture
def usdc(base_node: Anvil, settings: Any) -> str:
    """USDC, Permit2 and the proxies at their addresses on Base."""
    address = connect_base(settings, base_node)
    lay_permit2(base_node)
    return address


@pytest.fixture
def seller(usdc: str) -> ApiClient:
    return open_shop()


@pytest.fixture
def newcomer(base_node: Anvil, usdc: str) -> FundedAccount:
    """A payer that has tokens, and never allowed Permit2 any."""
    account = base_node.accounts[6]
    mint(base_node, usdc, account.address, 10 * UNITS)
    if allowed(base_node, usdc, account):
        execute(base_node, account, usdc, "approve(address,uint256)", PERMIT2, 0)
    return account


def allowed(node: Anvil, token: str, account: FundedAccount) -> int:
    return int(read(node, token, "allowance(address,address)", account.address, PERMIT2), 16)


def sponsored(told: Permit, own: dict[str, Any] | None, **changes: Any) -> dict[str, Any]:
    """The body of a payment with the token's own permit."""
    body = permit_body(told, 8453, **changes)
    if own is not None:
        body["paymentPayload"]["extensions"] = {EXTENSION: {"info": own, "schema": {}}}
    return body


def most_of(node: Anvil, usdc: str, to: str, account: FundedAccount) -> Permit:
    """A maximum for the gas account (scheme `upto`)."""
    named = {"facilitator": node.accounts[3].address, "spender": UPTO_PROXY}
    return permit(node, usdc, to, UNITS, account=account, **named)


def sent() -> bytes:
    """What the gas account called last."""
    return bytes(GasTransaction.objects.latest("pk").data)


def is_with_permit(scheme: str) -> bool:
    proxy = {"exact": permit2._EXACT, "upto": permit2._UPTO}[scheme]
    return sent().startswith(proxy.settle_with_permit.selector)


def test_a_payer_without_coins_pays_by_permit2(
    base_node: Anvil, seller: ApiClient, usdc: str, newcomer: FundedAccount
) -> None:
    told = permit(base_node, usdc, pay_to_of(seller), UNITS, account=newcomer)
    assert verify(seller, sponsored(told, None))["invalidReason"] == "permit2_allowance_required"
    body = sponsored(told, own_permit(base_node, told, newcomer))
    assert verify(seller, body) == {"isValid": True, "payer": newcomer.address}
    answer = settle(seller, body)
    assert answer["success"] is True, answer
    assert is_with_permit("exact")
    assert balance_of(base_node, usdc, told.to) == UNITS
    assert X402Payment.objects.get().tx_hash == answer["transaction"]
    # No more was allowed than was paid.
    assert allowed(base_node, usdc, newcomer) == 0
    again = settle(seller, body)
    assert (again["success"], again["errorReason"]) == (False, "permit2_invalid_nonce")


def test_a_part_of_a_maximum_is_paid_so_and_what_is_left_needs_no_other_permit(
    base_node: Anvil, seller: ApiClient, usdc: str, newcomer: FundedAccount
) -> None:
    to = pay_to_of(seller)
    told = most_of(base_node, usdc, to, newcomer)
    body = sponsored(told, own_permit(base_node, told, newcomer), scheme="upto")
    assert verify(seller, body)["isValid"]
    body["paymentRequirements"] = body["paymentRequirements"] | {"amount": str(CHARGED)}
    answer = settle(seller, body)
    assert (answer["success"], answer["amount"]) == (True, str(CHARGED)), answer
    assert is_with_permit("upto")
    assert allowed(base_node, usdc, newcomer) == UNITS - CHARGED
    second = most_of(base_node, usdc, to, newcomer)
    body = sponsored(second, own_permit(base_node, second, newcomer), scheme="upto")
    body["paymentRequirements"] = body["paymentRequirements"] | {"amount": str(CHARGED)}
    assert settle(seller, body)["success"]
    assert not is_with_permit("upto")
    assert balance_of(base_node, usdc, to) == 2 * CHARGED


def test_a_permit_that_a_third_party_showed_the_token_before_us_is_no_hindrance(
    base_node: Anvil, seller: ApiClient, usdc: str, newcomer: FundedAccount
) -> None:
    told = permit(base_node, usdc, pay_to_of(seller), UNITS, account=newcomer)
    own = own_permit(base_node, told, newcomer)
    raw = bytes.fromhex(own["signature"][2:])
    execute(
        base_node,
        base_node.accounts[5],
        usdc,
        "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)",
        *(newcomer.address, PERMIT2, UNITS, told.deadline, raw[64], raw[:32], raw[32:64]),
    )
    assert verify(seller, sponsored(told, own))["isValid"]
    assert settle(seller, sponsored(told, own))["success"]
    assert not is_with_permit("exact")


def test_a_payment_that_a_third_party_carried_out_so_is_found(
    base_node: Anvil, seller: ApiClient, usdc: str, newcomer: FundedAccount
) -> None:
    told = permit(base_node, usdc, pay_to_of(seller), UNITS, account=newcomer)
    own = own_permit(base_node, told, newcomer)
    tx_hash = base_node.send(base_node.accounts[5], to=PROXY, data=told.with_own(own), gas=1_000_000)
    assert base_node.receipt(tx_hash)["status"] == "0x1"
    answer = settle(seller, sponsored(told, own))
    assert (answer["success"], answer["transaction"]) == (True, tx_hash)
    assert not GasTransaction.objects.exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"from": PERMIT2}, "eip2612_from_mismatch"),
        ({"asset": PERMIT2}, "eip2612_asset_mismatch"),
        ({"spender": PROXY}, "eip2612_spender_not_permit2"),
        ({"amount": str(UNITS + 1)}, "permit2_2612_amount_mismatch"),
        ({"deadline": "1"}, "eip2612_deadline_expired"),
        ({"deadline": 1}, "invalid_eip2612_extension_format"),
        ({"from": "0x"}, "invalid_eip2612_extension_format"),
        ({"amount": "-1"}, "invalid_eip2612_extension_format"),
        ({"signature": "0x1234"}, "invalid_eip2612_extension_format"),
        ({"signature": None}, "invalid_eip2612_extension_format"),
    ],
)
def test_a_permit_for_anything_else_is_refused(
    base_node: Anvil, seller: ApiClient, usdc: str, newcomer: FundedAccount, changes: dict[str, Any], reason: str
) -> None:
    told = permit(base_node, usdc, pay_to_of(seller), UNITS, account=newcomer)
    body = sponsored(told, own_permit(base_node, told, newcomer) | changes)
    assert verify(seller, body)["invalidReason"] == reason
    assert settle(seller, body)["errorReason"] == reason
    assert not Authorization.objects.exists()


def test_a_permit_that_ends_before_the_payment_is_refused_before_anything_is_sent(
    base_node: Anvil, seller: ApiClient, usdc: str, newcomer: FundedAccount
) -> None:
    """It is good now. Mined after its end, the transaction would fail at our cost."""
    told = permit(base_node, usdc, pay_to_of(seller), UNITS, account=newcomer)
    body = sponsored(told, own_permit(base_node, told, newcomer, deadline=told.deadline - 1))
    assert verify(seller, body)["invalidReason"] == "eip2612_deadline_expired"
    assert settle(seller, body)["errorReason"] == "eip2612_deadline_expired"
    assert not GasTransaction.objects.exists()


@pytest.mark.parametrize("wrong", ["key", "nonce", "deadline"])
def test_a_permit_that_the_token_refuses_costs_no_gas_of_ours(
    base_node: Anvil, seller: ApiClient, usdc: str, newcomer: FundedAccount, wrong: str
) -> None:
    told = permit(base_node, usdc, pay_to_of(seller), UNITS, account=newcomer)
    own = own_permit(base_node, told, newcomer, **({"nonce": 7} if wrong == "nonce" else {}))
    if wrong == "key":
        own["signature"] = own_permit(base_node, told, base_node.accounts[7])["signature"]
    if wrong == "deadline":
        own["deadline"] = str(told.deadline + 1)
    body = sponsored(told, own)
    assert verify(seller, body)["invalidReason"] == "invalid_exact_evm_transaction_simulation_failed"
    assert not settle(seller, body)["success"]
    assert not GasTransaction.objects.exists()
    assert not GasAttempt.objects.exists()


@pytest.mark.parametrize(
    "extensions",
    [{}, {EXTENSION: None}, {EXTENSION: {"info": {"description": "…", "version": "1"}}}, {EXTENSION: {"info": []}}, []],
)
def test_what_a_client_repeats_without_a_signature_is_no_permit(
    base_node: Anvil, seller: ApiClient, usdc: str, newcomer: FundedAccount, extensions: object
) -> None:
    told = permit(base_node, usdc, pay_to_of(seller), UNITS, account=newcomer)
    body = permit_body(told, 8453)
    body["paymentPayload"]["extensions"] = extensions
    assert verify(seller, body)["invalidReason"] == "permit2_allowance_required"


def test_a_payer_pays_twice_in_a_row_with_a_permit_each(
    base_node: Anvil, seller: ApiClient, usdc: str, newcomer: FundedAccount
) -> None:
    for _ in range(2):
        told = permit(base_node, usdc, pay_to_of(seller), UNITS, account=newcomer)
        body = sponsored(told, own_permit(base_node, told, newcomer))
        assert verify(seller, body)["isValid"]
        answer = settle(seller, body)
        assert answer["success"], answer
        assert is_with_permit("exact")
    assert balance_of(base_node, usdc, pay_to_of(seller)) == 2 * UNITS


def test_while_a_payment_with_a_permit_is_on_its_way_the_next_one_is_not_called_valid(
    base_node: Anvil, seller: ApiClient, usdc: str, newcomer: FundedAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.05)
    first, second = (permit(base_node, usdc, pay_to_of(seller), UNITS, account=newcomer) for _ in range(2))
    own = own_permit(base_node, first, newcomer)
    # The token takes it after the first one's.
    later = own_permit(base_node, second, newcomer, nonce=int(own["nonce"]) + 1)
    base_node.set_automine(False)
    assert settle(seller, sponsored(first, own))["errorReason"] == "settlement_pending"
    body = sponsored(second, later)
    assert verify(seller, body)["invalidReason"] == "unexpected_verify_error"
    assert settle(seller, body)["errorReason"] == "unexpected_settle_error"
    assert GasTransaction.objects.count() == 1
    base_node.set_automine(True)
    base_node.mine()
    assert settle(seller, sponsored(first, own))["success"]
    assert verify(seller, body)["isValid"]
    assert settle(seller, body)["success"]


def test_the_extension_is_listed_and_belongs_to_permit2_alone(seller: ApiClient, usdc: str, base_node: Anvil) -> None:
    assert EXTENSION in seller.get("/x402/supported").body["extensions"]
    told = permit(base_node, usdc, pay_to_of(seller), UNITS)
    request = parse_standard(sponsored(told, own_permit(base_node, told, base_node.accounts[1])), Mode.LIVE)
    assert request.signed.own_permit is not None
