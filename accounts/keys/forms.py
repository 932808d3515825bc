"""The form of an API key: its name, what it may do, from where, and until when."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.template.defaultfilters import date
from django.utils.translation import gettext, gettext_lazy, gettext_noop, pgettext
from django.utils.translation import gettext_lazy as _

from accounts.keys.scopes import LIVES, PRESETS, RESOURCES, USES
from accounts.keys.service import Powers, powers_of
from accounts.models import MOST_NETWORKS, ApiKey
from accounts.states import Preset
from accounts.words import LineField
from gateway.core.web.client_address import proxy_network

_LIVES: Final = {
    "7": gettext_noop("In 7 days"),
    "30": gettext_noop("In 30 days"),
    "90": gettext_noop("In 90 days"),
    "365": gettext_noop("In a year"),
}
_NEVER: Final = "never"
_USUAL: Final = "usual"
ENDS: Final = {
    "0": gettext_noop("Now"),
    "1": gettext_noop("In an hour"),
    "24": gettext_noop("In a day"),
    "168": gettext_noop("In a week"),
}
"""The hours for which a rotated key still works, and their words."""


class RotateForm(forms.Form):
    """When the old key stops working."""

    ends = forms.TypedChoiceField(
        label=_("The old key ends"),
        choices=[(hours, gettext_lazy(words)) for hours, words in ENDS.items()],
        initial="24",
        coerce=lambda hours: timedelta(hours=int(hours)),
    )


class KeyForm(forms.Form):
    """A new key, or the changes of one (`key`). The page determines its mode."""

    name = LineField(
        label=_("What will use it"),
        max_length=80,
        help_text=_("Such as “Web shop” or “Accounting”, so that you know which one to revoke."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    # A page of 0.25 that is still open in a browser sends none: the key may do what keys could then.
    preset = forms.ChoiceField(label=_("What it may do"), required=False, widget=forms.RadioSelect)
    lasts = forms.ChoiceField(label=_("It expires"), required=False)
    networks = forms.CharField(
        label=_("Only from these networks"),
        required=False,
        max_length=2_000,
        help_text=_("One in each line, such as 203.0.113.7 or 203.0.113.0/24. Empty: from anywhere."),
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, data: Any = None, *, key: ApiKey | None = None) -> None:
        super().__init__(data, initial=_initial_of(key) if key else {"preset": Preset.SHOP, "lasts": _USUAL})
        self._key = key
        preset: Any = self.fields["preset"]
        preset.choices = [(each.value, each.label) for each in Preset]
        lasts: Any = self.fields["lasts"]
        kept = (
            {"": gettext("As now: %(when)s UTC") % {"when": _moment(key.expires_at)}} if key and key.expires_at else {}
        )
        for_agents = gettext("In %(days)s days for an agent, else never") % {"days": LIVES[Preset.AGENT].days}
        usual = {} if key else {_USUAL: for_agents}
        lives = {days: gettext(words) for days, words in _LIVES.items()}
        lasts.choices = list((kept | usual | {_NEVER: gettext("Never")} | lives).items())
        for resource in RESOURCES:
            levels = [(str(place), gettext(words)) for place, (words, _) in enumerate(resource.levels)]
            self.fields[f"may_{resource.name}"] = forms.ChoiceField(
                label=gettext(resource.title), required=False, choices=levels, initial=_level_of(resource.name, key)
            )

    def presets(self) -> Iterator[tuple[Any, str]]:
        """Yield each preset's radio button with the sentence that says what the preset is for."""
        for button, preset in zip(self["preset"], Preset, strict=True):
            yield button, gettext(USES[preset])

    def levels(self) -> Iterator[Any]:
        """Yield the fields that choose resource by resource."""
        for resource in RESOURCES:
            yield self[f"may_{resource.name}"]

    def clean_networks(self) -> tuple[str, ...]:
        """Return the networks in CIDR notation."""
        found = []
        for text in self.cleaned_data["networks"].replace(",", "\n").split():
            try:
                found.append(str(proxy_network(text)))
            except ValueError:
                raise ValidationError(
                    gettext("%(text)s is no network. Write an address, or a network such as 203.0.113.0/24.")
                    % {"text": text}
                ) from None
        if len(found) > MOST_NETWORKS:
            raise ValidationError(gettext("Name at most %(count)s networks.") % {"count": MOST_NETWORKS})
        return tuple(dict.fromkeys(found))

    def clean(self) -> dict[str, Any]:
        """Refuse a key that may do nothing."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and not self._scopes():
            self.add_error("preset", gettext("Choose at least one thing that the key may do."))
        return cleaned

    def powers(self, *, now: datetime) -> Powers:
        """Return what a valid form asks for."""
        return Powers(
            scopes=self._scopes(),
            preset=self._preset(),
            expires_at=self._expires_at(now),
            networks=self.cleaned_data["networks"],
        )

    def _preset(self) -> Preset:
        kept = self._key.preset if self._key else Preset.EVERYTHING
        return Preset(self.cleaned_data.get("preset") or kept)

    def _scopes(self) -> tuple[str, ...]:
        preset = self._preset()
        if preset != Preset.CUSTOM:
            # A preset may have grown since; only choosing it anew widens the key.
            return tuple(self._key.scopes) if self._key and self._key.preset == preset else PRESETS[preset]
        chosen: list[str] = []
        for resource in RESOURCES:
            level = int(self.cleaned_data.get(f"may_{resource.name}") or 0)
            chosen += resource.levels[level][1]
        return tuple(chosen)

    def _expires_at(self, now: datetime) -> datetime | None:
        lasts = self.cleaned_data["lasts"]
        if lasts == _USUAL:
            life = LIVES.get(self._preset())
            return now + life if life else None
        if lasts in _LIVES:
            return now + timedelta(days=int(lasts))
        return self._key.expires_at if self._key and not lasts else None


def _moment(when: datetime) -> str:
    return f"{date(when, pgettext('team', 'j M Y'))}, {when:%H:%M}"


def _initial_of(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "preset": key.preset,
        "lasts": "" if key.expires_at else _NEVER,
        "networks": "\n".join(powers_of(key).networks),
    }


def _level_of(name: str, key: ApiKey | None) -> str:
    """Return the highest level of a resource that the key's scopes reach."""
    scopes = set(key.scopes) if key else set()
    resource = next(each for each in RESOURCES if each.name == name)
    reached = [place for place, (_, needed) in enumerate(resource.levels) if set(needed) <= scopes]
    return str(reached[-1])
