"""System checks of the installation as a whole, with ids that operators can look up."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

MOST_KEY_CACHE_SECONDS = 5


@register()
def revocation_is_prompt(**_: Any) -> list[CheckMessage]:
    """A revoked key is refused everywhere within five seconds; that is promised to merchants."""
    if settings.API_KEY_CACHE_SECONDS <= MOST_KEY_CACHE_SECONDS:
        return []
    return [
        Error(
            "API_KEY_CACHE_SECONDS is more than five.",
            hint="A revoked key would work for longer than merchants are promised.",
            id="gateway.E001",
        )
    ]
