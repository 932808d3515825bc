"""What other rooms may ask of the webhooks: tell an event, set where events go, try again."""

from webhooks.services.deliveries import retry, retry_range
from webhooks.services.endpoints import (
    disable_endpoint,
    enable_endpoint,
    set_default_url,
    tell_owners,
)
from webhooks.services.events import BELL, NewEvent, publish
from webhooks.services.retention import prune_attempts
from webhooks.services.samples import send_sample
from webhooks.services.secrets import (
    ensure_secret,
    roll_secret,
    secrets_of,
    show_secret,
)

__all__ = [
    "BELL",
    "NewEvent",
    "disable_endpoint",
    "enable_endpoint",
    "ensure_secret",
    "prune_attempts",
    "publish",
    "retry",
    "retry_range",
    "roll_secret",
    "secrets_of",
    "send_sample",
    "set_default_url",
    "show_secret",
    "tell_owners",
]
