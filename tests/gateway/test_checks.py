"""`check --deploy` refuses what must not go live."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.checks import run_checks

from gateway.checks import late_money_meets_no_stranger, revocation_is_prompt

GOOD_KEY = "".join(f"{number:x}k-" for number in range(60))

GOOD_FERNET = Fernet.generate_key().decode()


@pytest.fixture(autouse=True)
def production(settings: Any) -> None:
    """Settings that none of these checks complains of."""
    settings.ALLOWED_HOSTS = ["pay.example"]
    settings.TRUSTED_PROXIES = ["10.0.0.0/8", "fd00::1"]
    settings.EMAIL_HOST = "mail.example"
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = GOOD_KEY, []
    settings.BASE_URL = settings.CHECKOUT_HOST = "https://pay.example"
    settings.LINK_HOST = "https://links.example"
    settings.ENCRYPTION_KEYS = [GOOD_FERNET]
    settings.METRICS_TOKEN = ""


def errors(*, deploy: bool = True) -> set[str]:
    """The ids of the installation's own errors."""
    found = run_checks(tags=["deployment"], include_deployment_checks=deploy)
    return {str(message.id) for message in found if message.is_serious()}


def test_a_careful_installation_passes() -> None:
    assert errors() == set()


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("ALLOWED_HOSTS", ["*"], "gateway.E003"),
        ("ALLOWED_HOSTS", ["pay.example", "*"], "gateway.E003"),
        ("TRUSTED_PROXIES", ["0.0.0.0/0"], "gateway.E004"),
        ("TRUSTED_PROXIES", ["10.0.0.1", "::/0"], "gateway.E004"),
        ("TRUSTED_PROXIES", ["0.0.0.0/1", "128.0.0.0/1"], "gateway.E004"),
        ("TRUSTED_PROXIES", ["everybody"], "gateway.E004"),
        ("EMAIL_HOST", "", "gateway.E005"),
        ("SECRET_KEY", "development-only", "gateway.E006"),
        ("SECRET_KEY", f"django-insecure-{GOOD_KEY}", "gateway.E006"),
        ("SECRET_KEY_FALLBACKS", ["development-only"], "gateway.E006"),
        ("BASE_URL", "http://pay.example", "gateway.E007"),
        ("LINK_HOST", "http://links.example", "gateway.E007"),
        ("ENCRYPTION_KEYS", [GOOD_FERNET, "short"], "gateway.E008"),
        ("METRICS_TOKEN", "metrics", "gateway.E009"),
    ],
)
def test_what_must_not_go_live_is_an_error(
    settings: Any, name: str, value: object, error: str
) -> None:
    setattr(settings, name, value)
    assert errors() == {error}
    assert errors(deploy=False) == set()


pytestmark = pytest.mark.django_db


def test_a_key_may_not_be_remembered_longer_than_promised(settings):
    settings.API_KEY_CACHE_SECONDS = 6.0
    assert [problem.id for problem in revocation_is_prompt()] == ["gateway.E001"]
    settings.API_KEY_CACHE_SECONDS = 5.0
    assert revocation_is_prompt() == []


@pytest.mark.parametrize(
    ("short", "usual", "problems"),
    [
        (24, 72, []),
        (24, 24, []),
        (23, 72, ["gateway.E002"]),
        (48, 47, ["gateway.E002"]),
    ],
)
def test_an_exact_amount_is_held_for_a_day_at_least(
    settings: Any, short: int, usual: int, problems: list[str]
) -> None:
    settings.EXACT_AMOUNT_SHORT_HOLD_HOURS = short
    settings.EXACT_AMOUNT_HOLD_HOURS = usual
    assert [problem.id for problem in late_money_meets_no_stranger()] == problems
