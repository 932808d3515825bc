"""What the API's rules refuse, said on a form: at the field it is about, and by the field's label."""

import re
from decimal import Decimal
from typing import Final

from django import forms

from gateway.core.api.errors import GatewayError
from gateway.core.money import readable

# An item of a list: `suggested_amounts.2`.
_ITEM: Final = r"(?:\.[0-9]+)*"
# An amount that the API writes without thousands marks.
_AMOUNT: Final = re.compile(r"\b[0-9]{4,15}\.[0-9]{2}\b", re.ASCII)


def add_refusal(form: forms.BaseForm, error: GatewayError) -> None:
    """Add an error of the API to the field that it names, or to the form where it has no such field."""
    name = (error.param or "").partition(".")[0]
    where = name if name in form.fields else None
    form.add_error(where, by_label(form, error.message))


def by_label(form: forms.BaseForm, message: str) -> str:
    """Return an error's message with the labels of fields in place of their API names, and amounts as people read them."""
    for name in form.fields:
        label = str(form[name].label)
        message = re.sub(rf"^{name}{_ITEM}\b", label, message)
        # Without an underscore it may be a word like any other.
        if "_" in name:
            later = f"the {label[:1].lower()}{label[1:]}"
            message = re.sub(rf"\b{name}{_ITEM}\b", later, message)
    return _AMOUNT.sub(lambda found: readable(Decimal(found[0])), message)
