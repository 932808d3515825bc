"""Template filters for a payment link: its type, price, interval and limits in words."""

from django import template

from links.dashboard.words import interval_of, kind_label, price_of, range_of

register = template.Library()
register.filter(kind_label)
register.filter(price_of)
register.filter(interval_of)
register.filter(range_of)
