"""Template filters for numbers."""

from decimal import ROUND_HALF_EVEN, Decimal

from django import template

from gateway.core.money import CENT, readable, readable_units

register = template.Library()
# Token amounts, in full precision.
register.filter(readable)
register.filter(readable_units)
_MINUTE = 60
_HOUR = 3600
_TEN = 10


@register.filter
def money(amount: Decimal) -> str:
    """Format dollars with cents and thousands separators."""
    return f"{amount.quantize(CENT, rounding=ROUND_HALF_EVEN):,}"


@register.filter
def signed_money(amount: Decimal) -> str:
    """Format dollars with a sign if negative."""
    return money(amount).replace("-", "\N{MINUS SIGN}")


@register.filter
def signed_fee(amount: Decimal) -> str:
    """Format fees, to a millionth of a dollar."""
    return f"{amount:,.6f}".replace("-", "\N{MINUS SIGN}")


@register.filter
def short_money(amount: Decimal) -> str:
    """Format dollars for an axis: 250, 12.5k, 1.5M; cents only below ten dollars."""
    for mark, unit in (("M", 1_000_000), ("k", 1_000)):
        if amount >= unit:
            return f"{_plain(amount / unit)}{mark}"
    return _plain(amount) if amount >= _TEN or amount == int(amount) else money(amount)


def _plain(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


@register.filter
def whole(count: int) -> str:
    """Write a count with thousands marks."""
    return f"{count:,}"


@register.filter
def change(amount: Decimal) -> str:
    """Format a change, with its sign and one decimal."""
    return f"{amount:+,.1f}".replace("-", "\N{MINUS SIGN}") if amount else "±0"


@register.filter
def tone(amount: Decimal) -> str:
    """Return the class that colours a change; empty for none."""
    if not amount:
        return ""
    return "kpis__up" if amount > 0 else "kpis__down"


@register.filter
def seconds(duration: float) -> str:
    """Format a duration in a suitable unit."""
    if duration < _MINUTE:
        return f"{duration:.0f} s"
    if duration < _HOUR:
        return f"{duration / _MINUTE:.1f} min"
    return f"{duration / _HOUR:.1f} h"


@register.filter
def times(number: int, factor: int) -> int:
    """Multiply, for positions in a drawing."""
    return number * factor


@register.filter
def below(number: int, top: int) -> int:
    """Return a bar's distance from the top: in SVG, y grows downwards."""
    return top - number
