"""A form field for one line of visible text."""

import unicodedata
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

# Joiners shape letters in Persian, Hindi and many more, and do not reorder text.
_JOINERS: Final = "\u200c\u200d"
_HIDDEN: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class LineField(forms.CharField):
    """One line without hidden characters or text-direction marks."""

    def clean(self, value: Any) -> str:
        """Return the trimmed line."""
        line: str = super().clean(value)
        if any(map(_is_hidden, line)):
            raise ValidationError(gettext("Use one line of visible characters."))
        return line


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN and character not in _JOINERS
