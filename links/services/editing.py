"""Making and changing links and templates."""

from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.branding import with_brand
from accounts.states import Mode
from gateway.core.errors import ConflictError
from gateway.core.ids import new_id
from gateway.core.money import format_usd
from links.inputs import LinkFields, TemplateFields
from links.models import LinkTemplate, PaymentLink
from links.selectors import has_completed_checkout, has_open_checkout
from links.states import LinkStatus, LinkType


def create_link(
    merchant_id: int,
    mode: Mode,
    wanted: LinkFields,
    *,
    template: LinkTemplate | None,
    now: datetime,
) -> PaymentLink:
    """Make a link that takes payments at once."""
    return PaymentLink.objects.create(
        public_id=new_id(f"lnk_{mode}"),
        merchant_id=merchant_id,
        mode=mode,
        template=template,
        created_at=now,
        updated_at=now,
        **_columns(wanted),
    )


def change_link(link: PaymentLink, wanted: LinkFields, *, now: datetime) -> PaymentLink:
    """Change what a link says; checkouts that were made from it stay as they are.

    Raises ConflictError (state_conflict) where an invoice is paid, or about to be, and its price would change.
    """
    with transaction.atomic():
        held = _held(link)
        if held.type == LinkType.INVOICE and held.amount != wanted.amount:
            _refuse_new_price(held)
        for name, value in _columns(wanted).items():
            setattr(held, name, value)
        return _saved(held, now)


def set_status(link: PaymentLink, status: LinkStatus, *, now: datetime) -> PaymentLink:
    """Let a link take payments, or not. From then on no payment begins that the status forbids."""
    with transaction.atomic():
        held = _held(link)
        held.status = status
        return _saved(held, now)


def create_template(
    merchant_id: int, mode: Mode, wanted: TemplateFields, *, now: datetime
) -> LinkTemplate:
    """Save defaults that links can be made from."""
    return LinkTemplate.objects.create(
        merchant_id=merchant_id,
        mode=mode,
        title=wanted.title,
        type=wanted.type,
        amount=wanted.amount,
        description=wanted.description,
        metadata=wanted.metadata,
        created_at=now,
    )


def delete_template(template: LinkTemplate) -> None:
    """Forget a template; links made from it stay."""
    template.delete()


def _held(link: PaymentLink) -> PaymentLink:
    """Return the link as it is now, locked: it waits for the payments that are just being begun."""
    links = with_brand(PaymentLink.objects.select_related("template"))
    return links.select_for_update(of=("self",)).get(pk=link.pk)


def _saved(link: PaymentLink, now: datetime) -> PaymentLink:
    link.updated_at = now
    link.save()
    return link


def _refuse_new_price(link: PaymentLink) -> None:
    if has_completed_checkout(link):
        raise ConflictError("The invoice is paid; its amount stays.", param="amount")
    if has_open_checkout(link):
        raise ConflictError(
            "Somebody is about to pay the invoice; change its amount once that checkout ended.",
            param="amount",
        )


def _columns(wanted: LinkFields) -> dict[str, Any]:
    return {
        "title": wanted.title,
        "description": wanted.description,
        "type": wanted.type,
        "amount": wanted.amount,
        "currency": wanted.currency,
        "min_amount": wanted.min_amount,
        "max_amount": wanted.max_amount,
        "suggested_amounts": list(map(format_usd, wanted.suggested_amounts)),
        "interval": wanted.interval or "",
        "metadata": wanted.metadata,
        "redirect_url": wanted.redirect_url,
        "webhook_url": wanted.webhook_url,
        "customer_ref": wanted.customer_ref,
        "product_ref": wanted.product_ref,
    }
