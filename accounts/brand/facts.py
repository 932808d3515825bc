"""A merchant's branding as plain data for templates, without the logo's bytes."""

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Model, QuerySet

from accounts.brand.styles import stylesheet_version
from accounts.models import Branding, Merchant

M = TypeVar("M", bound=Model)


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
    )


def _style_version(branding: Branding) -> str:
    is_dressed = branding.accent or branding.logo_digest or branding.support_url or branding.terms_url
    return stylesheet_version(branding.accent) if is_dressed else ""
