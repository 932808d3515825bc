"""The quickstart's programs, each run against a live server, and its page read by a buyer in between."""

import os
import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.testmode.service import play_due_steps
from tests.contract.client import client_of
from tests.tree import ROOT

pytestmark = [pytest.mark.django_db(transaction=True)]

TEXT = (ROOT / "docs" / "guide" / "quickstart.md").read_text()
# What runs each language, and how its file is called.
RUNNERS = {
    "sh": (["sh"], "example.sh"),
    "python": ([sys.executable], "example.py"),
    "ts": (["node"], "example.mjs"),
    "php": (["php"], "example.php"),
    "go": (["go", "run"], "example.go"),
}


def programs(heading: str) -> dict[str, str]:
    """The programs below a heading by their language; of a shell's those that call the API."""
    part = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^```(\w+)\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
    return {language: code for language, code in found if "/api/v1/" in code}


CREATE, READ = programs("2. Create a checkout"), programs("4. Read the outcome")


def test_each_language_has_both_programs() -> None:
    assert list(CREATE) == list(READ) == list(RUNNERS)


@pytest.mark.parametrize("language", RUNNERS)
def test_a_checkout_is_created_paid_and_read(
    live_server: LiveServer,
    tmp_path: Path,
    language: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if shutil.which(RUNNERS[language][0][0]) is None:
        with capsys.disabled():
            # A worker's stdout belongs to pytest-xdist.
            sys.stderr.write(f"\nQuickstart in {language}: not run, not installed.\n")
        return
    key = client_of(mode=Mode.TEST).key
    assert key
    settings = {"BASE_URL": live_server.url, "TEST_KEY": key}
    created = run(language, CREATE[language], tmp_path, settings)
    checkout = Checkout.objects.get()
    assert checkout.public_id in created
    assert run(language, CREATE[language], tmp_path, settings) == created
    assert Checkout.objects.count() == 1
    play_due_steps(now=timezone.now() + timedelta(seconds=10))
    settings["CHECKOUT_ID"] = checkout.public_id
    assert "completed" in run(language, READ[language], tmp_path, settings)


def run(language: str, code: str, folder: Path, settings: dict[str, str]) -> str:
    command, name = RUNNERS[language]
    (folder / name).write_text(code)
    ran = subprocess.run(
        [*command, name],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
