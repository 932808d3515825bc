"""The merchant's plan."""

from decimal import Decimal

from django.http import HttpResponse
from django.shortcuts import render

from accounts.permissions import Act
from accounts.seats import SeatedRequest, seated
from accounts.states import TIER_RATES, FeeTier


@seated(get=Act.SEE)
def fees(request: SeatedRequest) -> HttpResponse:
    """Show the plan, its rate, and the other ones."""
    merchant = request.seat.merchant
    plans = [
        (tier.label, _percent(rate), tier == merchant.fee_tier)
        for tier, rate in TIER_RATES.items()
    ]
    if merchant.fee_tier == FeeTier.CUSTOM:
        plans.append((FeeTier.CUSTOM.label, _percent(merchant.fee_rate), True))
    context = {"plans": plans, "rate": _percent(merchant.fee_rate)}
    return render(request, "dashboard/fees.html", context)


def _percent(rate: Decimal) -> str:
    """Write a fraction as a percentage without needless zeros."""
    return f"{rate * 100:.3f}".rstrip("0").rstrip(".") + " %"
