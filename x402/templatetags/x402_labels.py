"""Template filters for a machine's payment: its status and protocol in words."""

from django import template

from x402.dashboard.words import protocol_label, status_badge

register = template.Library()
register.filter(protocol_label)
register.filter("payment_badge", status_badge)
