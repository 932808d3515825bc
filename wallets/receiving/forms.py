"""Forms for receiving wallets."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import MOST_WALLET_CHANGE_HOURS
from gateway.core.api.errors import InvalidRequestError
from gateway.core.web.form_errors import words_of
from wallets.models import SIGNATURE_LENGTH
from wallets.receiving.service import usable_address


def _typed_code() -> forms.TextInput:
    return forms.TextInput(
        attrs={"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false", "class": "mono"}
    )


class WalletForm(forms.Form):
    """An address on one chain, checked by its checksum and against traps; `cleaned_data` has its canonical form."""

    address = forms.CharField(label=_("Address"), max_length=120, widget=_typed_code())

    def __init__(self, *args: Any, chain: str, title: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.chain = chain
        self.fields["address"].label = gettext("Your address on %(network)s") % {"network": title}

    def clean_address(self) -> str:
        """Return the canonical form, or an error in words."""
        try:
            return usable_address(self.chain, self.cleaned_data["address"])
        except InvalidRequestError as error:
            raise ValidationError(words_of(error)) from error


class ComparedForm(WalletForm):
    """The address again in canonical form, which the person compared with its source."""

    compared = forms.BooleanField(
        label=_("I compared the bold characters with my wallet, and I hold its key."),
        error_messages={"required": _("Compare them first, and say so here.")},
    )
    typed = forms.CharField(required=False, max_length=40, widget=_typed_code())
    sign = forms.BooleanField(required=False)

    def __init__(self, *args: Any, title: str, **kwargs: Any) -> None:
        super().__init__(*args, title=title, **kwargs)
        self._title = title
        self.fields["address"].widget = forms.HiddenInput()
        self.fields["typed"].label = gettext("Type %(network)s to confirm it") % {"network": title}

    def confirms(self) -> bool:
        """Return whether the person typed the network's name; else the field gets an error."""
        if self.cleaned_data["typed"].strip().casefold() == self._title.casefold():
            return True
        self.add_error("typed", gettext("Type %(network)s, or sign a message instead.") % {"network": self._title})
        return False


class ProofForm(forms.Form):
    """A signature of the message that proves a wallet; where `takes_key`, its public key too (TON)."""

    signature = forms.CharField(label=_("Signature"), max_length=SIGNATURE_LENGTH, widget=_typed_code())
    public_key = forms.CharField(
        max_length=66,
        label=_("Public key of the wallet"),
        help_text=_("64 hexadecimal digits. A TON address does not tell its key."),
        widget=_typed_code(),
    )

    def __init__(self, *args: Any, takes_key: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not takes_key:
            del self.fields["public_key"]


class WaitForm(forms.Form):
    """How long changes of wallets wait."""

    hours = forms.IntegerField(
        label=_("Hours to wait"),
        min_value=0,
        max_value=MOST_WALLET_CHANGE_HOURS,
        help_text=_(
            "From 0 to 168, which is a week. A longer wait holds at once, a shorter one once the present wait is over."
        ),
    )
