"""A merchant's branding as plain data for templates, without the logo's bytes, and as the style sheet of its pages."""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final, TypeVar

from django.db.models import Model, QuerySet

from accounts.brand.colours import DARK, LIGHT, Palette, Scheme, is_colour, palette
from accounts.models import Branding, Merchant

# Uses the cascade layers of static/css/florin.css, so that print styles still override colours. A logo stands on
# white: most are drawn for it, and a black one would be invisible in the dark theme.
_DRESS: Final = (
    "@layer page{"
    ".merchant img,.paper__head img{flex:none;max-width:min(160px,38vw);padding:3px;"
    "object-fit:contain;border-radius:8px;background:#fff}"
    ".paper__head img{margin-bottom:14px}"
    ".foot{flex-wrap:wrap;align-items:baseline}"
    ".foot a,.paper__foot a{color:inherit;padding-block:4px}"
    ".paper__links a+a{margin-inline-start:16px}"
    "}"
)
_EDGE: Final = (
    "@layer states{"
    ".button--primary,.button--primary:hover,.network:first-child .network__badge"
    "{border-color:var(--brand-edge)}}"
)

M = TypeVar("M", bound=Model)


@lru_cache(maxsize=1024)
def stylesheet(accent: str) -> str:
    """Return the style sheet of an accent, or of a merchant who chose none.

    Raises ValueError for anything but `#rrggbb` or empty: no untrusted text enters the style sheet.
    """
    if not accent:
        return _DRESS
    if not is_colour(accent):
        raise ValueError("not a colour")
    return _colours(accent) + _EDGE + _DRESS


@lru_cache(maxsize=1024)
def stylesheet_version(accent: str) -> str:
    """Return 16 hexadecimal digits that change with the style sheet, also when a release changes the rules."""
    return blake2b(stylesheet(accent).encode(), digest_size=8).hexdigest()


def _colours(accent: str) -> str:
    return f"@layer tokens{{{_root(accent, LIGHT)}@media (prefers-color-scheme:dark){{{_root(accent, DARK)}}}}}"


def _root(accent: str, scheme: Scheme) -> str:
    drawn = palette(accent, scheme)
    return f":root{{{properties(drawn)}}}"


def properties(drawn: Palette) -> str:
    """Return the declarations of the custom properties that a palette feeds."""
    return (
        f"--brand:{drawn.fill};--brand-hover:{drawn.hover};--brand-ink:{drawn.ink};"
        f"--brand-soft:{drawn.soft};--brand-text:{drawn.text};--brand-edge:{drawn.edge}"
    )


@dataclass(frozen=True, slots=True)
class Brand:
    """The branding that pages show. Florin's default replaces any empty value; the name is never empty.

    `style_version` and `logo_digest` are the last parts of the addresses of the style sheet and the logo.
    """

    name: str
    merchant_id: str = ""
    style_version: str = ""
    logo_digest: str = ""
    support_url: str = ""
    terms_url: str = ""
    return_label: str = ""
    # The seller's legal name, address and tax number.
    legal_lines: tuple[str, ...] = ()
    # The shop's domain, which the merchant proved.
    domain: str = ""

    @property
    def mark(self) -> str:
        """Return the initials that replace a missing logo."""
        words = [word for word in self.name.split() if word[0].isalnum()]
        return "".join(word[0] for word in words[:2]).upper()


def with_brand(rows: QuerySet[M]) -> QuerySet[M]:
    """Return the rows with their merchants and branding, in one query and without the logos' bytes."""
    return rows.select_related("merchant__branding").defer("merchant__branding__logo")


def brand_of(merchant: Merchant) -> Brand:
    """Return a merchant's branding. Read the merchant through `with_brand` to avoid another query."""
    branding: Branding | None = getattr(merchant, "branding", None)
    if branding is None:
        return Brand(name=merchant.name)
    return Brand(
        name=merchant.shown_name,
        merchant_id=merchant.public_id,
        style_version=_style_version(branding),
        logo_digest=branding.logo_digest,
        support_url=branding.support_url,
        terms_url=branding.terms_url,
        return_label=branding.return_label,
        legal_lines=tuple(branding.legal_lines.splitlines()),
        domain=branding.domain,
    )


def _style_version(branding: Branding) -> str:
    is_dressed = branding.accent or branding.logo_digest or branding.support_url or branding.terms_url
    return stylesheet_version(branding.accent) if is_dressed else ""
