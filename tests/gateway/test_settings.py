"""What settings of production mean for logins and for prices, read by a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.rates.test_sources import DEFAULT
from tests.tree import ROOT

# A process of its own takes seconds to read them: one worker starts it for all of them.
pytestmark = pytest.mark.xdist_group("settings")

READ = """
import json, django
django.setup()
from django.conf import settings as s
from django.core.management import call_command
call_command("check", deploy=True, fail_level="WARNING")
names = ["SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE",
         "SESSION_COOKIE_HTTPONLY", "SESSION_COOKIE_SAMESITE", "SESSION_COOKIE_DOMAIN", "SIGNUP_OPEN",
         "MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN", "RATE_SOURCES"]
print(json.dumps({name: getattr(s, name) for name in names}))
"""


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Settings of a production installation that passes every check of Django's and ours without a warning."""
    var = tmp_path_factory.mktemp("var")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "gateway.settings",
        "FLORIN_VAR": str(var),
        "SECRET_KEY": "".join(f"{number:x}k-" for number in range(60)),
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "BASE_URL": "https://pay.example",
        "ALLOWED_HOSTS": "pay.example",
        "EMAIL_HOST": "mail.example",
        "DATABASE_URL": os.environ["DATABASE_URL"],
        "REDIS_URL": os.environ["REDIS_URL"],
        "PRICE_CURRENCIES": "EUR,BRL,JPY",
    }
    Path(var / "static").mkdir()
    ran = subprocess.run([sys.executable, "-c", READ], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    values: dict[str, object] = json.loads(ran.stdout.splitlines()[-1])
    return values


def test_cookies_cannot_be_set_by_anybody_else_or_travel_in_the_clear(production: dict[str, object]) -> None:
    assert production["SESSION_COOKIE_NAME"] == "__Host-florin-session"
    assert production["CSRF_COOKIE_NAME"] == "__Host-florin-csrf"
    assert production["SESSION_COOKIE_SECURE"] is production["CSRF_COOKIE_SECURE"]
    assert production["SESSION_COOKIE_SECURE"] is True
    assert production["SESSION_COOKIE_HTTPONLY"] is True
    assert production["SESSION_COOKIE_SAMESITE"] == "Lax"
    assert production["SESSION_COOKIE_DOMAIN"] is None


def test_signup_is_closed_and_passkeys_want_https(production: dict[str, object]) -> None:
    assert production["SIGNUP_OPEN"] is False
    assert production["MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN"] is False


def test_prices_come_from_sources_that_confirm_each_other_unless_others_are_named(
    production: dict[str, object],
) -> None:
    assert production["RATE_SOURCES"] == [*DEFAULT]
