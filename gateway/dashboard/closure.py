"""The page on which an owner closes the merchant account. It is in gateway because every app has open objects."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.db.models import QuerySet, Sum
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.merchants.service import REOPEN_WITHIN, close_account
from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.inbox.queries import open_count
from checkouts.models import CheckoutCount
from checkouts.states import FINAL, CheckoutStatus
from checkouts.templatetags.humane import money
from gateway.core.api.errors import ConflictError
from gateway.core.money import readable
from gateway.core.web.form_errors import words_of
from links.models import PaymentLink
from links.states import LinkStatus
from settlements.dashboard.sums import SettlementSums, sums_of
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

_MOST_COUNTED: Final = 1_000
_OPEN_CHECKOUTS: Final = [one for one in CheckoutStatus if one not in FINAL]
_UNFINISHED: Final = [DeliveryStatus.PENDING, DeliveryStatus.HELD]


@dataclass(frozen=True, slots=True)
class OpenThing:
    """A kind of open object: the count, and the page that shows them."""

    label: str
    amount: str
    url: str
    fate: str


class ClosingForm(forms.Form):
    """The merchant's name, typed to confirm the closure."""

    name = forms.CharField(label=_("Name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, data: Any = None, *, merchant_name: str) -> None:
        super().__init__(data)
        self._merchant_name = merchant_name
        self.fields["name"].label = gettext("Type %(merchant_name)s to confirm") % {"merchant_name": merchant_name}

    def clean_name(self) -> str:
        """Refuse every other name."""
        name = str(self.cleaned_data["name"])
        if name != self._merchant_name.strip():
            raise forms.ValidationError(gettext("This is not the name of the account."))
        return name


@seated(get=Act.CLOSE)
def page(request: SeatedRequest) -> HttpResponse:
    """List open objects, offer the export, and ask for the name."""
    return _page(request, ClosingForm(merchant_name=request.seat.merchant.name))


@seated(post=Act.CLOSE, fresh=True)
def close(request: SeatedRequest) -> HttpResponse:
    """Close the account and log out all members, including the owner."""
    merchant = request.seat.merchant
    form = ClosingForm(request.POST, merchant_name=merchant.name)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        is_new = close_account(merchant, actor=actor_of(request), now=timezone.now())
    except ConflictError as error:
        form.add_error(None, words_of(error))
        return _page(request, form, status=409)
    if not is_new:
        return HttpResponseRedirect(request.seat.url("dashboard_closing"))
    logout(request)
    messages.success(request, gettext("%(name)s is closed. You are logged out.") % {"name": merchant.name})
    return HttpResponseRedirect(reverse("account_login"))


def _page(request: SeatedRequest, form: ClosingForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "things": list(_open_things(request.seat)), "days": REOPEN_WITHIN.days}
    return render(request, "dashboard/gateway/closing.html", context, status=status)


def _open_things(seat: Seat) -> Iterator[OpenThing]:
    """Return what is open in live mode; test mode is ignored."""
    live = replace(seat, mode=Mode.LIVE)
    mine = {"merchant": seat.merchant, "mode": Mode.LIVE}
    counts = CheckoutCount.objects.filter(**mine, status__in=_OPEN_CHECKOUTS)
    links = PaymentLink.objects.filter(**mine, status=LinkStatus.ACTIVE)
    deliveries = Delivery.objects.filter(**mine, status__in=_UNFINISHED)
    sums = sums_of(live)
    yield OpenThing(
        gettext("Open checkouts"),
        f"{counts.aggregate(total=Sum('value'))['total'] or 0:,}",
        live.url("dashboard_checkouts"),
        gettext("Buyers can pay them until they expire."),
    )
    yield OpenThing(
        gettext("Active payment links"),
        _counted(links),
        live.url("dashboard_links"),
        gettext("Their pages say that you take no payments."),
    )
    yield OpenThing(
        gettext("Money at deposit addresses, USD"),
        _waiting(sums),
        live.url("dashboard_settlements"),
        gettext("It can still be settled, to your wallets alone."),
    )
    yield OpenThing(
        gettext("Webhooks not delivered yet"),
        _counted(deliveries),
        live.url("dashboard_webhooks"),
        gettext("They are still sent."),
    )
    yield OpenThing(
        gettext("Inbox items"),
        f"{open_count(live):,}",
        live.url("dashboard_inbox"),
        gettext("They wait for your decision."),
    )


def _waiting(sums: SettlementSums) -> str:
    others = (f"{readable(line.waiting)} {line.token}" for line in sums.others if line.waiting)
    return gettext(" and ").join([money(sums.waiting), *others])


def _counted(rows: QuerySet[Any]) -> str:
    found = rows.order_by()[:_MOST_COUNTED].count()
    return f"{found:,}" if found < _MOST_COUNTED else gettext("%(count)s or more") % {"count": f"{found:,}"}
