"""Errors of the API on a form: at their field, and in the words of its label."""

import pytest
from django import forms

from gateway.core.api.errors import InvalidRequestError
from gateway.core.web.form_errors import add_refusal


class Form(forms.Form):
    """Amounts, a list of them, and a field whose label is made from its name."""

    amount = forms.CharField(label="Amount in USD")
    min_amount = forms.CharField(label="Minimum amount", required=False)
    max_amount = forms.CharField(label="Maximum amount", required=False)
    suggested_amounts = forms.CharField(label="Suggested amounts", required=False)
    return_url = forms.CharField(required=False)


@pytest.mark.parametrize(
    ("message", "param", "field", "shown"),
    [
        (
            "max_amount must be at least min_amount.",
            "max_amount",
            "max_amount",
            "Maximum amount must be at least the minimum amount.",
        ),
        (
            "suggested_amounts.2 must be an amount.",
            "suggested_amounts.2",
            "suggested_amounts",
            "Suggested amounts must be an amount.",
        ),
        (
            "amount must be a string; this amount is none.",
            "amount",
            "amount",
            "Amount in USD must be a string; this amount is none.",
        ),
        ("metadata is too large.", "metadata", "__all__", "metadata is too large."),
        ("Something else.", None, "__all__", "Something else."),
        (
            "amount must be from 0.10 to 1000000.00.",
            "amount",
            "amount",
            "Amount in USD must be from 0.10 to 1,000,000.00.",
        ),
        ("return_url must use https.", "return_url", "return_url", "Return url must use https."),
    ],
)
def test_an_error_stands_at_its_field_and_calls_it_by_its_label(
    message: str, param: str | None, field: str, shown: str
) -> None:
    form = Form({"amount": "1"})
    assert form.is_valid()
    add_refusal(form, InvalidRequestError(message, param=param))
    assert form.errors == {field: [shown]}
