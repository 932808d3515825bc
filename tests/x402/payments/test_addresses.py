"""What a merchant may ask of machines: signatures, and wallets of their own to be paid at."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from eth_account import Account
from eth_account.messages import encode_defunct

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Membership, Merchant, User
from accounts.states import Mode, Role
from gateway.core.api.errors import ConflictError, InvalidRequestError
from localnet.anvil import Anvil
from localnet.funding import payer
from mails.models import OutgoingMail
from tests.contract.client import ApiClient
from tests.factories import NOON, make_merchant, make_user, make_wallet
from tests.x402.calls import RESOURCE, Claim, ask, verdict
from tests.x402.payers import paid
from tests.x402.recorded import make_seller
from wallets.models import DepositAddress, ReceivingWallet, WalletChange
from wallets.receiving.service import set_machine_wallet, set_receiving_wallet
from x402.byhash.forms import message_of
from x402.inputs import Proof, Requirements
from x402.models import X402Payment
from x402.payments import addresses
from x402.payments.addresses import expect_machines, is_paid_at, pay_to, requires_signature, set_requirements

pytestmark = pytest.mark.django_db

TRON = "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC"
OTHER_TRON = "TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE"


@pytest.fixture
def owner(merchant: Merchant) -> User:
    user = make_user()
    Membership.objects.create(merchant=merchant, user=user, role=Role.OWNER)
    return user


Setter = Callable[..., ReceivingWallet]


@pytest.fixture
def set_wallet(merchant: Merchant, owner: User) -> Setter:
    def set_it(address: str = TRON, chain: str = "tron", **values: Any) -> Any:
        given: dict[str, Any] = {"actor": Actor(owner), "now": NOON} | values
        who = given.pop("merchant", merchant)
        return set_machine_wallet(who, chain=chain, address=address, **given)

    return set_it


def test_a_wallet_for_machines_is_theirs_at_once_and_owners_are_told(merchant: Merchant, set_wallet: Setter) -> None:
    set_wallet()
    assert pay_to(merchant.pk, Mode.LIVE, "tron") == TRON
    set_wallet()
    assert OutgoingMail.objects.count() == 1
    set_wallet(OTHER_TRON, now=NOON + timedelta(days=1))
    assert pay_to(merchant.pk, Mode.LIVE, "tron") == OTHER_TRON
    audited = AuditEntry.objects.filter(action="x402.wallet_set").order_by("pk")
    assert [(one.before, one.after) for one in audited] == [
        (None, {"address": TRON}),
        ({"address": TRON}, {"address": OTHER_TRON}),
    ]
    told = OutgoingMail.objects.order_by("-pk")[0]
    assert TRON in told.text
    assert OTHER_TRON in told.text
    for hours, is_ours in ((25, True), (27, False)):
        now = NOON + timedelta(hours=hours)
        assert is_paid_at(merchant.pk, Mode.LIVE, "tron", TRON, now=now) is is_ours


def test_what_buyers_pay_machines_never_do_nor_the_other_way_round(
    merchant: Merchant, owner: User, set_wallet: Setter
) -> None:
    make_wallet(merchant, "tron", TRON)
    with pytest.raises(ConflictError):
        set_wallet()
    with pytest.raises(ConflictError):
        set_wallet(merchant=make_merchant())
    ReceivingWallet.objects.update(retired_at=NOON - timedelta(days=30))
    with pytest.raises(ConflictError):
        set_wallet()
    ReceivingWallet.objects.update(retired_at=NOON - timedelta(days=32))
    set_wallet()
    for who in (merchant, make_merchant()):
        with pytest.raises(ConflictError):
            set_receiving_wallet(who, chain="tron", address=TRON, now=NOON)
    set_wallet(OTHER_TRON)
    with pytest.raises(ConflictError):
        set_receiving_wallet(merchant, chain="tron", address=TRON, now=NOON)


def test_a_wallet_that_waits_to_be_buyers_is_not_machines(merchant: Merchant, owner: User, set_wallet: Setter) -> None:
    WalletChange.objects.create(
        merchant=merchant,
        chain="tron",
        address=TRON,
        requested_by=owner,
        requested_at=NOON,
        effective_at=NOON + timedelta(days=1),
    )
    with pytest.raises(ConflictError):
        set_wallet()


def test_on_chains_with_forwarders_there_is_nothing_to_set(set_wallet: Setter) -> None:
    wallet = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
    for chain in ("base", "polygon", "ethereum"):
        with pytest.raises(InvalidRequestError) as caught:
            set_wallet(wallet, chain)
        assert caught.value.code == "chain_unsupported"
    with pytest.raises(InvalidRequestError):
        set_wallet("T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb")


def test_chains_are_read_at_full_pace_for_a_day_and_told_so_once_a_minute(
    merchant: Merchant, set_wallet: Setter, settings: Any, django_assert_num_queries: Any
) -> None:
    to = make_seller(merchant, settings)
    set_wallet()
    make_wallet(merchant, "ethereum")
    expect_machines(merchant.pk, now=NOON)
    deposit = DepositAddress.objects.get(key=bytes.fromhex(to[2:]))
    assert deposit.watched_until >= NOON + timedelta(days=31)
    for chain in ("tron", "ethereum"):
        expected = ReceivingWallet.objects.get(chain=chain).expected_until
        assert expected is not None
        assert expected >= NOON + timedelta(days=1)
    assert ReceivingWallet.objects.get(chain="base").expected_until is None
    with django_assert_num_queries(0):
        expect_machines(merchant.pk, now=timezone.now())
    addresses._expect.cache_clear()
    with django_assert_num_queries(2):
        expect_machines(merchant.pk, now=timezone.now())


def signature_of(claim: Claim, secret: str) -> tuple[tuple[str, str], ...]:
    proof = Proof(claim.tx_hash, claim.chain, "", 0, claim.payer, claim.pay_to)
    text = message_of(proof, Requirements(claim.chain, "", 0, claim.resource))
    signed = Account.sign_message(encode_defunct(text=text), secret)
    return (("signature", "0x" + bytes(signed.signature).hex()),)


def test_a_merchant_that_wants_signatures_gets_no_payment_without(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    merchant, owner = base_seller.merchant, make_user()
    assert merchant is not None
    assert base_seller.get("/x402/config").body["requiresSignature"] is False
    for wanted in (True, True):
        set_requirements(merchant, requires_signature=wanted, actor=Actor(owner, address="::1"), now=NOON)
    assert requires_signature(merchant.pk)
    assert base_seller.get("/x402/config").body["requiresSignature"] is True
    [entry] = AuditEntry.objects.filter(action="x402.requirements_set")
    assert (entry.actor, entry.after) == (owner, {"requires_signature": True})
    assert verdict(base_seller, claim) == "wrong_payer"
    key = payer(base).key
    elsewhere = signature_of(Claim(**vars(claim) | {"resource": "another"}), key)
    assert verdict(base_seller, claim, extra=elsewhere) == "wrong_payer"
    thief = signature_of(claim, base.accounts[5].key)
    assert verdict(base_seller, claim, extra=thief) == "wrong_payer"
    assert verdict(base_seller, claim, extra=signature_of(claim, key)) == "valid"
    assert X402Payment.objects.get().is_signed
    listed = base_seller.get("/x402/payments", {"resource": RESOURCE}).body["data"]
    assert listed[0]["signed"] is True


def test_a_wrong_signature_is_refused_where_none_is_wanted_too(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    thief = signature_of(claim, base.accounts[5].key)
    assert verdict(base_seller, claim, extra=thief) == "wrong_payer"
    answer = ask(base_seller, claim, extra=(("signature", 7),))
    assert answer.refusal == (400, "parameter_invalid", "payment.signature")
    long = ask(base_seller, claim, extra=(("signature", "0x" + "00" * 500),))
    assert long.code == "parameter_too_long"
