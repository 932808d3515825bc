"""Forms of the webhook page."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django import forms
from django.conf import settings
from django.forms.boundfield import BoundWidget
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.words import LineField
from webhooks.dashboard.words import EVENTS
from webhooks.delivery.retries import RETRIED
from webhooks.listed.service import chosen_events
from webhooks.models import NAME_LENGTH, URL_LENGTH, Endpoint
from webhooks.states import DeliveryStatus

_FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(2100, 1, 1, tzinfo=UTC)
_BOTH: Final = "both"
_URL_ATTRIBUTES: Final = {
    "autocomplete": "off",
    "autocapitalize": "none",
    "inputmode": "url",
    "spellcheck": "false",
    "placeholder": "https://",
}


class UrlForm(forms.Form):
    """The URL for a mode's events; if empty, they are not sent."""

    url = LineField(
        label="URL",
        required=False,
        max_length=URL_LENGTH,
        help_text=_("Receives events of checkouts without their own webhook URL. Leave it empty to send none."),
        widget=forms.TextInput(attrs=_URL_ATTRIBUTES),
    )


class EndpointForm(forms.Form):
    """A listed endpoint, new or changed. With exactly the classic types chosen it receives those of later releases too."""

    url = LineField(
        label="URL",
        max_length=URL_LENGTH,
        help_text=_("A public address. It receives its events whether or not there is a default endpoint."),
        widget=forms.TextInput(attrs=_URL_ATTRIBUTES),
    )
    name = LineField(
        label=_("Name"),
        required=False,
        max_length=NAME_LENGTH,
        help_text=_("Such as “Bookkeeping”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    events = forms.MultipleChoiceField(
        label=_("Events"),
        choices=lambda: [(name, gettext(words)) for name, words in EVENTS.items()],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one event.")},
    )
    enabled = forms.BooleanField(
        label=_("Send events"), required=False, help_text=_("If not, they are held until it is on again.")
    )

    @classmethod
    def of(cls, endpoint: Endpoint | None = None) -> "EndpointForm":
        """Return the form with an endpoint's values, or of a new one."""
        if endpoint is None:
            return cls(initial={"events": settings.WEBHOOK_CLASSIC_TYPES, "enabled": True})
        # An empty list is none of them, not those that need no choice.
        events = settings.WEBHOOK_CLASSIC_TYPES if endpoint.events is None else endpoint.events
        return cls(
            initial={"url": endpoint.url, "name": endpoint.name, "events": events, "enabled": endpoint.is_enabled}
        )

    @property
    def values(self) -> dict[str, Any]:
        """Return a valid form's values as the service takes them."""
        given = self.cleaned_data
        chosen = chosen_events(given["events"])
        events = None if chosen == settings.WEBHOOK_CLASSIC_TYPES else chosen
        return {"url": given["url"], "name": given["name"], "events": events, "is_enabled": given["enabled"]}

    @property
    def classic_boxes(self) -> list[BoundWidget]:
        """Return the boxes of the types that need no choice."""
        return list(self["events"])[: len(settings.WEBHOOK_CLASSIC_TYPES)]

    @property
    def opt_in_boxes(self) -> list[BoundWidget]:
        """Return the boxes of the other types."""
        return list(self["events"])[len(settings.WEBHOOK_CLASSIC_TYPES) :]


class _Moment(forms.DateTimeField):
    """A minute, in UTC."""

    widget = forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})

    def clean(self, value: Any) -> datetime:
        """Return the time, within this century."""
        moment: datetime = super().clean(value)
        if not _FIRST <= moment <= _LAST:
            raise forms.ValidationError(gettext("Choose a time of this century."))
        return moment


class RangeForm(forms.Form):
    """The deliveries to resend: failed or waiting ones of the events in a time range."""

    since = _Moment(label=_("Events from"), help_text="UTC.")
    until = _Moment(label=_("Before"), help_text=_("UTC, not included."))
    status = forms.ChoiceField(
        label=_("That"),
        choices=[
            (DeliveryStatus.FAILED, _("failed")),
            (DeliveryStatus.PENDING, _("wait for their next try")),
            (_BOTH, _("failed or wait")),
        ],
    )

    def clean(self) -> dict[str, Any]:
        """Check that the range is not empty."""
        values: dict[str, Any] = super().clean() or {}
        since, until = values.get("since"), values.get("until")
        if since and until and since >= until:
            self.add_error("until", gettext("It must be later than the first time."))
        return values

    @property
    def statuses(self) -> Sequence[DeliveryStatus]:
        """Return the chosen statuses of a valid form."""
        chosen = self.cleaned_data["status"]
        return RETRIED if chosen == _BOTH else (DeliveryStatus(chosen),)
