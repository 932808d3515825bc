"""The quickstart's programs, each run against a live server, and its page read by a buyer in between."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.testmode import play_due_steps
from tests.contract.client import client_of
from tests.guides import Program, is_installed, run, running

pytestmark = [pytest.mark.django_db(transaction=True)]

LANGUAGES = ["sh", "python", "ts", "php", "go"]
# Each language has two programs: one creates a checkout, the other reads it.
PROGRAMS = running("docs/guide/quickstart.md")
CREATE, READ = PROGRAMS[: len(LANGUAGES)], PROGRAMS[len(LANGUAGES) :]


def test_each_language_has_both_programs() -> None:
    for programs in (CREATE, READ):
        assert [each.language for each in programs] == LANGUAGES


@pytest.mark.parametrize(("create", "read"), list(zip(CREATE, READ, strict=True)), ids=LANGUAGES)
def test_a_checkout_is_created_paid_and_read(
    live_server: LiveServer, tmp_path: Path, create: Program, read: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    if not is_installed(create.language, capsys):
        return
    key = client_of(mode=Mode.TEST).key
    assert key
    settings = {"BASE_URL": live_server.url, "TEST_KEY": key}
    created = run(create, tmp_path, settings)
    checkout = Checkout.objects.get()
    assert checkout.public_id in created
    assert run(create, tmp_path, settings) == created
    assert Checkout.objects.count() == 1
    play_due_steps(now=timezone.now() + timedelta(seconds=10))
    settings["CHECKOUT_ID"] = checkout.public_id
    assert "completed" in run(read, tmp_path, settings)
