"""Creates and changes links and templates."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.brand.facts import with_brand
from accounts.merchants.service import refuse_if_closed
from accounts.states import Mode
from accounts.team.service import mail_owners
from gateway.core.api.errors import ConflictError
from gateway.core.ids import new_id
from gateway.core.money import format_usd
from gateway.core.texts import pgettext_noop
from links.models import LinkTemplate, PaymentLink
from links.selectors import has_completed_checkout, has_open_checkout
from links.states import LinkStatus, LinkType
from mails.words import one_line

Values = Mapping[str, Any]
"""What a serializer of links.serializers read, by column."""

_ADDRESSES: Final = {
    "webhook_url": pgettext_lazy("team", "Webhooks to: {before}, now {now}"),
    "redirect_url": pgettext_lazy("team", "Returns to: {before}, now {now}"),
}
_NONE: Final = pgettext_lazy("team", "none")
_SHOWN: Final = 60
"""How much of a title, which a key's holder chooses, stands in a mail."""
_CHANGED: Final = pgettext_lazy(
    "team",
    """{who} changed where a payment link reports its payments or sends its payers:

{title}

{lines}

If you did not expect this, change it back and revoke the key:
{dashboard}
""",
)


@transaction.atomic
def create_link(
    merchant_id: int,
    mode: Mode,
    wanted: Values,
    *,
    template: LinkTemplate | None,
    now: datetime,
    by: Actor | None = None,
) -> PaymentLink:
    """Create a link that takes payments at once. Raises ConflictError if the merchant account is closed.

    If the template is deleted concurrently, the link is created without it.
    """
    refuse_if_closed(merchant_id)
    link = PaymentLink.objects.create(
        public_id=new_id(f"lnk_{mode}"),
        merchant_id=merchant_id,
        mode=mode,
        template=_still_there(template),
        created_at=now,
        updated_at=now,
        **wanted,
    )
    said = {name: value for name, value in wanted.items() if value}
    _note(link, "payment_link.created", by, now, after=said)
    return link


def locked_link(link: PaymentLink) -> PaymentLink:
    """Return the link's current row, locked until the transaction ends: it waits for payments that are just being begun."""
    links = with_brand(PaymentLink.objects.select_related("template"))
    return links.select_for_update(of=("self",)).get(pk=link.pk)


@transaction.atomic
def change_link(
    link: PaymentLink, wanted: Values, *, now: datetime, by: Actor | None = None, seen: datetime | None = None
) -> PaymentLink:
    """Change a link's fields to `wanted`; checkouts that were made from it stay unchanged.

    If `wanted` has values of the link's row, either hold the row by `locked_link`, or pass `seen`: other people's changes
    would be undone. Raises ConflictError (state_conflict) if an invoice's price would change while it is paid or being paid, or if the link
    was changed after `seen`, the time of the last change that the caller knows.
    """
    held = locked_link(link)
    if seen not in (None, held.updated_at):
        raise ConflictError(pgettext_noop("team", "Another team member has changed this link. Open it again."))
    if held.type == LinkType.INVOICE and held.amount != wanted["amount"]:
        _refuse_new_price(held)
    after = {key: new for key, new in wanted.items() if getattr(held, key) != new}
    before = {name: getattr(held, name) for name in after}
    for name, value in after.items():
        setattr(held, name, value)
    if after:
        _note(held, "payment_link.changed", by, now, before, after)
    if held.mode == Mode.LIVE and not _ADDRESSES.keys().isdisjoint(after):
        _tell_owners(held, by, before, now)
    return _saved(held, now)


def _tell_owners(link: PaymentLink, by: Actor | None, before: Mapping[str, Any], now: datetime) -> None:
    """Mail all owners that a link reports its payments, or sends its payers, elsewhere.

    Each change by a person is told, and of one API key's changes of a link the first in an hour: a mail about one who may change it must
    not keep back that about another.
    """
    moment = now.isoformat() if by and by.user else f"{by.name if by else ''}:{now:%Y%m%d%H}"
    lines = [
        format_lazy(line, before=before[name] or _NONE, now=getattr(link, name) or _NONE)
        for name, line in _ADDRESSES.items()
        if name in before
    ]
    mail_owners(
        link.merchant_id,
        key=f"link_addresses:{link.public_id}:{moment}",
        subject=pgettext_lazy("team", "Addresses of a payment link changed"),
        text=format_lazy(
            _CHANGED,
            who=by.name if by else pgettext_lazy("team", "A program"),
            title=one_line(link.title)[:_SHOWN],
            lines=format_lazy("\n".join("{}" for _ in lines), *lines),
            dashboard=f"{settings.BASE_URL}/dashboard/",
        ),
        now=now,
    )


@transaction.atomic
def set_status(link: PaymentLink, status: LinkStatus, *, now: datetime, by: Actor | None = None) -> PaymentLink:
    """Set a link's status. It applies to all payments that begin afterwards."""
    held = locked_link(link)
    before, held.status = held.status, status
    if before != status:
        changed = {"status": before}, {"status": str(status)}
        _note(held, "payment_link.status_set", by, now, *changed)
    return _saved(held, now)


@transaction.atomic
def create_template(
    merchant_id: int, mode: Mode, wanted: Values, *, now: datetime, by: Actor | None = None
) -> LinkTemplate:
    """Save a template."""
    template = LinkTemplate.objects.create(merchant_id=merchant_id, mode=mode, created_at=now, **wanted)
    _note(template, "link_template.created", by, now, after={"title": template.title})
    return template


@transaction.atomic
def delete_template(template: LinkTemplate, *, now: datetime, by: Actor | None = None) -> None:
    """Delete a template; its links stay. Idempotent."""
    if not LinkTemplate.objects.select_for_update().filter(pk=template.pk).exists():
        return
    _note(template, "link_template.deleted", by, now, {"title": template.title})
    template.delete()


def _still_there(template: LinkTemplate | None) -> LinkTemplate | None:
    """Lock a template, so that a concurrent deletion waits and then finds the link."""
    if template is None:
        return None
    rows = LinkTemplate.objects.select_for_update(no_key=True)
    return rows.filter(pk=template.pk).first()


def _note(
    what: PaymentLink | LinkTemplate,
    action: str,
    by: Actor | None,
    now: datetime,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Write the audit entry.

    Links that a shop's server creates, perhaps one per order, are left out, because they would bury the rest.
    """
    if by is None:
        return
    record(
        what.merchant,
        action=action,
        actor=by,
        object_id=what.public_id,
        before=_audited(before),
        after=_audited(after),
        now=now,
    )


def _audited(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if values is None:
        return None
    return {name: format_usd(value) if isinstance(value, Decimal) else value for name, value in values.items()}


def _saved(link: PaymentLink, now: datetime) -> PaymentLink:
    link.updated_at = now
    link.save()
    return link


def _refuse_new_price(link: PaymentLink) -> None:
    if has_completed_checkout(link):
        raise ConflictError(pgettext_noop("team", "The invoice is paid; its amount stays."), param="amount")
    if has_open_checkout(link):
        raise ConflictError(
            pgettext_noop(
                "team", "A payer has an open checkout for this invoice. Change the amount once that checkout has ended."
            ),
            param="amount",
        )
