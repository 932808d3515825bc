"""Shows API errors on a form: at the field, and with the field's label."""

import re
from decimal import Decimal
from typing import Final

from django import forms
from django.utils.translation import get_language, gettext, pgettext

from gateway.core.api.errors import GatewayError
from gateway.core.money import readable

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
    """Return an error's message in the current language."""
    return in_words(error.message)


def in_words(refusal: str) -> str:
    """Return a refusal in the current language.

    The API says it in English, and names fields as it does: one without a translation is quoted.
    """
    said = gettext(refusal)
    if said != refusal or get_language() == "en":
        return said
    return pgettext("team", "Florin did not accept this. The API says: %(message)s") % {"message": refusal}


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
