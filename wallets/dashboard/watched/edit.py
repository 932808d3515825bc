"""Adds, edits and removes watched wallets."""

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError, InvalidRequestError, RateLimitError, UnavailableError
from gateway.core.web.form_errors import add_refusal, refusal_of, words_of
from wallets.dashboard.watched.pages import find_wallet
from wallets.dashboard.watched.rows import watched_rows
from wallets.models import WatchedWallet
from wallets.models.watched import MOST_TAGS
from wallets.networks import chains
from wallets.receiving.inspection import inspect
from wallets.selectors import chain_statuses
from wallets.states import ChainStatus
from wallets.watched.service import (
    LABEL_LENGTH,
    change_watched_wallet,
    clean_label,
    clean_tags,
    remove_watched_wallet,
    watch_wallet,
)

# Room for all tags at full length, each on its own line.
_TAGS_LENGTH: Final = 1_000


_LONGEST_KNOWN: Final = 120


class EditForm(forms.Form):
    """A wallet's label and tags."""

    label = forms.CharField(
        label=_("Label"),
        required=False,
        max_length=LABEL_LENGTH,
        help_text=_("“Payroll” or “Cold storage”: how your team calls it."),
    )
    tags = forms.CharField(
        label=_("Tags"),
        required=False,
        max_length=_TAGS_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text=format_lazy(_("With commas between them, or each on a line. {count} at most."), count=MOST_TAGS),
    )

    def clean_label(self) -> str:
        """Return the normalised label."""
        return clean_label(self.cleaned_data["label"])

    def clean_tags(self) -> list[str]:
        """Return the normalised tags, from lines or commas."""
        lines = self.cleaned_data["tags"].splitlines()
        try:
            return clean_tags(tag for line in lines for tag in line.split(","))
        except InvalidRequestError as error:
            raise ValidationError(refusal_of(self, error)) from error


class WatchForm(EditForm):
    """The address to watch; label and tags may be added later."""

    field_order = ["chain", "address", "label", "tags"]

    chain = forms.ChoiceField(label=_("Network"))
    address = forms.CharField(
        label=_("Address"),
        max_length=120,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false", "class": "mono"}
        ),
        help_text=_("Any wallet or contract on this network. It is checked before it is watched."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = [(spec.name, spec.title) for spec in chains().values()]
        self.fields["chain"].choices = known  # type: ignore[attr-defined]


@seated(get=Act.MANAGE_WATCHED_WALLETS, post=Act.MANAGE_WATCHED_WALLETS)
def watch(request: SeatedRequest) -> HttpResponse:
    """Ask for an address, and watch it."""
    if request.method != "POST":
        # A page that knows an address may lead here.
        known = {name: request.GET.get(name, "")[:_LONGEST_KNOWN] for name in ("chain", "address")}
        return _ask(request, WatchForm(initial=known))
    form = WatchForm(request.POST)
    if not form.is_valid():
        return _ask(request, form, status=422)
    try:
        wallet, is_new = _watch(request, form)
    except InvalidRequestError as error:
        add_refusal(form, error)
        return _ask(request, form, status=422)
    except ConflictError as error:
        form.add_error(None, words_of(error))
        return _ask(request, form, status=409)
    if is_new:
        messages.success(request, gettext("This wallet is watched from now on."))
        if warning := _warning(wallet):
            check = gettext("Check that you meant this address: it is watched all the same.")
            messages.warning(request, f"{warning} {check}")
    else:
        messages.warning(request, gettext("This wallet is watched already; it stays as it was."))
    return _to_wallet(request, wallet)


@seated(get=Act.MANAGE_WATCHED_WALLETS, post=Act.MANAGE_WATCHED_WALLETS)
def edit(request: SeatedRequest, *, wallet_id: str) -> HttpResponse:
    """Change a wallet's label and tags."""
    wallet = find_wallet(request.seat, wallet_id)
    if request.method != "POST":
        written = {"label": wallet.label, "tags": "\n".join(wallet.tags)}
        return _edit(request, wallet, EditForm(initial=written))
    form = EditForm(request.POST)
    if not form.is_valid():
        return _edit(request, wallet, form, status=422)
    try:
        change_watched_wallet(
            wallet,
            label=form.cleaned_data["label"],
            tags=form.cleaned_data["tags"],
            actor=actor_of(request),
            now=timezone.now(),
        )
    except ConflictError as error:
        return _gone(request, error)
    messages.success(request, gettext("Saved."))
    return _to_wallet(request, wallet)


@seated(post=Act.MANAGE_WATCHED_WALLETS)
def unwatch(request: SeatedRequest, *, wallet_id: str) -> HttpResponse:
    """Stop watching a wallet."""
    wallet = find_wallet(request.seat, wallet_id)
    try:
        remove_watched_wallet(wallet, actor=actor_of(request), now=timezone.now())
    except ConflictError as error:
        return _gone(request, error)
    messages.success(request, gettext("This wallet is not watched any more."))
    return HttpResponseRedirect(request.seat.url("dashboard_watched_wallets"))


def _watch(request: SeatedRequest, form: WatchForm) -> tuple[WatchedWallet, bool]:
    return watch_wallet(
        request.seat.merchant,
        mode=request.seat.mode,
        chain=form.cleaned_data["chain"],
        address=form.cleaned_data["address"],
        label=form.cleaned_data["label"],
        tags=form.cleaned_data["tags"],
        actor=actor_of(request),
        now=timezone.now(),
    )


def _warning(wallet: WatchedWallet) -> str:
    """Return what its chain says against a wallet of live mode; empty if nothing, or if the chain does not answer."""
    now = timezone.now()
    is_read = chain_statuses(now=now)[wallet.chain] != ChainStatus.DOWN
    if wallet.mode != Mode.LIVE or not is_read:
        return ""
    try:
        inspect(wallet.chain, wallet.address, now=now, asker=str(wallet.merchant_id))
    except InvalidRequestError as error:
        return words_of(error)
    except (RateLimitError, UnavailableError):
        return ""
    return ""


def _ask(request: SeatedRequest, form: WatchForm, status: int = 200) -> HttpResponse:
    context = {"form": form}
    return render(request, "dashboard/wallets/watched/form.html", context, status=status)


def _edit(request: SeatedRequest, wallet: WatchedWallet, form: EditForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "row": watched_rows([wallet])[0]}
    return render(request, "dashboard/wallets/watched/edit.html", context, status=status)


def _to_wallet(request: SeatedRequest, wallet: WatchedWallet) -> HttpResponse:
    return HttpResponseRedirect(request.seat.url("dashboard_watched_wallet", wallet_id=wallet.public_id))


def _gone(request: SeatedRequest, error: ConflictError) -> HttpResponse:
    """Handle a wallet that another person removed a moment ago."""
    messages.error(request, words_of(error))
    return HttpResponseRedirect(request.seat.url("dashboard_watched_wallets"))
