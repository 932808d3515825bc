"""Template filters and a tag for times in each language's format."""

from datetime import UTC, datetime
from math import ceil

from django import template
from django.template.defaultfilters import date
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

register = template.Library()

# From here on, minutes are precise enough.
_MANY_SECONDS = 120


@register.filter
def moment(when: datetime) -> str:
    """Write an aware datetime as `20 November 2026, 05:30 UTC`."""
    there = when.astimezone(UTC)
    written = {"date": date_format(there, "DATE_FORMAT"), "time": f"{there:%H:%M}"}
    return gettext("%(date)s, %(time)s UTC") % written


@register.simple_tag(name="moment")
def moment_tag(when: datetime) -> SafeString:
    """Write `moment` as a `<time>` of buyers' pages, which their script shows in the reader's time zone."""
    written = f"{when.astimezone(UTC):%Y-%m-%dT%H:%MZ}"
    return format_html('<time datetime="{}" data-local>{}</time>', written, moment(when))


@register.filter
def utc(when: datetime | None, precision: str = "short") -> SafeString:
    """Write an aware datetime as a `<time>` of the dashboard: `20 Nov 2026, 05:30 UTC`, to the second for "seconds".

    The dashboard's script shows it in the reader's time zone, by `precision`. Empty for None.
    """
    if when is None:
        return SafeString()
    there = when.astimezone(UTC)
    clock = "%H:%M:%S" if precision == "seconds" else "%H:%M"
    return format_html(
        '<time datetime="{}" data-local="{}">{} UTC</time>',
        f"{there:%Y-%m-%dT%H:%M:%SZ}",
        precision,
        f"{date(there, pgettext('team', 'j M Y'))}, {there:{clock}}",
    )


@register.filter
def duration(seconds: int) -> str:
    """Write a number of seconds as `24 s` or, rounded up, `4 min`, with a non-breaking space."""
    if seconds < _MANY_SECONDS:
        written = gettext("%(seconds)s s") % {"seconds": seconds}
    else:
        written = gettext("%(minutes)s min") % {"minutes": ceil(seconds / 60)}
    return written.replace(" ", "\N{NO-BREAK SPACE}")
