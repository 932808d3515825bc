"""Filters that every template has: times as people of each language write them."""

from datetime import UTC, datetime
from math import ceil

from django import template
from django.utils.formats import date_format
from django.utils.translation import gettext

register = template.Library()

# From here on minutes say enough.
_MANY_SECONDS = 120


@register.filter
def moment(when: datetime) -> str:
    """Write an aware datetime as `20 November 2026, 05:30 UTC`."""
    there = when.astimezone(UTC)
    written = {"date": date_format(there, "DATE_FORMAT"), "time": f"{there:%H:%M}"}
    return gettext("%(date)s, %(time)s UTC") % written


@register.filter
def duration(seconds: int) -> str:
    """Write a number of seconds as `24 s` or, rounded up, `4 min`, with a space that no line breaks at."""
    if seconds < _MANY_SECONDS:
        written = gettext("%(seconds)s s") % {"seconds": seconds}
    else:
        written = gettext("%(minutes)s min") % {"minutes": ceil(seconds / 60)}
    return written.replace(" ", "\N{NO-BREAK SPACE}")
