"""`manage.py brand_merchant`: change a merchant's branding from the command line."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, cast

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.brand.service import MAX_UPLOAD_BYTES, BrandingChanges, change_branding
from accounts.models import Merchant
from gateway.core.api.errors import GatewayError


class Command(BaseCommand):
    """Changes the named settings; an empty value resets to the default."""

    help = "Set how a merchant's pages look. An empty value restores the default."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments: the merchant, and the settings to change."""
        parser.add_argument("merchant", help="its id: mer_…")
        parser.add_argument("--name", dest="display_name", help="the name buyers read")
        parser.add_argument("--logo", help="a PNG, JPEG, WebP or GIF file")
        parser.add_argument("--accent", help="a colour, such as #2440d8")
        parser.add_argument("--support", dest="support_url", help="where to find help")
        parser.add_argument("--terms", dest="terms_url", help="the terms of sale")
        parser.add_argument("--return-label", help="label of the return button")
        parser.add_argument("--legal-lines", help="the seller on receipts: legal name, address, tax number, in lines")

    def handle(self, *args: Any, **options: Any) -> None:
        """Change everything, or nothing."""
        merchant = Merchant.objects.filter(public_id=options["merchant"]).first()
        if merchant is None:
            raise CommandError(f"There is no merchant {options['merchant']}.")
        try:
            branding = change_branding(
                merchant, changes=_changes(options), now=timezone.now(), actor=Actor(label="manage.py brand_merchant")
            )
        except GatewayError as error:
            raise CommandError(error.message) from error
        self.stdout.write(
            f"Pages of {merchant.public_id} show {merchant.shown_name}, "
            f"accent {branding.accent or 'the default'}, logo {branding.logo_digest or 'none'}."
        )


def _changes(options: dict[str, Any]) -> BrandingChanges:
    names = ("display_name", "accent", "support_url", "terms_url", "return_label", "legal_lines")
    changes: dict[str, Any] = {name: options[name] for name in names if options[name] is not None}
    if options["logo"] is not None:
        changes["logo"] = _read(options["logo"]) if options["logo"] else b""
    return cast("BrandingChanges", changes)


def _read(name: str) -> bytes:
    """Return a file's bytes, reading at most slightly more than the limit. Raises CommandError."""
    try:
        with Path(name).open("rb") as file:
            return file.read(MAX_UPLOAD_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
