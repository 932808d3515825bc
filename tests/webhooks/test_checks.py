"""Settings of webhooks that cannot be used are named before anything runs."""

from typing import Any

import pytest

from webhooks.checks import check_settings

pytestmark = pytest.mark.django_db


def test_development_needs_no_keys_to_start(settings: Any) -> None:
    settings.PRODUCTION, settings.ENCRYPTION_KEYS = False, []
    assert check_settings() == []


def test_production_refuses_loopback_and_missing_keys(settings: Any) -> None:
    settings.PRODUCTION, settings.ENCRYPTION_KEYS = True, []
    assert {problem.id for problem in check_settings()} == {"webhooks.E001", "webhooks.E002"}


def test_a_sound_production_passes(settings: Any) -> None:
    settings.PRODUCTION, settings.WEBHOOK_ALLOW_LOOPBACK = True, False
    assert check_settings() == []
