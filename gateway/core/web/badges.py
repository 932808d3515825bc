"""What lists of the dashboard show in a word: badges, such as a status, and times. Its tags are in every template."""

from datetime import datetime
from typing import NamedTuple

from django import template
from django.template.defaultfilters import date
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

register = template.Library()


class Badge(NamedTuple):
    """A word and its tone: one of the badges' modifiers in the style sheet, or empty."""

    label: str
    tone: str


@register.simple_tag(name="badge")
def badge_tag(badge: Badge) -> SafeString:
    """Write a badge."""
    tone = f" badge--{badge.tone}" if badge.tone else ""
    return format_html('<span class="badge{}">{}</span>', tone, badge.label)


@register.simple_tag(name="time")
def time_tag(at: datetime, form: str = "j M Y, H:i") -> SafeString:
    """Write an aware datetime of a list, in UTC, in one of the `date` filter's forms."""
    there = localtime(at)
    return format_html('<time datetime="{}">{}</time>', date(there, "c"), date(there, form))
