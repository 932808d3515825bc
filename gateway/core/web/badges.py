"""Badges, such as a status, times in lists, and icons: tags of every template."""

from datetime import datetime
from typing import Final, NamedTuple, Self

from django import template
from django.db.models import TextChoices
from django.template.defaultfilters import date
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import pgettext, pgettext_lazy

from gateway.core.texts import team_words

register = template.Library()


class Badge(NamedTuple):
    """A word in English and its tone: one of the badges' modifiers in the style sheet, or empty.

    A word that is written where the badge is made is a message of the dashboard's catalogues.
    """

    word: str
    tone: str

    @property
    def label(self) -> str:
        """Return the word in the current language."""
        return team_words(self.word) if self.word else ""


_NONE: Final = Badge._make(("", ""))
# How lists write times, and how other languages order them.
_FORMS: Final = (
    pgettext_lazy("team", "j M Y, H:i"),
    pgettext_lazy("team", "j M Y"),
    pgettext_lazy("team", "j M, H:i:s"),
    pgettext_lazy("team", "j M, H:i"),
)


class BadgedChoices(TextChoices):
    """Choices that pages show as badges: a member is written as its value and its badge.

    The word is not the choice's label: migrations keep the labels of a field's choices.
    """

    badge: Badge

    # A call with a value alone looks its member up; mypy takes it for one of this method.
    def __new__(cls, value: str, badge: Badge = _NONE) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.badge = badge
        return member


@register.simple_tag(name="badge")
def badge_tag(badge: Badge) -> SafeString:
    """Write a badge."""
    tone = f" badge--{badge.tone}" if badge.tone else ""
    return format_html('<span class="badge{}">{}</span>', tone, badge.label)


@register.simple_tag(name="time")
def time_tag(at: datetime, form: str = "j M Y, H:i") -> SafeString:
    """Write an aware datetime of a list, in one of `_FORMS` of the `date` filter: in UTC, or in the time zone that its page names."""
    there = localtime(at)
    return format_html('<time datetime="{}">{}</time>', date(there, "c"), date(there, pgettext("team", form)))


@register.simple_tag
def icon(name: str, kind: str = "") -> SafeString:
    """Write an icon of the dashboard, which screen readers skip; `kind`: an icon's modifier in the style sheet."""
    return _icon("images/dashboard-icons.svg", name, kind)


@register.simple_tag
def buyers_icon(name: str, kind: str = "") -> SafeString:
    """Write an icon of buyers' pages."""
    return _icon("images/icons.svg", name, kind)


def _icon(sprite: str, name: str, kind: str) -> SafeString:
    form = '<svg class="icon{}" aria-hidden="true"><use href="{}#{}" /></svg>'
    return format_html(form, f" icon--{kind}" if kind else "", static(sprite), name)
