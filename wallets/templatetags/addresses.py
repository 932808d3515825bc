"""A template filter and a tag for addresses."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from wallets.dashboard.rows import MarkedAddress
from wallets.networks import shown_address

register = template.Library()
register.filter(shown_address)


@register.simple_tag(name="address")
def address_tag(address: MarkedAddress) -> SafeString:
    """Write an address in three parts, of which people compare the bold ones."""
    form = '<span class="mono address"><b>{}</b>{}<b>{}</b></span>'
    return format_html(form, address.first, address.middle, address.last)
