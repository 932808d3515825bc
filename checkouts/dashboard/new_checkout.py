"""The form that creates a checkout by hand. The API's own parser validates it."""

from types import MappingProxyType
from typing import Any, Final

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.states import Mode
from accounts.team.access import Seat
from checkouts.creation.forms import DEFAULT_EXPIRES_IN, MAX_DESCRIPTION, parse_create
from checkouts.creation.references import MAX_LENGTH
from checkouts.inputs import NewCheckout
from checkouts.states import TestScenario
from gateway.core.api.errors import InvalidRequestError
from gateway.core.currencies import USD
from gateway.core.outbound import url_policy
from gateway.core.web.form_errors import add_refusal
from rates.selectors import has_prices, price_currencies
from wallets.models import ReceivingWallet

_SCENARIOS: Final = MappingProxyType(
    {
        TestScenario.COMPLETED: _("Paid in full after five seconds"),
        TestScenario.PROCESSING: _("Paid in full, and final five seconds later"),
        TestScenario.UNDERPAID: _("Half is paid"),
        TestScenario.TOPPED_UP: _("Half is paid, then the rest"),
        TestScenario.PART_PAID: _("Half is paid, then it expires"),
        TestScenario.OVERPAID: _("Twice the price is paid"),
        TestScenario.EXTRA: _("Paid in full, then once more"),
        TestScenario.LATE: _("Expires, then the money arrives"),
        TestScenario.EXPIRED: _("Expires without a payment"),
        TestScenario.REORG: _("Reversed by the network and paid again, before and after it completes"),
        TestScenario.REVERSED: _("Paid in full, then reversed by the network for good"),
    }
)
_EXPIRIES: Final = (
    (900, _("15 minutes")),
    (DEFAULT_EXPIRES_IN, _("30 minutes")),
    (3600, _("1 hour")),
    (14_400, _("4 hours")),
    (86_400, _("24 hours")),
)
# Most checkouts made by hand need none of them.
_MORE: Final = ("order_ref", "customer_ref", "product_ref", "expires_in", "redirect_url", "escrow")


def lacks_wallet(seat: Seat) -> bool:
    """Return whether a live checkout cannot be created because there is no wallet."""
    wallets = ReceivingWallet.objects.filter(merchant=seat.merchant)
    return seat.mode == Mode.LIVE and not wallets.exists()


class NewCheckoutForm(forms.Form):
    """The fields of `POST /checkouts`; that request's parser checks them."""

    amount = forms.CharField(
        label=_("Amount in USD"),
        help_text=_("From 0.10 to 1,000,000.00"),
        widget=forms.TextInput(
            attrs={"inputmode": "decimal", "autocomplete": "off", "placeholder": "0.00", "autofocus": True}
        ),
    )
    currency = forms.ChoiceField(
        label=_("Currency"), help_text=_("A price in another currency is converted to US dollars now, and not again.")
    )
    description = forms.CharField(
        label=_("Description"), required=False, max_length=MAX_DESCRIPTION, help_text=_("Buyers see it.")
    )
    order_ref = forms.CharField(
        label=_("Order reference"),
        required=False,
        max_length=MAX_LENGTH,
        help_text=_("Your own number. The same one and amount again lead to the same checkout."),
    )
    customer_ref = forms.CharField(label=_("Customer reference"), required=False, max_length=MAX_LENGTH)
    product_ref = forms.CharField(label=_("Product reference"), required=False, max_length=MAX_LENGTH)
    expires_in = forms.TypedChoiceField(
        label=_("Time to pay"), choices=_EXPIRIES, coerce=int, initial=DEFAULT_EXPIRES_IN
    )
    redirect_url = forms.CharField(
        label=_("Return address"),
        required=False,
        help_text=_("The buyer returns to this address afterwards."),
        widget=forms.TextInput(attrs={"inputmode": "url", "placeholder": "https://"}),
    )
    escrow = forms.BooleanField(
        label=_("Hold the money in escrow"),
        required=False,
        help_text=_(
            "It waits in its deposit address until you release it. Only networks with deposit addresses, such as "
            "Base and Polygon, are offered."
        ),
    )
    test_scenario = forms.ChoiceField(
        label=_("What happens"),
        choices=[(scenario.value, _SCENARIOS[scenario]) for scenario in TestScenario],
        initial=TestScenario.COMPLETED,
        help_text=_("No money moves in test mode: this is played instead."),
    )

    def __init__(self, *args: Any, is_test: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.wanted: NewCheckout | None = None
        self.is_test = is_test
        if not is_test:
            del self.fields["test_scenario"]
        if has_prices():
            self.fields["currency"].choices = [(one, one) for one in (USD, *price_currencies())]  # type: ignore[attr-defined]
            self.fields["amount"].label, self.fields["amount"].help_text = (
                gettext("Amount"),
                gettext("Worth 0.10 to 1,000,000.00 USD"),
            )
        else:
            del self.fields["currency"]

    def main_fields(self) -> list[forms.BoundField]:
        """Return the fields that are always visible."""
        return [self[name] for name in self.fields if name not in _MORE]

    def more_fields(self) -> list[forms.BoundField]:
        """Return the fields behind a fold."""
        return [self[name] for name in _MORE]

    @property
    def more_is_open(self) -> bool:
        """Whether a folded field was changed, or has an error."""
        return self.is_bound and any(name in _MORE for name in (*self.changed_data, *self.errors))

    def clean(self) -> dict[str, Any]:
        """Validate with the API's parser, and add its error to the field that it names."""
        fields = self.cleaned_data
        if self.errors:
            return fields
        body = {name: value for name, value in fields.items() if value != ""}
        try:
            self.wanted = parse_create({"currency": USD} | body, url_policy(), is_test=self.is_test)
        except InvalidRequestError as error:
            add_refusal(self, error)
        return fields
