"""Forms of branding. The service validates the texts."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from accounts.brand.logos import MAX_UPLOAD_BYTES
from accounts.brand.service import BrandingChanges

_LINK = {"inputmode": "url", "autocomplete": "off", "placeholder": "https://"}


class BrandingForm(forms.Form):
    """Name, logo, colour, links and the return button's text. An empty field resets to the default."""

    display_name = forms.CharField(
        label="Name shown to buyers", required=False, help_text="Replaces the merchant's name."
    )
    logo = forms.FileField(
        label="Logo",
        required=False,
        help_text="PNG, JPEG, WebP or GIF, up to 2 MB. We resize it. Your pages show it 40 pixels high.",
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/webp,image/gif"}),
    )
    remove_logo = forms.BooleanField(label="Remove the logo", required=False)
    accent = forms.CharField(
        label="Accent colour",
        required=False,
        help_text="Six hex digits, such as #2440d8. Leave it empty for our colour.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "maxlength": 7}),
    )
    support_url = forms.CharField(label="Where buyers get help", required=False, widget=forms.TextInput(attrs=_LINK))
    terms_url = forms.CharField(label="Your terms of sale", required=False, widget=forms.TextInput(attrs=_LINK))
    return_label = forms.CharField(
        label="Return button", required=False, help_text="Replaces “Return to” and your name. Up to 40 characters."
    )

    def clean_logo(self) -> Any:
        """Refuse a file that is too large before any of it is read."""
        logo = self.cleaned_data["logo"]
        if logo and logo.size > MAX_UPLOAD_BYTES:
            raise ValidationError("The logo must not be larger than 2 MB.")
        return logo

    def changes(self) -> BrandingChanges:
        """Return the changes of a valid form; without a new file the logo stays."""
        typed = self.cleaned_data
        changes = BrandingChanges(
            display_name=typed["display_name"],
            accent=typed["accent"],
            support_url=typed["support_url"],
            terms_url=typed["terms_url"],
            return_label=typed["return_label"],
        )
        if typed["logo"]:
            changes["logo"] = typed["logo"].read()
        elif typed["remove_logo"]:
            changes["logo"] = b""
        return changes


class CheckoutPageForm(forms.Form):
    """Settings of the checkout page: what it offers to buyers, and which mails they get."""

    buyers_may_retry = forms.BooleanField(
        label="Buyers can restart an expired checkout at the same price", required=False
    )
    mails_receipts = forms.BooleanField(label="Mail a receipt to the checkout's e-mail address", required=False)
    round_price_rivals = forms.BooleanField(
        label="Review round payments when another checkout of the same price has just expired",
        help_text="On exact-amount networks, such a payment may come from the buyer who was late. It waits in your inbox"
        " and does not complete the open checkout.",
        required=False,
    )
