"""`check --deploy` refuses what must not go live."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.checks import run_checks
from django.db import migrations

from gateway.checks import (
    encryption_keys_are_keys,
    late_money_meets_no_stranger,
    migrations_have_stages,
    revocation_is_prompt,
)

GOOD_KEY = "".join(f"{number:x}k-" for number in range(60))


@pytest.fixture(autouse=True)
def production(settings: Any) -> None:
    """Settings that none of these checks complains of."""
    settings.ALLOWED_HOSTS = ["pay.example"]
    settings.TRUSTED_PROXIES = ["10.0.0.0/8", "fd00::1"]
    settings.EMAIL_HOST = "mail.example"
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = GOOD_KEY, []
    settings.BASE_URL = settings.CHECKOUT_HOST = "https://pay.example"
    settings.METRICS_TOKEN = "m" * 20


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
        ("TRUSTED_PROXIES", ["::ffff:0:0/96"], "gateway.E004"),
        ("TRUSTED_PROXIES", ["everybody"], "gateway.E004"),
        ("EMAIL_HOST", "", "gateway.E005"),
        ("SECRET_KEY", "development-only", "gateway.E006"),
        ("SECRET_KEY", f"django-insecure-{GOOD_KEY}", "gateway.E006"),
        ("SECRET_KEY_FALLBACKS", ["development-only"], "gateway.E006"),
        ("BASE_URL", "http://pay.example", "gateway.E008"),
        ("CHECKOUT_HOST", "http://pay.example:8000", "gateway.E008"),
        ("STREAM_URL", "http://live.pay.example", "gateway.E008"),
        ("METRICS_TOKEN", "guess me", "gateway.E010"),
        ("DATABASE_URL", "", "gateway.E011"),
        ("REDIS_URL", "", "gateway.E011"),
    ],
)
def test_what_must_not_go_live_is_an_error(settings: Any, name: str, value: object, error: str) -> None:
    setattr(settings, name, value)
    assert errors() == {error}
    assert errors(deploy=False) == set()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BASE_URL", "http://127.0.0.1:8000"),
        ("LINK_HOST", "http://localhost"),
        ("STREAM_URL", ""),
        ("METRICS_TOKEN", ""),
    ],
)
def test_what_is_reached_from_here_alone_or_is_off_may_go_live(settings: Any, name: str, value: str) -> None:
    setattr(settings, name, value)
    assert errors() == set()


def test_a_key_that_cannot_encrypt_is_named_by_its_place(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), "short", ""]
    told = [str(problem.msg) for problem in encryption_keys_are_keys()]
    assert told == ["Key 2 of ENCRYPTION_KEYS cannot be used.", "Key 3 of ENCRYPTION_KEYS cannot be used."]


def test_a_migration_without_a_stage_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert migrations_have_stages() == []
    unmarked = migrations.Migration("0002_change", "wallets")
    monkeypatch.setattr("gateway.checks.our_migrations", lambda: [unmarked])
    [problem] = migrations_have_stages()
    assert problem.id == "gateway.E007"
    assert str(problem.msg).startswith("wallets.0002_change has no stage")


pytestmark = pytest.mark.django_db


def test_a_key_may_not_be_remembered_longer_than_promised(settings):
    settings.API_KEY_CACHE_SECONDS = 6.0
    assert [problem.id for problem in revocation_is_prompt()] == ["gateway.E001"]
    settings.API_KEY_CACHE_SECONDS = 5.0
    assert revocation_is_prompt() == []


@pytest.mark.parametrize(
    ("short", "usual", "problems"), [(24, 72, []), (24, 24, []), (23, 72, ["gateway.E002"]), (48, 47, ["gateway.E002"])]
)
def test_an_exact_amount_is_held_for_a_day_at_least(settings: Any, short: int, usual: int, problems: list[str]) -> None:
    settings.EXACT_AMOUNT_SHORT_HOLD_HOURS = short
    settings.EXACT_AMOUNT_HOLD_HOURS = usual
    assert [problem.id for problem in late_money_meets_no_stranger()] == problems
