"""Texts that are said later, in the language of their reader: their type, and how the dashboard finds their words."""

from typing import TYPE_CHECKING, TypeAlias

from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext

if TYPE_CHECKING:
    # Of the type stubs alone: a promise of a string.
    from django.utils.functional import _StrPromise

    Lazy: TypeAlias = _StrPromise
else:
    Lazy = Promise

Spoken: TypeAlias = str | Lazy
"""A text as it is, or one that is said later."""


def pgettext_noop(context: str, message: str) -> str:
    """Return a message unchanged, and mark it for the catalogues. Django's `gettext_noop` takes no context."""
    return message


def team_words(message: str) -> str:
    """Return a marked message in the current language: the one of the context "team", else the one without a context.

    Buyers' catalogues come first, so a word that they have in another sense needs the context.
    """
    words = pgettext("team", message)
    return gettext(message) if words == message else words
