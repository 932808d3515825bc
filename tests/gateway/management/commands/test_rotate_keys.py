"""`manage.py rotate_keys`: nothing that is stored or expected is lost, and a dry run changes nothing."""

import io
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import decrypt, encrypt
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import AuditEntry, Merchant
from gateway.core.secrets import SecretUnreadableError
from gateway.core.signing import KeyPurpose, SigningKey, sign
from gateway.restores.service import recover_addresses
from settlements.gas.keys import gas_keys
from settlements.models import GasAccount
from tests.contract.client import ApiClient
from tests.factories import LOCAL_NODES, make_key, make_live_chain, make_merchant, make_user, make_wallet
from tests.webhooks.factories import secrets_of
from wallets.models import DepositAddress
from webhooks.endpoints.secrets import ensure_secret
from webhooks.models import SigningSecret

pytestmark = pytest.mark.django_db

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
GAS_KEYS = ["0x" + "41" * 32, "0x" + "42" * 32]


@pytest.fixture
def merchant(settings: Any) -> Merchant:
    """A merchant with a webhook secret, and a person with both second factors, from the time of the old key."""
    settings.ENCRYPTION_KEYS = [OLD]
    merchant = make_merchant()
    ensure_secret(merchant, now=timezone.now())
    kinds = Authenticator.Type
    for kind, name in ((kinds.TOTP, "secret"), (kinds.RECOVERY_CODES, "seed")):
        data = {name: encrypt(f"our {name}"), "used_mask": 5}
        Authenticator.objects.create(user=make_user(), type=kind, data=data)
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    return merchant


def rotate(*arguments: str) -> str:
    said = io.StringIO()
    call_command("rotate_keys", *arguments, stdout=said)
    return said.getvalue()


def stored() -> list[object]:
    """Everything that is encrypted."""
    factors = Authenticator.objects.order_by("pk").values_list("data", flat=True)
    sealed = SigningSecret.objects.values_list("sealed", flat=True)
    return [*factors, *map(bytes, sealed)]


def factors() -> list[str]:
    return sorted(
        decrypt(value)
        for data in Authenticator.objects.values_list("data", flat=True)
        for name, value in data.items()
        if name != "used_mask"
    )


def test_every_stored_secret_is_read_without_the_old_key_afterwards(merchant: Merchant, settings: Any) -> None:
    before = secrets_of(merchant, now=timezone.now())
    told = rotate("encryption")
    assert "Webhook secrets: 0 under the first key, 1 encrypted anew, 0 that no key opens." in told
    assert "Second factors: 0 under the first key, 2 encrypted anew" in told
    settings.ENCRYPTION_KEYS = [NEW]
    assert secrets_of(merchant, now=timezone.now()) == before
    assert factors() == ["our secret", "our seed"]
    masks = Authenticator.objects.values_list("data__used_mask", flat=True)
    assert list(masks) == [5, 5]
    entry = AuditEntry.objects.get(action="encryption_keys.rotated")
    assert entry.after == {"secrets": 3}


def test_without_it_they_would_be_lost_with_the_old_key(merchant: Merchant, settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [NEW]
    with pytest.raises(SecretUnreadableError):
        secrets_of(merchant, now=timezone.now())
    with pytest.raises(CommandError, match="Put the key that is missing back"):
        rotate("encryption")


def test_a_dry_run_counts_and_changes_nothing(merchant: Merchant) -> None:
    before = stored()
    assert "0 under the first key, 1 to be encrypted anew" in rotate("encryption", "--dry-run")
    assert rotate("status").startswith("Webhook secrets: 0 under the first key, 1 to")
    assert stored() == before
    assert not AuditEntry.objects.filter(action="encryption_keys.rotated").exists()


def test_a_second_run_finds_nothing_to_do(merchant: Merchant) -> None:
    rotate("encryption")
    before = stored()
    assert "Second factors: 2 under the first key, 0 encrypted anew" in rotate("encryption")
    assert stored() == before


def test_the_last_address_of_an_old_key_is_told_and_stays_recoverable(settings: Any) -> None:
    settings.CHAIN_SETTINGS, settings.ENCRYPTION_KEYS = LOCAL_NODES, [OLD]
    merchant = make_merchant()
    make_wallet(merchant, "base")
    make_live_chain("base")
    client = ApiClient(make_key(merchant)[1])
    public_id = client.created()["id"]
    [address] = DepositAddress.objects.all()
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert client.created()["id"] != public_id
    told = rotate("encryption")
    assert f"Key 2 was last used for a new address: {address.created_at:%Y-%m}" in told
    # As if both had been lost.
    address.delete()
    merchant.checkouts.all().delete()
    assert recover_addresses(merchant, [public_id], now=timezone.now()) == 2
    assert DepositAddress.objects.filter(key=address.key).exists()


def test_a_key_that_gave_no_address_lately_is_told_as_such(merchant: Merchant) -> None:
    assert "Key 2 was last used for a new address: before the newest 1000" in rotate("status")


def test_a_gas_key_is_retired_on_every_chain(merchant: Merchant, settings: Any) -> None:
    settings.GAS_KEYS, settings.CHAIN_SETTINGS = GAS_KEYS, LOCAL_NODES
    old, _ = gas_keys()
    assert "accounts would be retired" in rotate("gas", old, "--dry-run")
    assert not GasAccount.objects.exists()
    told = rotate("gas", old)
    assert f"base {old}: 0 transactions not final yet, an unknown number" in told
    assert not GasAccount.objects.filter(address=old, retired_at=None).exists()
    assert old in rotate("status")


def test_a_gas_key_that_is_not_here_is_refused(merchant: Merchant) -> None:
    with pytest.raises(CommandError, match="GAS_KEYS has no key of 0x1234"):
        rotate("gas", "0x1234")


def test_a_merchants_old_webhook_secret_signs_beside_the_new_one(merchant: Merchant) -> None:
    now = timezone.now()
    before = secrets_of(merchant, now=now)
    assert "would sign" in rotate("webhooks", merchant.public_id, "--dry-run")
    assert secrets_of(merchant, now=now) == before
    assert "signs for 48 more hours" in rotate("webhooks", merchant.public_id, "--hours", "48")
    [new, old] = secrets_of(merchant, now=now)
    assert [old] == before
    assert new != old


def test_a_merchant_that_is_not_here_is_named(merchant: Merchant) -> None:
    with pytest.raises(CommandError, match="There is no merchant mer_none"):
        rotate("webhooks", merchant.public_id, "mer_none")
    assert SigningSecret.objects.count() == 1


def test_a_key_of_receipts_that_leaked_is_withdrawn_once(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    kid = sign({}, KeyPurpose.RECEIPT, now=timezone.now()).kid
    key = SigningKey.objects.filter(kid=kid)
    assert "would be withdrawn" in rotate("receipts", kid, "--dry-run")
    assert key.filter(until=None).exists()
    assert "Put another key first in ENCRYPTION_KEYS" in rotate("receipts", kid)
    until = key.get().until
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert "Put another key first" not in rotate("receipts", kid)
    assert key.get().until == until
    assert AuditEntry.objects.get(action="signing_key.withdrawn").after == {"kid": kid}
    assert sign({}, KeyPurpose.RECEIPT, now=timezone.now()).kid != kid


def test_a_key_of_receipts_that_is_not_here_is_refused(settings: Any) -> None:
    with pytest.raises(CommandError, match="There is no key did:web:nowhere#r1"):
        rotate("receipts", "did:web:nowhere#r1")


def test_without_keys_there_is_nothing_to_rotate(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = []
    with pytest.raises(CommandError, match="ENCRYPTION_KEYS is empty"):
        rotate("status")
