"""The picture of a chain, in `static/images/logos.svg`."""

from typing import Final

from django import template

from wallets.chains import registry

register = template.Library()

_NEUTRAL: Final = "other"


@register.filter
def logo(chain: str) -> str:
    """Return the view that shows a chain's logo; a neutral one where the sprite has none of it."""
    for facts in registry.CHAINS:
        if facts.name == chain and facts.has_logo:
            return chain
    return _NEUTRAL
