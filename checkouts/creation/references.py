"""The merchant's three references: from the request's top level, or from its metadata."""

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.fields import check_characters, is_blank, refuse, text_in
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


def reference_of(body: Mapping[str, Any], metadata: Any, reference: str) -> str:
    """Return a request's reference, or "": the top-level one wins over the metadata's. Raises InvalidRequestError.

    An order_ref of blanks is refused, because it would make strangers' orders one checkout. Other references of blanks are
    ignored: two of them would make strangers interchangeable.
    """
    given = text_in(body, reference, MAX_LENGTH)
    if given and is_blank(given):
        if reference == "order_ref":
            raise refuse(reference, "order_ref must not be blank.")
        given = ""
    return given or (reference_in(metadata, reference) if isinstance(metadata, dict) else "")


def reference_in(metadata: Mapping[str, Any], reference: str) -> str:
    """Return the first usable value of `reference` in `metadata`, or "".

    A value that is too long, blank, or neither string nor number is skipped, never refused.
    """
    return next(_usable_values(metadata, reference), "")


def _usable_values(metadata: Mapping[str, Any], reference: str) -> Iterator[str]:
    for key in _SPELLINGS[reference]:
        value = metadata.get(key)
        text = value if isinstance(value, str) else number_text(value)
        if text and len(text) <= MAX_LENGTH and _is_usable(text):
            yield text


def _is_usable(text: str) -> bool:
    try:
        check_characters(text, "")
    except InvalidRequestError:
        return False
    return not is_blank(text)
