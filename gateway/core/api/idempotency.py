"""The header that lets a POST be repeated, and the one that says that an answer was given before."""

from typing import Final

HEADER: Final = "Idempotency-Key"
IN_META: Final = "HTTP_IDEMPOTENCY_KEY"
"""The header's name in a request's environment."""

REPLAYED: Final = "Idempotent-Replayed"
"""A response's header: `true` where the response is the one that the key got first."""

LONGEST: Final = 128
"""How many characters a key has at most."""
