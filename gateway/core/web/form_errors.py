"""Shows API errors on a form: at the field, and with the field's label."""

import re
from decimal import Decimal
from typing import Final

from django import forms
from django.utils.translation import get_language, pgettext

from gateway.core.api.errors import GatewayError, InvalidRequestError
from gateway.core.money import readable
from gateway.core.texts import pgettext_noop, team_words

# A list item: `suggested_amounts.2`.
_ITEM: Final = r"(?:\.[0-9]+)*"
# An amount without thousands separators, as the API writes it.
_AMOUNT: Final = re.compile(r"\b[0-9]{4,15}\.[0-9]{2}\b", re.ASCII)


def add_refusal(form: forms.BaseForm, error: GatewayError) -> None:
    """Add an API error to the form field that it names, or to the form if it has no such field."""
    name = (error.param or "").partition(".")[0]
    where = name if name in form.fields else None
    form.add_error(where, refusal_of(form, error))


def refusal_of(form: forms.BaseForm, error: GatewayError) -> str:
    """Return an error's message for its form: in English, with the labels of the form's fields."""
    return _by_label(form, error.message) if get_language() == "en" else words_of(error)


def words_of(error: GatewayError) -> str:
    """Return an error's message in the current language: one without a translation is quoted in English.

    A refused value is quoted as the API's words, which name fields as the API does.
    """
    form = team_words(error.form)
    if form == error.form:
        is_of_api = isinstance(error, InvalidRequestError)
        return _quoted(error.message, _OF_API if is_of_api else _OF_FLORIN)
    values = {name: getattr(value, "word", value) for name, value in error.values.items()}
    return form.format(**values) if values else form


def in_words(refusal: str) -> str:
    """Return a refusal that was formed in English in the current language; one without a translation is quoted."""
    words = team_words(refusal)
    return _quoted(refusal, _OF_FLORIN) if words == refusal else words


_OF_API: Final = pgettext_noop("team", "Florin did not accept this. The API says: %(message)s")
_OF_FLORIN: Final = pgettext_noop("team", "Florin did not accept this: %(message)s")


def _quoted(message: str, phrase: str) -> str:
    return message if get_language() == "en" else pgettext("team", phrase) % {"message": message}


def _by_label(form: forms.BaseForm, message: str) -> str:
    """Return an error's message with field labels instead of API names, and amounts formatted for people."""
    for name in form.fields:
        label = str(form[name].label)
        message = re.sub(rf"^{name}{_ITEM}\b", label, message)
        # A name without an underscore may be an ordinary word.
        if "_" in name:
            later = f"the {label[:1].lower()}{label[1:]}"
            message = re.sub(rf"\b{name}{_ITEM}\b", later, message)
    return _AMOUNT.sub(lambda found: readable(Decimal(found[0])), message)
