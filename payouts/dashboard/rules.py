"""The page of the rules for approving payouts: how many people, above which amount, and who."""

from dataclasses import asdict

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.merchants.payout_rules import MOST_ABOVE, PayoutRules, set_payout_rules
from accounts.models import Membership
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.money import USD_DIGITS
from payouts.approvals.service import approver_roles
from payouts.dashboard.second_factor import refuse_without_factor


class RulesForm(forms.Form):
    """The rules. The amount is in USD, and counts if two people approve."""

    approvals = forms.TypedChoiceField(
        label=_("How many people approve"),
        coerce=int,
        choices=[(1, _("One person approves each payout")), (2, _("Two people approve payouts above an amount"))],
        widget=forms.RadioSelect,
    )
    second_above = forms.DecimalField(
        label=_("Two people above (USD)"),
        min_value=0,
        max_value=MOST_ABOVE,
        max_digits=USD_DIGITS,
        decimal_places=2,
        help_text=_("Counts if two people approve. The person who asked for such a payout is neither of the two."),
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    admins_approve = forms.BooleanField(
        label=_("Admins can approve, too"), required=False, help_text=_("Otherwise only owners can.")
    )

    def rules(self) -> PayoutRules:
        """Return the rules of a valid form."""
        return PayoutRules(**self.cleaned_data)


@seated(get=Act.SEE)
def rules(request: SeatedRequest) -> HttpResponse:
    """Show the rules, and looser ones that wait."""
    return _page(request, RulesForm(initial=asdict(PayoutRules.of(request.seat.merchant))))


@seated(post=Act.MANAGE_APPROVALS, fresh=True)
def set_rules(request: SeatedRequest) -> HttpResponse:
    """Set the rules: stricter ones hold at once, looser ones after the wait of receiving wallets."""
    if refusal := refuse_without_factor(request):
        return refusal
    form = RulesForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    changed = set_payout_rules(request.seat.merchant, form.rules(), now=timezone.now(), actor=actor_of(request))
    is_put_off = changed.next_payout_rules_at is not None
    words = (
        gettext("These rules are looser: they hold once the wait is over.") if is_put_off else gettext("Rules saved.")
    )
    messages.success(request, words)
    return _back(request)


@seated(post=Act.MANAGE_APPROVALS)
def keep_rules(request: SeatedRequest) -> HttpResponse:
    """Keep the present rules in place of looser ones that wait. No reauthentication is needed, so that it is quick."""
    merchant = request.seat.merchant
    set_payout_rules(merchant, PayoutRules.of(merchant), now=timezone.now(), actor=actor_of(request))
    messages.success(request, gettext("The present rules stay."))
    return _back(request)


def _back(request: SeatedRequest) -> HttpResponse:
    return HttpResponseRedirect(request.seat.url("dashboard_approvals"))


def _page(request: SeatedRequest, form: RulesForm, status: int = 200) -> HttpResponse:
    merchant = request.seat.merchant
    approvers = Membership.objects.filter(merchant=merchant, role__in=approver_roles(merchant)).count()
    context = {
        "form": form,
        "merchant": merchant,
        "waiting": PayoutRules.next_of(merchant),
        "approvers": approvers,
        "is_short": approvers < merchant.payout_approvals,
    }
    return render(request, "dashboard/payouts/rules.html", context, status=status)
