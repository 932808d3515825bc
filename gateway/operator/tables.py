"""The tables that operators see, and the few acts on merchants and people. None holds money: no payment is changed by hand."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib import messages
from django.contrib.admin import EmptyFieldListFilter, ModelAdmin, action
from django.contrib.admin.utils import unquote
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone

from accounts.audit.actors import actor_of
from accounts.audit.service import record
from accounts.fees.service import charges_fees, set_plan
from accounts.login.people import set_active
from accounts.merchants.service import reopen_account
from accounts.models import AuditEntry, FiatInterest, Merchant, User
from accounts.states import TIER_RATES, FeeTier
from gateway.operator.access import operator_of
from gateway.operator.impersonation import look_page
from gateway.operator.site import OperatorSite, title_at
from wallets.models import SourceDifference
from wallets.reconciliation.comparison import close_differences

if TYPE_CHECKING:  # generic for the type checker alone
    _Admin = ModelAdmin[Model]
else:
    _Admin = ModelAdmin


class ReadOnlyAdmin(_Admin):
    """Read-only rows. The site decides on access."""

    show_full_result_count = False
    list_per_page = 50

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return True: every operator sees it."""
        return True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return True: every operator reads it."""
        return True

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: no rows are added by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return False: no rows are changed by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return False: no rows are deleted by hand."""
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the filters' own lookups: with any column, a hash could be guessed bit by bit."""
        return lookup.split("__")[0] in self.get_list_filter(request)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list under its sidebar name."""
        named = (extra_context or {}) | {"title": title_at(request.path)}
        return super().changelist_view(request, named)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Raise Http404: the audit log is the only history."""
        raise Http404


if TYPE_CHECKING:  # generic for the type checker alone
    _Form = forms.ModelForm[Merchant]
else:
    _Form = forms.ModelForm


class PlanForm(_Form):
    """A plan. A custom one has its own rate; the others' rates are fixed, so a typed rate is ignored."""

    class Meta:
        model = Merchant
        fields = ["fee_tier", "fee_rate"]
        labels = {"fee_tier": "Plan", "fee_rate": "Rate of a custom plan"}
        help_texts = {
            "fee_rate": "A fraction of the amount received: 0.00500 is half a per cent. Other plans have their own."
        }

    def clean(self) -> dict[str, Any]:
        """Set the plan's rate."""
        cleaned: dict[str, Any] = super().clean() or {}
        rate = TIER_RATES.get(cleaned.get("fee_tier", ""))
        if rate is not None:
            # A rate typed for a plan with a fixed rate is ignored.
            self.errors.pop("fee_rate", None)
            cleaned["fee_rate"] = rate
        return cleaned


def _without_plans(names: Iterable[Any]) -> tuple[Any, ...]:
    """Return names of fields, the plan's only where fees are charged."""
    return tuple(name for name in names if not str(name).startswith("fee_") or charges_fees())


class MerchantAdmin(ReadOnlyAdmin):
    """Merchants, and their plans where fees are charged."""

    form = PlanForm  # type: ignore[assignment]  # a form of one model is no form of any
    list_display = ["name", "public_id", "fee_tier", "fee_rate", "created_at", "closed_at"]
    list_filter = ["fee_tier"]
    search_fields = ["name", "public_id"]
    ordering = ["-pk"]
    fields = ["name", "public_id", "created_at", "closed_at", "fee_tier", "fee_rate"]
    readonly_fields = ["name", "public_id", "created_at", "closed_at"]
    actions = ["reopen"]

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        """Return the columns; without a plan where nobody pays for one."""
        return _without_plans(self.list_display)

    def get_list_filter(self, request: HttpRequest) -> tuple[Any, ...]:
        """Return the filters."""
        return _without_plans(self.list_filter)

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[Any, ...]:
        """Return the fields of a merchant's page."""
        return _without_plans(self.fields or ())

    @action(description="Reopen accounts that were closed in the last 30 days")
    def reopen(self, request: HttpRequest, merchants: QuerySet[Merchant]) -> None:
        """Reopen these merchants' accounts."""
        changed = sum(reopen_account(merchant, actor=actor_of(request), now=timezone.now()) for merchant in merchants)
        messages.success(request, f"Reopened: {changed}.")

    def get_urls(self) -> list[URLPattern]:
        """Return the routes, impersonation included."""
        entrance = self.admin_site.admin_view(self.look)
        look = path("<path:object_id>/look/", entrance, name="look_at_merchant")
        return [look, *super().get_urls()]

    def look(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Start the impersonation of the merchant. Raises Http404."""
        merchant = self.get_object(request, unquote(object_id))
        if not isinstance(merchant, Merchant):
            raise Http404
        return look_page(request, merchant, self.admin_site.each_context(request))

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the plan can be changed: there is one where fees are charged."""
        return charges_fees()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Set the plan, audited."""
        set_plan(obj.pk, tier=FeeTier(obj.fee_tier), rate=obj.fee_rate, actor=actor_of(request), now=timezone.now())

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Do nothing: the audit log is the only history."""
        return None


class UserAdmin(ReadOnlyAdmin):
    """All people who can log in. Teams manage their own roles."""

    list_display = ["email", "name", "is_active", "is_staff", "created_at"]
    list_filter = ["is_active", "is_staff"]
    search_fields = ["email", "name", "public_id"]
    ordering = ["-pk"]
    # Never all columns: one of them is the password's hash.
    fields = ["public_id", "email", "name", "is_active", "is_staff", "created_at"]
    actions = ["deactivate", "reactivate"]

    @action(description="Deactivate: end all sessions and refuse new ones")
    def deactivate(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """Revoke these people's access, except the operator's own."""
        self._switch(request, people.exclude(pk=operator_of(request).pk), is_active=False)

    @action(description="Let in again")
    def reactivate(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """Restore these people's access."""
        self._switch(request, people, is_active=True)

    def _switch(self, request: HttpRequest, people: QuerySet[User], *, is_active: bool) -> None:
        actor, now = actor_of(request), timezone.now()
        changed = sum(set_active(person.pk, is_active=is_active, actor=actor, now=now) for person in people)
        messages.success(request, f"Changed: {changed}.")


class FiatInterestAdmin(ReadOnlyAdmin):
    """Merchants who want to take cards."""

    list_display = ["email", "company", "country", "monthly_volume", "merchant", "mode", "created_at"]
    list_filter = ["mode"]
    list_select_related = ["merchant"]
    search_fields = ["email", "company", "country"]
    ordering = ["-pk"]


class SourceDifferenceAdmin(ReadOnlyAdmin):
    """Differences between two sources of a chain; closed once an operator looked."""

    list_display = ["chain", "kind", "tx_hash", "token", "units", "source", "found_at", "closed_at"]
    list_filter = [("closed_at", EmptyFieldListFilter), "chain", "kind"]
    search_fields = ["tx_hash", "recipient"]
    ordering = ["-pk"]
    actions = ["close"]

    @action(description="Close: investigated")
    def close(self, request: HttpRequest, rows: QuerySet[SourceDifference]) -> None:
        """Close these alerts, audited."""
        ids = sorted(rows.values_list("pk", flat=True))
        now = timezone.now()
        with transaction.atomic():
            closed = close_differences(ids, now=now)
            if closed:
                record(
                    None,
                    action="source_differences.closed",
                    actor=actor_of(request),
                    after={"differences": ids},
                    now=now,
                )
        messages.success(request, f"Closed: {closed}.")


class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit log of all merchants and of the installation."""

    list_display = ["created_at", "action", "actor_label", "object_id", "merchant", "address"]
    list_select_related = ["merchant"]
    search_fields = ["action", "actor_label", "object_id", "merchant__public_id"]
    ordering = ["-pk"]


site: Final = OperatorSite()
site.register(Merchant, MerchantAdmin)
site.register(User, UserAdmin)
site.register(FiatInterest, FiatInterestAdmin)
site.register(SourceDifference, SourceDifferenceAdmin)
site.register(AuditEntry, AuditEntryAdmin)
