"""The pages on which a person names the transaction that gave money back, or that paid a payout which waits: one form for both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.money import readable_units
from gateway.core.web.form_errors import add_refusal, words_of
from payouts.dashboard.pages import find_payout, to_payout
from payouts.dashboard.refunds import Refunded, of_checkout, of_item, of_machine, of_transfer, rest_of, turn_back
from payouts.dashboard.rows import amount_of, takes_transaction
from payouts.following.sent import name_transaction, paying_transfers, record_sent, sent_transfers
from payouts.models import Payout
from wallets.chains.base import TokenTransfer
from wallets.networks import chain_title, decimals_of, shown_address

_HASH_LENGTH: Final = 200


class SentForm(forms.Form):
    """The transaction of a refund or payout that was sent already."""

    tx_hash = forms.CharField(
        label=_("Transaction that sent it"),
        max_length=_HASH_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
        help_text=_("Its hash, or an explorer link."),
    )


@dataclass(frozen=True, slots=True)
class SentChoice:
    """A payment of a looked up transaction; `value` is posted."""

    value: str
    amount: str
    token: str
    network: str
    recipient: str


@dataclass(frozen=True, slots=True)
class _Naming:
    """What a transaction is named for: how its payments are found, how one is recorded, and what its page says and links to.

    `find` and `record` raise InvalidRequestError and ConflictError.
    """

    subject: str
    subject_url: str
    action: str
    back: str
    is_refund: bool
    find: Callable[[str], Sequence[TokenTransfer]]
    record: Callable[[TokenTransfer], Payout]


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def sent(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Record a refund of a checkout that was sent already, by its transaction."""
    return _sent_refund(request, of_checkout(request, checkout_id))


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def sent_item(request: SeatedRequest, *, item_id: int) -> HttpResponse:
    """Record a refund of money in the inbox that was sent already, by its transaction."""
    return _sent_refund(request, of_item(request, item_id))


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def sent_machine(request: SeatedRequest, *, payment_id: str) -> HttpResponse:
    """Record a refund of a machine's payment that was sent already, by its transaction."""
    return _sent_refund(request, of_machine(request, payment_id))


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def sent_transfer(request: SeatedRequest, *, transfer_id: str) -> HttpResponse:
    """Record a refund of money from a machine that paid for nothing, and that was sent already, by its transaction."""
    return _sent_refund(request, of_transfer(request, transfer_id))


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def sent_payout(request: SeatedRequest, *, payout_id: str) -> HttpResponse:
    """Name the transaction that paid a payout from a wallet that is not watched."""
    seat, found = request.seat, find_payout(request.seat, payout_id)
    if not takes_transaction(found):
        messages.error(request, gettext("This does not wait to be paid, or its transaction is known already."))
        return to_payout(seat, payout_id)
    page = seat.url("dashboard_payout", payout_id=payout_id)
    naming = _Naming(
        subject=f"{amount_of(found)} {found.token}",
        subject_url=page,
        action=seat.url("dashboard_sent_payout", payout_id=payout_id),
        back=page,
        is_refund=False,
        find=lambda text: paying_transfers(text, found),
        record=lambda chosen: name_transaction(found, chosen, actor=actor_of(request), now=timezone.now()),
    )
    return _name(request, naming)


def _sent_refund(request: SeatedRequest, refunded: Refunded) -> HttpResponse:
    seat, source = request.seat, refunded.source
    if seat.mode != Mode.LIVE:
        return turn_back(request, refunded, gettext("In test mode no network has transactions."))
    try:
        rest_of(request, refunded)
    except ConflictError as error:
        return turn_back(request, refunded, words_of(error))
    merchant, mode = seat.merchant, Mode(seat.mode)
    naming = _Naming(
        subject=refunded.name,
        subject_url=refunded.refund_url,
        action=refunded.sent_url,
        back=refunded.back,
        is_refund=True,
        find=lambda text: sent_transfers(text, source, merchant=merchant, mode=mode),
        record=lambda chosen: record_sent(
            merchant, chosen, mode=mode, source=source, now=timezone.now(), actor=actor_of(request)
        ),
    )
    return _name(request, naming)


def _name(request: SeatedRequest, naming: _Naming) -> HttpResponse:
    """Ask for a transaction, show what it sent, and record the payment that is chosen."""
    if request.method != "POST":
        return _page(request, naming, SentForm())
    form = SentForm(request.POST)
    if not form.is_valid():
        return _page(request, naming, form, status=422)
    try:
        found = naming.find(form.cleaned_data["tx_hash"])
    except (InvalidRequestError, ConflictError) as error:
        add_refusal(form, error)
        return _page(request, naming, form, status=422)
    named = request.POST.get("choice", "")
    if not named:
        return _page(request, naming, form, found)
    chosen = next((one for one in found if _name_of(one) == named), None)
    if chosen is None:
        form.add_error(None, gettext("Choose the payment."))
        return _page(request, naming, form, found, status=422)
    try:
        payout = naming.record(chosen)
    except (InvalidRequestError, ConflictError) as error:
        form.add_error(None, words_of(error))
        return _page(request, naming, form, found, status=422)
    messages.success(request, gettext("Noted. It is paid once the network has it for good."))
    return to_payout(request.seat, payout.public_id)


def _name_of(one: TokenTransfer) -> str:
    """Return how a form names a movement."""
    return f"{one.chain}:{one.tx_hash}:{one.position}"


def _choice_of(one: TokenTransfer) -> SentChoice:
    """Return a movement as a person chooses it."""
    amount = readable_units(one.units, decimals_of(one.chain, one.token))
    return SentChoice(_name_of(one), amount, one.token, chain_title(one.chain), shown_address(one.recipient))


def _page(
    request: SeatedRequest, naming: _Naming, form: SentForm, found: Sequence[TokenTransfer] = (), status: int = 200
) -> HttpResponse:
    context = {"form": form, "naming": naming, "choices": [_choice_of(one) for one in found]}
    return render(request, "dashboard/payouts/sent.html", context, status=status)
