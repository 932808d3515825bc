"""Removes placeholders and extra help from the login library's fields: the label is enough."""

from typing import Any

from django.forms import Form

_LABELS = {
    "login": "E-mail address",
    "email": "E-mail address",
    "oldpassword": "Present password",
    "password1": "Password",
    "password2": "The same again",
}
_NEW_PASSWORD = "At least ten characters. Common passwords are refused."  # noqa: S105


class PlainFields(Form):
    """A form mixin without placeholders and the library's lists of rules."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            field.label = _LABELS.get(name, field.label)
            if "password" in name:
                field.help_text = _NEW_PASSWORD if name == "password1" else ""
