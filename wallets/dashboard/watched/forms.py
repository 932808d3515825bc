"""Forms for watched wallets."""

from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError

from gateway.core.api.errors import InvalidRequestError
from gateway.core.web.form_errors import by_label
from wallets.models.watched import MOST_TAGS
from wallets.networks import chains
from wallets.watched.service import LABEL_LENGTH, clean_label, clean_tags

# Room for all tags at full length, each on its own line.
_TAGS_LENGTH: Final = 1_000


class EditForm(forms.Form):
    """A wallet's label and tags."""

    label = forms.CharField(
        required=False, max_length=LABEL_LENGTH, help_text="“Payroll” or “Cold storage”: how your team calls it."
    )
    tags = forms.CharField(
        required=False,
        max_length=_TAGS_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text=f"With commas between them, or each on a line. {MOST_TAGS} at most.",
    )

    def clean_label(self) -> str:
        """Return the normalised label."""
        return clean_label(self.cleaned_data["label"])

    def clean_tags(self) -> list[str]:
        """Return the normalised tags, from lines or commas."""
        lines = self.cleaned_data["tags"].splitlines()
        try:
            return clean_tags(tag for line in lines for tag in line.split(","))
        except InvalidRequestError as error:
            raise ValidationError(by_label(self, error.message)) from error


class WatchForm(EditForm):
    """The address to watch; label and tags may be added later."""

    field_order = ["chain", "address", "label", "tags"]

    chain = forms.ChoiceField(label="Network")
    address = forms.CharField(
        max_length=120,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false", "class": "mono"}
        ),
        help_text="Any wallet or contract on this network. It is checked before it is watched.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = [(spec.name, spec.title) for spec in chains().values()]
        self.fields["chain"].choices = known  # type: ignore[attr-defined]
