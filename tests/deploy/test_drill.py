"""What a nightly job does: back up the demo's data, restore it elsewhere, and run the product's own checks on it.

`script/drill` runs this alone.
"""

import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from cryptography.fernet import Fernet

from tests.deploy.florinctl import florinctl, server

pytestmark = [pytest.mark.faults, pytest.mark.slow]

# What a process of the release does for its merchant.
_OWE: Final = """
from decimal import Decimal
from django.utils import timezone
from accounts.models import Merchant
from accounts.states import Mode
from payouts.lifecycle.service import Terms, request_payout
terms = Terms(chain="base", token="USDC", address="0x976EA74026E726554dB657fA54763abd0C3a0aa9", reference="wage-1")
request_payout(Merchant.objects.first(), mode=Mode.LIVE, amount=Decimal(5), terms=terms, now=timezone.now())
"""


def recipients(folder: Path) -> dict[str, str]:
    """Two keys for the two archives; none where age is missing, which is said."""
    if shutil.which("age") is None:
        sys.stderr.write("age is not installed: the drill goes without encryption\n")
        return {}
    found = {}
    for name in ("BACKUP_RECIPIENT", "BACKUP_KEYS_RECIPIENT"):
        file = folder / name
        subprocess.run(["age-keygen", "-o", file], check=True, capture_output=True)
        told = subprocess.run(["age-keygen", "-y", file], check=True, capture_output=True, text=True)
        found[name] = told.stdout.strip()
    return found


def test_the_demos_data_comes_back_and_passes_every_check(tmp_path: Path) -> None:
    keys = recipients(tmp_path)
    with server() as ours:
        settings = ours.settings(
            ENCRYPTION_KEYS=Fernet.generate_key().decode(),
            FLORIN_ENV="development",
            WEBHOOK_ALLOW_LOOPBACK="true",
            **keys,
        )
        plain = not keys
        identity = tmp_path / "BACKUP_RECIPIENT" if keys else None
        demo = ("seed_demo", str(tmp_path / "demo.json"), "http://127.0.0.1:9/hook")
        florinctl.manage(settings, "migrate", "--noinput", database=ours.url)
        full = florinctl.back_up(settings, full=True, plain=plain)
        florinctl.manage(settings, *demo, database=ours.url)
        florinctl.manage(settings, "shell", "-c", _OWE, database=ours.url)
        lost_from = datetime.now(UTC).isoformat()
        later = florinctl.back_up(settings, full=False, plain=plain)
        assert (full.kind, later.kind) == ("full", "incremental")
        merchants = int(ours.sql("SELECT count(*) FROM accounts_merchant"))
        assert merchants > 0
        place = ours.home / "restored"
        vault = florinctl.Vault(None, identity, florinctl.seal_of(settings))
        florinctl.restore(settings, place, at=None, vault=vault)
        with florinctl.running(settings, ours.postgres, place / "data") as url:
            counted = florinctl.ask(ours.postgres, url, "SELECT count(*) FROM accounts_merchant")
            table = florinctl.manage(settings, "after_restore", "--lost-from", lost_from, database=url)
        assert int(counted) == merchants
        # The payout that was in flight is in the closing table of the restored server.
        [line] = [line for line in table.splitlines() if " 5.000000 USDC base 0x976EA" in line]
        assert line.endswith("no payment found, waits for approval")
        checks = florinctl.PRODUCT_CHECKS
        took = florinctl.drill(settings, vault=vault, checks=checks)
        sys.stderr.write(f"The demo's data was restored and checked in {took:.1f} s.\n")
        assert florinctl.read_status(settings)["drill_seconds"] == took
