"""Template filters for what is on a chain: its chain's name, its transaction on the explorer, and short addresses."""

from django import template

from wallets.dashboard.rows import explorer_url, shortened
from wallets.networks import chain_title

register = template.Library()
register.filter(chain_title)
register.filter(explorer_url)
register.filter(shortened)
