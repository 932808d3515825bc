"""Watching a wallet, changing its label and tags, giving it up."""

from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.states import Mode
from localnet.anvil import Anvil
from tests.dashboard.people import Desk
from tests.factories import WALLET, make_live_chain
from tests.nodes.answering import answering_code
from tests.wallets.dashboard.watched.test_pages_wallet_list import NEW, opened, shown
from tests.wallets.days import make_movement
from tests.wallets.watched_wallets import watch
from wallets.models import WatchedMovement, WatchedWallet

pytestmark = pytest.mark.django_db


def test_an_admin_has_a_wallet_watched(admin: Desk) -> None:
    answer = admin.post("dashboard_watch_wallet", NEW | {"tags": "eu, payroll\nEU"})
    wallet = WatchedWallet.objects.get()
    page = admin.client.get(answer["Location"])
    assert page.context["row"].id == wallet.public_id
    assert (wallet.address, wallet.label) == (WALLET, "Payroll")
    assert (wallet.tags, wallet.mode) == (["eu", "payroll"], Mode.LIVE)
    again = admin.post("dashboard_watch_wallet", NEW | {"label": "Other"})
    assert again["Location"] == answer["Location"]
    assert "watched already" in admin.client.get(again["Location"]).text
    entry = AuditEntry.objects.get(action="watched_wallet.added")
    assert (entry.actor, entry.address) == (admin.user, "127.0.0.1")


def test_a_watched_address_that_is_no_wallet_is_warned_of_and_watched_all_the_same(
    owner_by_factor: Desk, base_node: Anvil, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    make_live_chain("base")
    base_node.rpc("anvil_setCode", WALLET, answering_code({"313ce567": [18]}))
    answer = owner_by_factor.post("dashboard_watch_wallet", NEW)
    assert "is a token contract" in owner_by_factor.client.get(answer["Location"]).text
    assert WatchedWallet.objects.get().address == WALLET
    # A wallet, and one on a chain that is not read, are watched without a word.
    for address, chain in (("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", "base"), (WALLET, "polygon")):
        answer = owner_by_factor.post("dashboard_watch_wallet", NEW | {"address": address, "chain": chain})
        assert "Check that you meant" not in owner_by_factor.client.get(answer["Location"]).text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"address": WALLET[:-1]}, "The address must be 0x and 40"),
        ({"label": "x" * 81}, "at most 80"),
        ({"tags": "x" * 41}, "40 characters at most"),
    ],
)
def test_what_cannot_be_watched_is_said_beside_the_field(
    owner_by_factor: Desk, fields: dict[str, str], words: str
) -> None:
    answer = owner_by_factor.post("dashboard_watch_wallet", NEW | fields)
    assert answer.status_code == 422
    assert words in answer.text
    assert not WatchedWallet.objects.exists()


def test_a_label_and_tags_are_changed(owner_by_factor: Desk) -> None:
    wallet = watch(owner_by_factor.merchant, label="Payroll", tags=["eu", "us"])
    form = owner_by_factor.get("dashboard_edit_watched_wallet", wallet_id=wallet.public_id)
    assert "eu\nus" in form.text
    changed = {"label": " Wages ", "tags": "us"}
    owner_by_factor.post("dashboard_edit_watched_wallet", changed, wallet_id=wallet.public_id)
    wallet.refresh_from_db()
    assert (wallet.label, wallet.tags) == ("Wages", ["us"])
    assert AuditEntry.objects.get(action="watched_wallet.changed").actor == owner_by_factor.user


def test_a_wallet_is_given_up_and_its_movements_stay(owner_by_factor: Desk) -> None:
    wallet = watch(owner_by_factor.merchant)
    make_movement(wallet)
    owner_by_factor.post("dashboard_unwatch_wallet", wallet_id=wallet.public_id)
    assert shown(owner_by_factor) == []
    assert opened(owner_by_factor, wallet).status_code == 404
    assert WatchedMovement.objects.count() == 1
    assert AuditEntry.objects.get(action="watched_wallet.removed").actor == owner_by_factor.user
