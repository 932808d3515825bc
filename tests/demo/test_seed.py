"""The demo merchant in the database."""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from accounts.brand.service import change_branding
from accounts.keys.service import digest_of, revoke_api_key
from accounts.models import ApiKey, AuditEntry, Branding, Membership, Merchant, User
from accounts.states import SCOPES_OF_0_25, Mode, Preset, Role
from demo.families import DEMO_CHAINS
from demo.seed import seed_demo
from demo.settings_file import Credentials
from gateway.core.api.scopes import Scope
from tests.webhooks.factories import secrets_of
from wallets.models import ReceivingWallet
from webhooks.models import Endpoint

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
WEBHOOK = "http://127.0.0.1:8001/webhook"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def development(settings: Settings) -> None:
    settings.WEBHOOK_ALLOW_LOOPBACK = True
    settings.PRODUCTION = False


def seed(kept: Credentials | None = None, webhook_url: str = WEBHOOK) -> Credentials:
    return seed_demo(kept=kept, webhook_url=webhook_url, now=NOON)


def test_the_merchant_has_an_owner_keys_wallets_and_webhooks() -> None:
    made = seed()
    merchant = Merchant.objects.get()
    owner = Membership.objects.get(merchant=merchant, role=Role.OWNER).user
    assert owner.check_password(made.owner_password)
    for mode, key in {Mode.LIVE: made.live_key, Mode.TEST: made.test_key}.items():
        assert ApiKey.objects.get(mode=mode).digest == digest_of(key)
        assert Endpoint.objects.get(mode=mode, is_default=True).url == WEBHOOK
    chains = ReceivingWallet.objects.values_list("chain", flat=True)
    assert set(chains) == {facts.name for facts in DEMO_CHAINS}
    assert secrets_of(merchant, now=NOON) == [made.webhook_secret]


def test_seeding_again_changes_nothing() -> None:
    made = seed()
    assert seed(made) == made
    assert (Merchant.objects.count(), User.objects.count()) == (1, 1)
    # Six for buyers, and one for machines.
    assert (ApiKey.objects.count(), ReceivingWallet.objects.count()) == (2, 7)


def test_credentials_that_were_lost_are_made_anew_for_the_same_merchant() -> None:
    lost, made = seed(), seed(None)
    assert Merchant.objects.count() == 1
    assert made.live_key != lost.live_key
    assert User.objects.get().check_password(made.owner_password)


def test_a_kept_key_that_was_revoked_is_replaced() -> None:
    made = seed()
    revoke_api_key(ApiKey.objects.get(mode=Mode.LIVE), now=NOON)
    again = seed(made)
    assert again.live_key != made.live_key
    assert again.test_key == made.test_key


def test_its_keys_ask_for_refunds() -> None:
    seed()
    for key in ApiKey.objects.all():
        assert {Scope.PAYOUTS_READ, Scope.PAYOUTS_REQUEST, *SCOPES_OF_0_25} == set(key.scopes)


def test_a_kept_key_of_an_earlier_demo_asks_for_refunds_from_then_on() -> None:
    made = seed()
    ApiKey.objects.update(scopes=list(SCOPES_OF_0_25), preset=Preset.EVERYTHING)
    assert seed(made) == made
    for key in ApiKey.objects.all():
        assert {Scope.PAYOUTS_READ, Scope.PAYOUTS_REQUEST, *SCOPES_OF_0_25} == set(key.scopes)
    assert AuditEntry.objects.filter(action="api_key.changed").count() == 2
    seed(made)
    assert AuditEntry.objects.filter(action="api_key.changed").count() == 2


def test_a_kept_key_that_a_person_narrowed_stays_narrow() -> None:
    made = seed()
    ApiKey.objects.update(scopes=[Scope.CHECKOUTS_READ], preset=Preset.CUSTOM)
    assert seed(made) == made
    assert [key.scopes for key in ApiKey.objects.all()] == [[Scope.CHECKOUTS_READ]] * 2


def test_a_kept_key_that_expired_is_replaced() -> None:
    made = seed()
    ApiKey.objects.filter(mode=Mode.LIVE).update(expires_at=NOON, preset=Preset.EVERYTHING)
    ApiKey.objects.filter(mode=Mode.TEST).update(expires_at=NOON + timedelta(seconds=1))
    again = seed(made)
    assert again.live_key != made.live_key
    assert again.test_key == made.test_key


def test_credentials_of_another_database_are_not_believed() -> None:
    stranger = Credentials("owner@demo.example", "x", "sk_live_x", "sk_test_x", "x")
    made = seed(stranger)
    assert made.live_key != stranger.live_key
    assert User.objects.get().check_password(made.owner_password)


def test_a_demo_on_another_port_moves_the_webhooks() -> None:
    made = seed()
    elsewhere = "http://127.0.0.1:9001/webhook"
    seed(made, elsewhere)
    defaults = Endpoint.objects.filter(is_default=True).values_list("url", flat=True)
    assert set(defaults) == {elsewhere}


def test_the_shops_pages_are_branded_once_and_stay_as_somebody_changed_them() -> None:
    made = seed()
    merchant = Merchant.objects.get()
    branding = merchant.branding
    assert branding.logo_digest
    assert branding.accent == "#0b6e4f"
    assert branding.support_url == "http://127.0.0.1:8001/#help"
    change_branding(merchant, changes={"accent": "#112233"}, now=NOON)
    seed(made)
    assert Branding.objects.get().accent == "#112233"
