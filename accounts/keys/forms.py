"""The form for a new API key."""

from django import forms

from accounts.words import LineField


class KeyForm(forms.Form):
    """The name of a new key. The page determines its mode."""

    name = LineField(
        label="What will use it",
        max_length=80,
        help_text="Such as “Web shop” or “Accounting”, so that you know which one to revoke.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
