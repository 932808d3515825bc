"""API keys."""

from django import forms

from accounts.words import LineField


class KeyForm(forms.Form):
    """What a new key is called. Its mode is the page's."""

    name = LineField(
        label="What will use it",
        max_length=80,
        help_text="Such as “Web shop” or “Accounting”, so that you know which one to revoke.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
