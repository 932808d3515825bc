"""The quickstart's programs, each run against a live server with the client of its language, and its page read by a buyer in between."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.testmode import play_due_steps
from tests.clients.packages import LANGUAGES as CLIENTS
from tests.clients.packages import install
from tests.contract.client import client_of
from tests.guides import Program, is_installed, run, running

pytestmark = [pytest.mark.django_db(transaction=True)]

LANGUAGES = ["sh", "python", "ts", "php", "go"]
# Each language has two programs: one creates a checkout, the other reads it.
PROGRAMS = running("docs/guide/quickstart.md")
CREATE, READ = PROGRAMS[: len(LANGUAGES)], PROGRAMS[len(LANGUAGES) :]


NAMES = {"python": "python", "ts": "typescript", "php": "php"}
"""The languages that have a client, and its name."""


def with_client(language: str, folder: Path) -> dict[str, str]:
    """Install the client of a language in a folder, as the page says, if it has one; return the settings by which it is found."""
    if language not in NAMES:
        return {}
    (folder / "client").mkdir()
    package = install(NAMES[language], folder / "client")
    for name in ("node_modules", "vendor"):
        if (found := folder / "client" / "installed" / name).exists():
            (folder / name).symlink_to(found)
    return dict(package.environment)


def test_each_language_has_both_programs_and_each_client_is_used() -> None:
    assert set(NAMES.values()) == set(CLIENTS)
    for programs in (CREATE, READ):
        assert [each.language for each in programs] == LANGUAGES
        assert [
            each.language for each in programs if "lorin.checkouts." in each.code or "lorin->checkouts->" in each.code
        ] == [*NAMES]


@pytest.mark.parametrize(("create", "read"), list(zip(CREATE, READ, strict=True)), ids=LANGUAGES)
def test_a_checkout_is_created_paid_and_read(
    live_server: LiveServer, tmp_path: Path, create: Program, read: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    if not is_installed(create.language, capsys):
        return
    key = client_of(mode=Mode.TEST).key
    assert key
    settings = {"BASE_URL": live_server.url, "TEST_KEY": key} | with_client(create.language, tmp_path)
    created = run(create, tmp_path, settings)
    checkout = Checkout.objects.get()
    assert checkout.public_id in created
    assert run(create, tmp_path, settings) == created
    assert Checkout.objects.count() == 1
    play_due_steps(now=timezone.now() + timedelta(seconds=10))
    settings["CHECKOUT_ID"] = checkout.public_id
    assert "completed" in run(read, tmp_path, settings)
