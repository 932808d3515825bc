"""Forms of the notices page."""

from collections.abc import Collection
from typing import Any, Final

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from accounts.words import LineField
from gateway.core.outbound import MAX_URL_LENGTH
from notices.choices import WAYS, Chosen, Member
from notices.models import NAME_LENGTH
from notices.states import EXPLAINED, How, Kind, Service, Way

_SECRET: Final = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
_WAY_NAMES: Final = {Way.MAIL: gettext_noop("by mail"), Way.PUSH: gettext_noop("on your devices")}


class ChoicesForm(forms.Form):
    """A select for each kind and way. Kinds that are not this person's to know of have none."""

    def __init__(self, data: Any = None, *, member: Member) -> None:
        super().__init__(data)
        self._kinds = [kind for kind in Kind if member.is_told(kind)]
        for kind in self._kinds:
            for way, answers in WAYS.items():
                # Operators get a mail of low gas whatever they choose.
                if (kind, way) == (Kind.GAS, Way.MAIL):
                    continue
                field = forms.ChoiceField(
                    label=f"{kind.label} {gettext(_WAY_NAMES[way])}",
                    choices=[(how, how.label) for how in answers],
                    initial=member.how(kind, way),
                )
                field.widget.attrs = {"class": "select-small", "aria-label": field.label}
                self.fields[_name(kind, way)] = field

    @property
    def rows(self) -> list[tuple[Kind, str, BoundField | None, BoundField]]:
        """Return each kind, what it is, and its selects."""
        return [
            (
                kind,
                gettext(EXPLAINED[kind]),
                self[_name(kind, Way.MAIL)] if _name(kind, Way.MAIL) in self.fields else None,
                self[_name(kind, Way.PUSH)],
            )
            for kind in self._kinds
        ]

    @property
    def chosen(self) -> Chosen:
        """Return a valid form's choices."""
        return {
            (kind, way): How(self.cleaned_data[_name(kind, way)])
            for kind in self._kinds
            for way in Way
            if _name(kind, way) in self.cleaned_data
        }


def _name(kind: Kind, way: Way) -> str:
    return f"{kind}_{way}"


class DeviceForm(forms.Form):
    """A browser's subscription, as the page's script fills it in."""

    endpoint = forms.CharField(max_length=MAX_URL_LENGTH)
    p256dh = forms.CharField(max_length=100)
    auth = forms.CharField(max_length=30)
    made_for = forms.CharField(max_length=100)


class DigestForm(forms.Form):
    """The SHA-256 of a subscription's address, in hexadecimal."""

    was = forms.RegexField("^[0-9a-f]{64}$")

    def clean_was(self) -> bytes:
        """Return the digest's 32 bytes."""
        return bytes.fromhex(self.cleaned_data["was"])


class ChatForm(forms.Form):
    """A new chat. Which fields it needs depends on its service."""

    service = forms.ChoiceField(label=_("Service"), choices=Service, widget=forms.RadioSelect)
    name = LineField(
        label=_("Name"),
        max_length=NAME_LENGTH,
        help_text=_("Such as “#orders”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    url = LineField(
        label=_("Webhook URL"),
        required=False,
        max_length=MAX_URL_LENGTH,
        help_text=_(
            "Slack and Discord give you one for a channel. Whoever has it can write there, so it is not shown again."
        ),
        widget=forms.TextInput(attrs=_SECRET | {"inputmode": "url", "placeholder": "https://"}),
    )
    token = LineField(
        label=_("Bot token"),
        required=False,
        max_length=100,
        help_text=_("For Telegram: BotFather gives you one. It is not shown again."),
        widget=forms.TextInput(attrs=_SECRET),
    )
    chat_id = LineField(
        label=_("Chat"),
        required=False,
        max_length=64,
        help_text=_("For Telegram: the chat's number, or @name of a channel. The bot must be a member."),
        widget=forms.TextInput(attrs=_SECRET),
    )
    kinds = forms.MultipleChoiceField(
        label=_("Events"), widget=forms.CheckboxSelectMultiple, error_messages={"required": _("Choose at least one.")}
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, initial={"service": Service.SLACK, "kinds": [Kind.INBOX, Kind.ENDPOINT, Kind.CHAIN]})
        _offer_kinds(self.fields["kinds"])

    def clean(self) -> dict[str, Any]:
        """Ask for what the service needs."""
        values: dict[str, Any] = super().clean() or {}
        needed = ("token", "chat_id") if values.get("service") == Service.TELEGRAM else ("url",)
        for name in needed:
            if not values.get(name) and name not in self.errors:
                self.add_error(name, gettext("This service needs it."))
        return values

    @property
    def chosen_kinds(self) -> list[Kind]:
        """Return a valid form's kinds."""
        return [Kind(name) for name in self.cleaned_data["kinds"]]


class ChatKindsForm(forms.Form):
    """The kinds of notices that a chat gets, or none."""

    kinds = forms.MultipleChoiceField(label=_("Events"), widget=forms.CheckboxSelectMultiple, required=False)

    def __init__(self, data: Any = None, *, kinds: Collection[str]) -> None:
        super().__init__(data, initial={"kinds": list(kinds)})
        _offer_kinds(self.fields["kinds"])

    @property
    def chosen_kinds(self) -> set[Kind]:
        """Return a valid form's kinds."""
        return {Kind(name) for name in self.cleaned_data["kinds"]}


def _offer_kinds(field: forms.Field) -> None:
    """Offer the kinds that a chat may get: gas is the operator's."""
    assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101 - both forms' fields are
    field.choices = [(kind, kind.label) for kind in Kind if kind != Kind.GAS]
