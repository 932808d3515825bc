"""The code of release 0.25.0 does all its work on the schema of today, before an upgrade ends and after a rollback."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import pytest
from standardwebhooks import Webhook

from tests.deploy.releases import OWNER, PASSWORD, Release, Shop, export, fresh_secrets
from tests.template_database import another_copy
from tests.tree import ROOT
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver, receiving

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

OLD: Final = "0.25.0"
WORK: Final = """
from datetime import timedelta
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone
try:
    from checkouts.testmode import play_due_steps
except ImportError:  # where the older release has it
    from checkouts.testmode.service import play_due_steps
try:
    from settlements.gas.ledger import forget_nonces
except ImportError:
    from settlements.gas.ledger import forget_numbers as forget_nonces
from settlements.models import GasAccount
from settlements.selectors import gas_health

play_due_steps(now=timezone.now() + timedelta(seconds=10))
# What the tables that changed since are used for.
GasAccount.objects.get_or_create(chain="base", address="0x" + "7" * 40)
with transaction.atomic():
    GasAccount.objects.select_for_update().get().save()
assert (forget_nonces(), len(gas_health())) == (1, 1)
call_command("check_totals")
call_command("verify_audit")
"""


@pytest.fixture(scope="module")
def old_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source tree of the old release."""
    return export(OLD, tmp_path_factory.mktemp("old"))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def database_url(django_db_setup: None) -> Iterator[str]:
    """A database of today's schema, of its own."""
    with another_copy("releases") as url:
        yield url


def smoke(release: Release, shop: Shop, receiver: Receiver, earlier: Sequence[str] = ()) -> str:
    """Let a release do each kind of its work once, and read `earlier` checkouts; return the id of one that was paid."""
    with release.serving() as client:
        created = create(client, shop)
        choose(client, created["checkout_url"])
        release.shell(WORK)
        for public_id in (*earlier, created["id"]):
            assert ask(client, shop, f"/{public_id}")["status"] == "completed"
        listed = [one["id"] for one in ask(client, shop, "")["data"]]
        assert listed == [created["id"], *reversed(earlier)]
        log_in(client)
    await_webhook(release, shop, receiver, created["id"])
    return created["id"]


def create(client: httpx.Client, shop: Shop) -> dict[str, str]:
    answer = client.post(
        "/api/v1/checkouts",
        json={"amount": "25.00", "currency": "USD"},
        headers={"Authorization": f"Bearer {shop.test_key}"},
    )
    assert answer.status_code == 201, answer.text
    found: dict[str, str] = answer.json()
    return found


def ask(client: httpx.Client, shop: Shop, path: str) -> dict[str, Any]:
    answer = client.get(f"/api/v1/checkouts{path}", headers={"Authorization": f"Bearer {shop.test_key}"})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def choose(client: httpx.Client, checkout_url: str) -> None:
    """Choose an exact amount, as a buyer does on the page."""
    page = httpx.URL(checkout_url).path
    assert client.get(page).status_code == 200
    form = {"chain": "ethereum", "token": "USDC"}
    chosen = client.post(f"{page}/choose", data=form)
    assert (chosen.status_code, chosen.headers["location"][:3]) == (303, "/c/")
    assert client.get(chosen.headers["location"]).status_code == 200


def log_in(client: httpx.Client) -> None:
    form = client.get("/account/login/").text
    [token] = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', form)) or [""]
    answer = client.post(
        "/account/login/",
        data={"login": OWNER, "password": PASSWORD, "csrfmiddlewaretoken": token},
        headers={"Referer": str(client.base_url)},
    )
    assert answer.status_code == 302, answer.text
    page = client.get("/dashboard/", follow_redirects=True)
    assert page.status_code == 200
    assert "/account/login" not in str(page.url)


def await_webhook(release: Release, shop: Shop, receiver: Receiver, public_id: str) -> None:
    """Let the release's sender deliver, and check what arrives as a merchant does."""
    sender = release.start("manage.py", "run_sender")
    try:
        wanted = b'"checkout.completed"'
        wait_until(lambda: any(wanted in got.body and public_id.encode() in got.body for got in receiver.got))
    finally:
        sender.end()
    for got in receiver.got:
        headers = {name.lower(): value for name, value in got.headers.items()}
        Webhook(shop.webhook_secret).verify(got.body, headers)


def test_releases_take_turns_on_one_database(old_code: Path, database_url: str, receiver: Receiver) -> None:
    """Beside today's processes, and again after a rollback."""
    settings = fresh_secrets()
    new = Release(ROOT, database_url, **settings)
    old = Release(old_code, database_url, **settings)
    assert f'version = "{OLD}"' in (old_code / "pyproject.toml").read_text()
    shop = old.open_shop(receiver.url)
    paid: list[str] = []
    for release in (old, new, old):
        paid.append(smoke(release, shop, receiver, paid))


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE settlements_gasaccount DROP COLUMN low_told_at",
        "ALTER TABLE checkouts_checkout ADD COLUMN size integer NOT NULL",
    ],
    ids=["contracted too early", "expanded without a default"],
)
def test_a_schema_that_the_old_release_cannot_stand_is_found(
    change: str, old_code: Path, database_url: str, receiver: Receiver
) -> None:
    old = Release(old_code, database_url, **fresh_secrets())
    shop = old.open_shop(receiver.url)
    with psycopg.connect(database_url) as database:
        database.execute(change)
    with pytest.raises(AssertionError, match=r"api_error|does not exist"):
        smoke(old, shop, receiver)
