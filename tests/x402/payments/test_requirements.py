"""Whether payers must sign."""

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct

from accounts.models import AuditEntry
from demo.localnet.anvil import Anvil
from demo.localnet.funding import payer
from tests.contract.client import ApiClient
from tests.factories import NOON, make_user
from tests.x402.calls import RESOURCE, Claim, ask, verdict
from tests.x402.payers import paid
from x402.byhash.signatures import message_of
from x402.inputs import Proof, Requirements
from x402.models import X402Payment
from x402.payments.requirements import requires_signature, set_requirements

pytestmark = pytest.mark.django_db


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
        set_requirements(merchant, requires_signature=wanted, actor=owner, now=NOON, client="::1")
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
