"""The type of a text that is said later, in the language of its reader."""

from typing import TYPE_CHECKING, TypeAlias

from django.utils.functional import Promise

if TYPE_CHECKING:
    # Of the type stubs alone: a promise of a string.
    from django.utils.functional import _StrPromise

    Lazy: TypeAlias = _StrPromise
else:
    Lazy = Promise

Spoken: TypeAlias = str | Lazy
"""A text as it is, or one that is said later."""
