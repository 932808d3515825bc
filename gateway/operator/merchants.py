"""Merchants: the operator sets their plan, and nothing else."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import Merchant
from accounts.services.plans import set_plan
from accounts.states import TIER_RATES, FeeTier
from gateway.core.clientaddr import address_or_none
from gateway.operator.access import operator_of
from gateway.operator.reading import ReadOnlyAdmin

if TYPE_CHECKING:  # generic for the type checker alone
    _Form = forms.ModelForm[Merchant]
else:
    _Form = forms.ModelForm


class PlanForm(_Form):
    """A plan; a custom one has a rate of its own, the others have theirs whatever is typed."""

    class Meta:
        model = Merchant
        fields = ["fee_tier", "fee_rate"]
        labels = {"fee_tier": "Plan", "fee_rate": "Rate of a custom plan"}
        help_texts = {
            "fee_rate": "A fraction of the amount received: 0.00500 is half a per cent. Other plans have their own."
        }

    def clean(self) -> dict[str, Any]:
        """Give the plan its rate."""
        cleaned: dict[str, Any] = super().clean() or {}
        rate = TIER_RATES.get(cleaned.get("fee_tier", ""))
        if rate is not None:
            # What was typed for another plan is no mistake.
            self.errors.pop("fee_rate", None)
            cleaned["fee_rate"] = rate
        return cleaned


class MerchantAdmin(ReadOnlyAdmin):
    """Who takes payments here, on which plan."""

    form = PlanForm  # type: ignore[assignment]  # a form of one model is no form of any
    list_display = ["name", "public_id", "fee_tier", "fee_rate", "created_at"]
    list_filter = ["fee_tier"]
    search_fields = ["name", "public_id"]
    ordering = ["-pk"]
    fields = ["name", "public_id", "created_at", "fee_tier", "fee_rate"]
    readonly_fields = ["name", "public_id", "created_at"]

    def has_change_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        """The plan can be changed."""
        return True

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        """Set the plan, audited."""
        set_plan(
            obj.pk,
            tier=FeeTier(obj.fee_tier),
            rate=obj.fee_rate,
            actor=operator_of(request),
            address=address_or_none(request),
            now=timezone.now(),
        )

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Keep no second history beside the audit log."""
        return None
