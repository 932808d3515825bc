"""Template tag for chain logos, in `static/images/logos.svg`."""

from typing import Final

from django import template

from wallets.chains import registry

register = template.Library()

_NEUTRAL: Final = "other"


@register.filter
def logo(chain: str) -> str:
    """Return the sprite view of a chain's logo; a neutral one if there is none."""
    for facts in registry.CHAINS:
        if facts.name == chain and facts.has_logo:
            return chain
    return _NEUTRAL
