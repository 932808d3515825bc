"""Template filters for addresses."""

from django import template

from wallets.networks import shown_address

register = template.Library()
register.filter(shown_address)
