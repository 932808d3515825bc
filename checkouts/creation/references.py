"""The merchant's three references: from the request's top level, or from its metadata."""

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.core.api.fields import storable
from gateway.core.json import number_text

MAX_LENGTH = 128
# Tried in this order; each name also in camelCase.
METADATA_KEYS = {
    "customer_ref": ("customer_ref", "user_id"),
    "product_ref": ("product_ref", "package_code"),
    "order_ref": ("order_ref", "reference_id", "order_id"),
}


def camel_case(name: str) -> str:
    """Return `user_id` as `userId`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_SPELLINGS = {
    reference: tuple(spelling for key in keys for spelling in (key, camel_case(key)))
    for reference, keys in METADATA_KEYS.items()
}


def reference_in(metadata: Mapping[str, Any], reference: str) -> str:
    """Return the first usable value of `reference` in `metadata`, or "".

    A value that is too long, empty, or neither string nor number is skipped, never refused.
    """
    return next(_usable_values(metadata, reference), "")


def _usable_values(metadata: Mapping[str, Any], reference: str) -> Iterator[str]:
    for key in _SPELLINGS[reference]:
        value = metadata.get(key)
        text = value if isinstance(value, str) else number_text(value)
        if text and len(text) <= MAX_LENGTH and storable(text):
            yield text
