"""Sets merchants' plans."""

from datetime import datetime
from decimal import Decimal

from django.db import transaction

from accounts.audit.service import record
from accounts.models import Merchant, User
from accounts.states import FeeTier


@transaction.atomic
def set_plan(
    merchant_id: int, *, tier: FeeTier, rate: Decimal, actor: User, now: datetime, address: str | None = None
) -> None:
    """Set a merchant's plan from now on; `rate` is a fraction. The same plan again changes nothing.

    Raises IntegrityError for a rate other than the plan's.
    """
    merchant = Merchant.objects.select_for_update(no_key=True).get(pk=merchant_id)
    before = _plan(merchant)
    merchant.fee_tier, merchant.fee_rate = tier, rate
    if _plan(merchant) == before:
        return
    merchant.save(update_fields=["fee_tier", "fee_rate"])
    record(
        merchant,
        action="merchant.plan_set",
        actor=actor,
        object_id=merchant.public_id,
        before=before,
        after=_plan(merchant),
        address=address,
        now=now,
    )


def _plan(merchant: Merchant) -> dict[str, str]:
    return {"plan": str(merchant.fee_tier), "rate": f"{merchant.fee_rate:.5f}"}
