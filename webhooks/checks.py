"""System checks of webhook settings, at start-up."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error


def check_settings(**_: Any) -> list[CheckMessage]:
    """Check what webhooks need of the settings."""
    problems: list[CheckMessage] = []
    if settings.PRODUCTION and settings.WEBHOOK_ALLOW_LOOPBACK:
        problems.append(
            Error(
                "WEBHOOK_ALLOW_LOOPBACK is on in production.",
                hint="It lets a merchant make this server call itself. Unset it.",
                id="webhooks.E001",
            )
        )
    if settings.PRODUCTION and not settings.ENCRYPTION_KEYS:
        problems.append(
            Error(
                "ENCRYPTION_KEYS is empty.",
                hint="Webhook secrets rest encrypted. Set one or more Fernet keys, the newest first.",
                id="webhooks.E002",
            )
        )
    return problems
