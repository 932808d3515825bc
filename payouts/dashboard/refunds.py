"""The forms of a refund: of a checkout, of money in the inbox, or of a machine's payment."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.dashboard.details import find_checkout
from checkouts.inbox.queries import item_of
from checkouts.inbox.service import acts_of
from checkouts.models import Checkout
from checkouts.pricing import dues_of, units_worth
from checkouts.states import CheckoutException, InboxAct
from gateway.core.api.errors import ConflictError, InvalidRequestError, RateLimitError
from gateway.core.currencies import price_at, readable_price
from gateway.core.money import TOKEN_DIGITS, from_units, readable, readable_units, to_units
from gateway.core.web.form_errors import add_refusal, words_of
from mails.addresses import writable
from payouts.lifecycle.mails import mail_claim
from payouts.lifecycle.payers import MOST_SENDERS, senders_of
from payouts.lifecycle.quotes import at_quote
from payouts.lifecycle.recipients import LONGEST_ADDRESS, Recipient, ask_recipient
from payouts.lifecycle.service import Requested, Terms, request_refund
from payouts.lifecycle.sources import Source, is_usd, overpaid_rest, rests_of, source_transfers
from payouts.models import REASON_LENGTH, Payout
from payouts.states import AddressBy
from wallets.models import Transfer
from wallets.networks import chain_title, decimals_of
from wallets.states import ClaimKind
from x402.models import X402Payment


class RefundForm(forms.Form):
    """A refund: an amount in tokens, the reason that the recipient reads, and who gets the link; or the address, if it is known."""

    amount = forms.DecimalField(label=_("Amount"), max_digits=TOKEN_DIGITS, min_value=0)
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=REASON_LENGTH,
        help_text=_("The recipient reads it on the claim page."),
    )
    email = forms.CharField(
        label=_("Send the link to"),
        required=False,
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "email"}),
        help_text=_("The claim page asks for an address to pay to. Leave this empty to pass the link on yourself."),
    )

    address = forms.CharField(
        label=_("Address of the buyer"),
        required=False,
        max_length=LONGEST_ADDRESS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "mono"}),
        help_text=_("Only if the buyer told you. Leave it empty, and the claim page asks the buyer."),
    )
    requires_payer_proof = forms.BooleanField(
        label=_("Only to the address that paid"),
        required=False,
        help_text=_(
            "The buyer signs a message with its wallet on the claim page. Who paid from an exchange cannot sign."
        ),
    )

    def __init__(self, *args: Any, token: str, unit: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["amount"].label, self.fields["amount"].help_text = (
            gettext("Amount in %(token)s") % {"token": token},
            unit,
        )

    def clean_email(self) -> str:
        """Return an address that can be written to, or nothing. Raises ValidationError."""
        typed: str = self.cleaned_data["email"]
        email = writable(typed)
        if typed and not email:
            raise forms.ValidationError(gettext("Enter a valid email address."))
        return email

    def clean_address(self) -> str:
        """Return the address without the spaces around it."""
        typed: str = self.cleaned_data["address"]
        return typed.strip()


@dataclass(frozen=True, slots=True)
class Refunded:
    """What a form is about: its source, in words; where its forms and the page before are.

    `over` is what was overpaid in USD, if anything, and is promised back by no refund. `quoted` is a checkout with a converted price,
    `dues` are those of a checkout that takes tokens which are not one USD.
    """

    source: Source
    name: str
    back: str
    refund_url: str
    sent_url: str
    email: str = ""
    over: Decimal | None = None
    quoted: Checkout | None = None
    dues: Checkout | None = None


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def refund(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Ask for a refund of a checkout, and reserve its money."""
    return _refund(request, of_checkout(request, checkout_id))


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def refund_item(request: SeatedRequest, *, item_id: int) -> HttpResponse:
    """Ask for a refund of money in the inbox, and reserve it."""
    return _refund(request, of_item(request, item_id))


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def refund_machine(request: SeatedRequest, *, payment_id: str) -> HttpResponse:
    """Ask for a refund of a machine's payment, and reserve its money."""
    return _refund(request, of_machine(request, payment_id))


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def refund_transfer(request: SeatedRequest, *, transfer_id: str) -> HttpResponse:
    """Ask for a refund of money from a machine that paid for nothing, and reserve it: no proof uses it any more."""
    return _refund(request, of_transfer(request, transfer_id))


def of_checkout(request: SeatedRequest, checkout_id: str) -> Refunded:
    """Return a checkout's money. Raises Http404."""
    seat, checkout = request.seat, find_checkout(request.seat, checkout_id)
    if checkout is None:
        raise Http404
    is_over = checkout.exception == CheckoutException.OVERPAID
    return Refunded(
        source=Source(checkout=checkout_id),
        name=gettext("Checkout of %(asked)s") % {"asked": checkout.asked},
        back=seat.url("dashboard_checkout", checkout_id=checkout_id),
        refund_url=seat.url("dashboard_refund", checkout_id=checkout_id),
        sent_url=seat.url("dashboard_sent_refund", checkout_id=checkout_id),
        email=checkout.customer_email,
        over=overpaid_rest(checkout) if is_over else None,
        quoted=None if checkout.price is None else checkout,
        dues=checkout if checkout.dues else None,
    )


def of_item(request: SeatedRequest, item_id: int) -> Refunded:
    """Return an item's money. Raises Http404 for a notice about money that was credited, and for dust."""
    seat, item = request.seat, item_of(request.seat, item_id)
    if item is None or InboxAct.REFUNDED not in acts_of(item):
        raise Http404
    return Refunded(
        source=_source_of(item.transfer),
        name=_name_of(item.transfer),
        back=seat.url("dashboard_inbox_item", item_id=item_id),
        refund_url=seat.url("dashboard_refund_item", item_id=item_id),
        sent_url=seat.url("dashboard_sent_refund_item", item_id=item_id),
        email=item.checkout.customer_email if item.checkout else "",
    )


def of_machine(request: SeatedRequest, payment_id: str) -> Refunded:
    """Return a machine's payment. Raises Http404."""
    seat = request.seat
    paid = X402Payment.objects.filter(merchant=seat.merchant, mode=seat.mode, public_id=payment_id).first()
    if paid is None:
        raise Http404
    amount = readable_units(int(paid.units), decimals_of(paid.chain, paid.token))
    return Refunded(
        source=Source(x402_payment=payment_id),
        name=gettext("%(amount)s from a machine") % {"amount": f"{amount} {paid.token}"},
        back=seat.url("dashboard_x402"),
        refund_url=seat.url("dashboard_refund_machine", payment_id=payment_id),
        sent_url=seat.url("dashboard_sent_refund_machine", payment_id=payment_id),
    )


def of_transfer(request: SeatedRequest, transfer_id: str) -> Refunded:
    """Return money that came to an address for machines and paid for nothing. Raises Http404."""
    seat = request.seat
    mine = Transfer.objects.filter(merchant=seat.merchant, mode=seat.mode, public_id=transfer_id)
    transfer = mine.filter(purpose=ClaimKind.X402, x402_payment=None).first()
    if transfer is None:
        raise Http404
    return Refunded(
        source=_source_of(transfer),
        name=_name_of(transfer),
        back=seat.url("dashboard_payments"),
        refund_url=seat.url("dashboard_refund_transfer", transfer_id=transfer_id),
        sent_url=seat.url("dashboard_sent_refund_transfer", transfer_id=transfer_id),
    )


def _source_of(transfer: Transfer) -> Source:
    return Source(chain=transfer.chain, tx_hash=transfer.tx_hash, position=transfer.position)


def _name_of(transfer: Transfer) -> str:
    amount = readable_units(int(transfer.units), transfer.decimals)
    told = {"amount": f"{amount} {transfer.token}", "network": chain_title(transfer.chain)}
    return gettext("%(amount)s on %(network)s") % told


def _refund(request: SeatedRequest, refunded: Refunded) -> HttpResponse:
    seat = request.seat
    try:
        rest = rest_of(request, refunded)
    except ConflictError as error:
        return turn_back(request, refunded, words_of(error))
    if request.method != "POST":
        left: Decimal = rest["rest"]
        amount = min(_over_in(rest["token"], refunded), left) if refunded.over else left
        # In test mode, links go only to the team.
        email = refunded.email if seat.mode == Mode.LIVE else ""
        initial = {"amount": f"{amount.normalize():f}", "email": email}
        return _page(request, refunded, RefundForm(initial=initial, token=rest["token"], unit=rest["unit"]), rest)
    form = RefundForm(request.POST, token=rest["token"], unit=rest["unit"])
    if not form.is_valid():
        return _page(request, refunded, form, rest, status=422)
    # Before the transaction. Without an address no chain is asked.
    place, asker = (rest["chain"], form.cleaned_data["address"]), f"merchant:{seat.merchant.pk}"
    recipient = ask_recipient(place, mode=seat.mode, asker=asker, now=timezone.now())
    try:
        asked = _ask(request, refunded.source, form, recipient)
    except InvalidRequestError as error:
        add_refusal(form, error)
        return _page(request, refunded, form, rest, status=422)
    except (ConflictError, RateLimitError) as error:
        form.add_error(None, words_of(error))
        return _page(request, refunded, form, rest, status=error.status)
    messages.success(request, _created(asked.payout))
    return HttpResponseRedirect(seat.url("dashboard_payout", payout_id=asked.payout.public_id))


def _over_in(token: str, refunded: Refunded) -> Decimal:
    """Return what was overpaid in a token: one for a dollar, or as much of it as that is in its checkout."""
    over, checkout = refunded.over or Decimal(0), refunded.dues
    due = dues_of(checkout).get(token) if checkout else None
    if checkout is None or due is None:
        return over
    return from_units(units_worth(to_units(over), due, price_units=to_units(checkout.amount)))


def _created(payout: Payout) -> str:
    if payout.address:
        return gettext("Refund created. Its address waits for approval.")
    if payout.email:
        return gettext("Refund created. The link is on its way to %(email)s.") % {"email": payout.email}
    return gettext("Refund created. Pass its link on.")


def rest_of(request: SeatedRequest, refunded: Refunded) -> dict[str, Any]:
    """Return what can be refunded. Raises ConflictError where nothing can."""
    seat = request.seat
    transfers = source_transfers(refunded.source, merchant_id=seat.merchant.pk, mode=Mode(seat.mode))
    rest = sum(one.units for one in rests_of(transfers))
    if not rest:
        raise ConflictError(gettext_noop("All of this money is refunded already, or about to be."))
    newest = transfers[0]
    # A quote is of dollars: other tokens that came have no worth in it, but for those that the checkout has a due for.
    is_quoted = refunded.quoted is not None and (
        is_usd(newest.chain, newest.token) or newest.token in dues_of(refunded.quoted)
    )
    return {
        "chain": newest.chain,
        "senders": senders_of(transfers, newest.chain)[:MOST_SENDERS],
        "token": newest.token,
        "network": chain_title(newest.chain),
        "rest": from_units(rest, newest.decimals),
        "decimals": newest.decimals,
        "worth": "",
        "unit": "",
    } | (_at_quote(refunded.quoted, rest, newest.token) if refunded.quoted and is_quoted else {})


def _at_quote(checkout: Checkout, rest: int, token: str) -> dict[str, str]:
    """Return what is left in the currency of a checkout's price, and what one of that currency is in tokens: both at its quote."""
    currency, price = checkout.currency, checkout.asked_amount
    worth = price_at(rest, price, dues_of(checkout).get(token, to_units(checkout.amount)), currency)
    one = readable(at_quote(Decimal(1), checkout, token))
    return {
        "worth": f"{readable_price(worth, currency)} {currency}",
        "unit": gettext("At the checkout's rate 1 %(currency)s is %(amount)s %(token)s.")
        % {"currency": currency, "amount": one, "token": token},
    }


@transaction.atomic
def _ask(request: SeatedRequest, source: Source, form: RefundForm, recipient: Recipient | None) -> Requested:
    """Write the refund, and queue the mail with its link if it has one. `recipient` is what a chain said of a typed address."""
    seat, now = request.seat, timezone.now()
    values = form.cleaned_data
    terms = Terms(
        reason=values["reason"],
        email=values["email"],
        address=values["address"],
        address_by=AddressBy.PERSON,
        recipient=recipient,
        requires_proof=values["requires_payer_proof"],
    )
    amount = form.cleaned_data["amount"]
    asked = request_refund(
        seat.merchant, mode=Mode(seat.mode), source=source, amount=amount, terms=terms, now=now, actor=actor_of(request)
    )
    if not asked.payout.address:
        mail_claim(asked.payout, now=now)
    return asked


def turn_back(request: SeatedRequest, refunded: Refunded, why: str) -> HttpResponse:
    """Return to the page before, which says why nothing can be refunded."""
    messages.error(request, why)
    return HttpResponseRedirect(refunded.back)


def _page(
    request: SeatedRequest, refunded: Refunded, form: RefundForm, rest: dict[str, Any], status: int = 200
) -> HttpResponse:
    context = rest | {"form": form, "refunded": refunded, "may_be_sent": request.seat.mode == Mode.LIVE}
    return render(request, "dashboard/payouts/refund.html", context, status=status)
