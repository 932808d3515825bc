"""A merchant's requirements for machines' payments."""

from datetime import datetime

from django.db import transaction

from accounts.audit.service import record
from accounts.models import Merchant, User
from x402.models import MachineSettings


def requires_signature(merchant_id: int) -> bool:
    """Return whether a proof by hash needs the payer's signature."""
    rows = MachineSettings.objects.filter(merchant=merchant_id)
    return bool(rows.values_list("requires_signature", flat=True).first())


@transaction.atomic
def set_requirements(
    merchant: Merchant, *, requires_signature: bool, actor: User | None, now: datetime, client: str | None = None
) -> None:
    """Set whether payers must sign, from the next verification on. `client` is the caller's network address."""
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    settings, _ = MachineSettings.objects.get_or_create(merchant=merchant)
    before = settings.requires_signature
    if before == requires_signature:
        return
    settings.requires_signature = requires_signature
    settings.save(update_fields=["requires_signature"])
    record(
        merchant,
        action="x402.requirements_set",
        actor=actor,
        before={"requires_signature": before},
        after={"requires_signature": requires_signature},
        address=client,
        now=now,
    )
