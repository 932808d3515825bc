"""Forms of settlements."""

from typing import Any, Final

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from settlements.sweeps.schedule import MOST_HOURS, MOST_MINIMUM
from wallets.networks import chains, takes_from_machines
from wallets.states import ClaimKind


class IntervalsForm(forms.Form):
    """The schedule of automatic settlements."""

    minimum = forms.DecimalField(
        label=_("Minimum amount (USD)"),
        min_value=0,
        max_value=MOST_MINIMUM,
        decimal_places=2,
        help_text=_("The total of a token on a network. Smaller totals wait for more, or until you press Settle."),
    )
    every_hours = forms.IntegerField(
        label=_("Settle every (hours)"),
        min_value=0,
        max_value=MOST_HOURS,
        help_text=_("24 is once a day. 0 settles only when you ask for it."),
    )


class SettleForm(forms.Form):
    """What to settle: a purpose, and one network and token or all."""

    purpose = forms.ChoiceField(choices=ClaimKind.choices)
    chain = forms.CharField(max_length=16, required=False)
    token = forms.CharField(max_length=12, required=False)

    def clean(self) -> dict[str, Any]:
        """Refuse a token that the network does not have; pages do not offer one."""
        told = super().clean() or {}
        chain, token = told.get("chain", ""), told.get("token", "")
        is_known = not chain or chain in chains()
        if not is_known or (chain and token and not takes_from_machines(chain, token)):
            raise forms.ValidationError(gettext("There is no such network or token."))
        return told


class OneTokenForm(SettleForm):
    """What to settle, of one network and token."""

    chain = forms.CharField(max_length=16)
    token = forms.CharField(max_length=12)


_HASH: Final = 66


class HashForm(forms.Form):
    """The hash of a wallet's transaction."""

    tx_hash = forms.RegexField(
        regex=r"\A\s*0x[0-9a-fA-F]{64}\s*\Z",
        label=_("Hash of the transaction"),
        max_length=_HASH + 20,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
        error_messages={"invalid": _("Enter 0x and 64 hexadecimal digits.")},
    )
