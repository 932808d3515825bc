"""Creates the demo merchant, with everything needed to try Florin."""

import secrets
from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import urljoin

from django.db.models import Q

from accounts.audit.actors import Actor
from accounts.brand.service import change_branding
from accounts.keys.scopes import PRESETS
from accounts.keys.service import Powers, change_api_key, create_api_key, digest_of, powers_of
from accounts.login.people import create_person
from accounts.merchants.service import BUYERS_MAY_RETRY, MAILS_RECEIPTS, create_merchant, turn
from accounts.models import ApiKey, Branding, Membership, Merchant, User
from accounts.states import Mode, Preset, Role
from demo.families import DEMO_CHAINS, DEMO_FAMILIES
from demo.nodes.solana_accounts import MACHINE_CHAIN, MACHINE_WALLET
from demo.settings_file import Credentials
from demo.shop.logo import GREEN, shop_logo
from gateway.core.api.scopes import Scope
from wallets.receiving.service import set_machine_wallet, set_receiving_wallet
from webhooks.endpoints.secrets import ensure_secret
from webhooks.endpoints.service import set_default_url

OWNER_EMAIL = "owner@demo.example"
MERCHANT_NAME = "The Corner Shop"
KEY_SCOPES: Final = (*PRESETS[Preset.EVERYTHING], Scope.PAYOUTS_READ, Scope.PAYOUTS_REQUEST)
"""What the shop's keys may do: all that any key could before keys had scopes, and ask for refunds."""
RECEIVING_WALLETS = {facts.name: DEMO_FAMILIES[facts.family.name].receiving_wallet for facts in DEMO_CHAINS}


def seed_demo(*, kept: Credentials | None, webhook_url: str, now: datetime) -> Credentials:
    """Make what is missing of the demo merchant; returns its valid credentials.

    What `kept` says stays as it is where the database still honours it, so that keys
    noted down at the first start work at the next.
    """
    owner, password = _owner(kept)
    merchant = _merchant(owner, now)
    turn(merchant, BUYERS_MAY_RETRY, to=True, now=now)
    turn(merchant, MAILS_RECEIPTS, to=True, now=now)
    _brand(merchant, urljoin(webhook_url, "/"), now)
    for chain, address in RECEIVING_WALLETS.items():
        set_receiving_wallet(merchant, chain=chain, address=address, now=now)
    set_machine_wallet(merchant, chain=MACHINE_CHAIN, address=MACHINE_WALLET, actor=Actor(owner), now=now)
    return Credentials(
        owner_email=owner.email,
        owner_password=password,
        live_key=_key(merchant, Mode.LIVE, kept.live_key if kept else "", owner, now),
        test_key=_key(merchant, Mode.TEST, kept.test_key if kept else "", owner, now),
        webhook_secret=_webhooks(merchant, webhook_url, now),
    )


def _owner(kept: Credentials | None) -> tuple[User, str]:
    user = User.objects.filter(email=OWNER_EMAIL).first()
    if user and kept and user.check_password(kept.owner_password):
        return user, kept.owner_password
    password = secrets.token_urlsafe(12)
    if user is None:
        return create_person(OWNER_EMAIL, password, name="Demo"), password
    user.set_password(password)
    user.save(update_fields=["password"])
    return user, password


def _merchant(owner: User, now: datetime) -> Merchant:
    owned = Membership.objects.filter(user=owner, role=Role.OWNER)
    membership = owned.select_related("merchant").first()
    if membership:
        return membership.merchant
    return create_merchant(name=MERCHANT_NAME, actor=Actor(owner), now=now)


def _brand(merchant: Merchant, shop_url: str, now: datetime) -> None:
    """Set the branding once; later changes by the user are kept."""
    if Branding.objects.filter(merchant=merchant).exists():
        return
    change_branding(
        merchant,
        changes={
            "logo": shop_logo(),
            "accent": GREEN,
            "support_url": f"{shop_url}#help",
            "terms_url": f"{shop_url}#terms",
            "return_label": "Back to the Corner Shop",
        },
        now=now,
    )


def _key(merchant: Merchant, mode: Mode, kept: str, owner: User, now: datetime) -> str:
    valid = ApiKey.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=now), merchant=merchant, mode=mode, revoked_at=None
    )
    found = valid.filter(digest=digest_of(kept)).first() if kept else None
    if found is None:
        return create_api_key(merchant, mode=mode, name="Demo", powers=Powers(KEY_SCOPES), now=now)[1]
    if found.preset == Preset.EVERYTHING:
        # As an earlier demo made it; what a person chose since stays.
        powers = replace(powers_of(found), scopes=KEY_SCOPES, preset=Preset.CUSTOM)
        change_api_key(found, name=found.name, powers=powers, may_widen=True, now=now, actor=Actor(owner))
    return kept


def _webhooks(merchant: Merchant, url: str, now: datetime) -> str:
    for mode in Mode:
        set_default_url(merchant, mode=mode, url=url, now=now)
    return ensure_secret(merchant, now=now)
