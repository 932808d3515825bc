"""The chain options of a checkout, as the API returns them and the page shows them, with their payment links and QR texts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, NoReturn

from django.conf import settings
from django.utils.module_loading import import_string

from accounts.states import Mode
from checkouts.amounts import exact_units
from checkouts.gas_free.rules import may_be_free
from checkouts.inputs import AGAIN, OptionChoice
from checkouts.models import AmountReservation, Checkout, TerminalSale
from checkouts.payloads import due_units, status_text
from checkouts.pricing import dues_of
from checkouts.rows import AnyCheckout
from checkouts.states import CheckoutStatus
from gateway.core import json
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.money import format_units
from rates.selectors import is_sold_in
from wallets.chains.family import ChainSpec, PaymentRequest
from wallets.networks import chain_spec, shown_address

# How many earlier tries are looked at; one that can be renewed waited for each of them to expire.
_MOST_TRIES: Final = 20


def available_chains(
    checkout: AnyCheckout, *, reserved: AmountReservation | None, now: datetime, takes_free: bool = False
) -> list[dict[str, Any]]:
    """Return every option offered, sorted by priority; each shows its first token's payment.

    With `takes_free` options say where the buyer's network fee is paid.
    `reserved` is the exact amount held for what is due. Once the checkout takes no more money, no address is shown.
    """
    specs = sorted((chain_spec(name) for name in checkout.offers), key=lambda spec: spec.priority)
    shown = takes_money(checkout, now=now)
    told = [option(checkout, spec, token=None, reserved=reserved, is_payable=shown) for spec in specs]
    if takes_free and shown:
        for spec, one in zip(specs, told, strict=True):
            _mark_free(one, checkout, spec, token=None, reserved=reserved)
    return told


def takes_money(checkout: AnyCheckout, *, now: datetime) -> bool:
    """Whether a payment sent now can still complete the checkout."""
    is_unpaid = checkout.status in (CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID)
    return is_unpaid and now < checkout.expires_at


def may_begin_again(checkout: Checkout) -> bool:
    """Whether the buyer of an expired checkout, its merchant loaded, may renew it.

    If part of the money came, only the merchant can decide; asking for the whole price again would charge twice. A
    cancelled checkout must not be paid. A checkout from a payment link is renewed on the link's page, which keeps
    its own count. One of a terminal or of a shop's plugin is not renewed, nor a renewal of one: neither would know the new one. Nor
    is one whose currency was taken out of PRICE_CURRENCIES.
    """
    is_over = checkout.status == CheckoutStatus.EXPIRED
    if not is_over or checkout.cancelled_at or checkout.amount_received or not is_sold_in(checkout.currency):
        return False
    merchant = checkout.merchant
    is_allowed = merchant.buyers_may_retry and merchant.closed_at is None
    if not is_allowed or _is_of_a_link(checkout):
        return False
    return not any(
        _is_of_a_terminal(one) or shop_of(one) for one in [checkout, *islice(_tries_before(checkout), _MOST_TRIES)]
    )


def try_before(checkout: Checkout) -> Checkout | None:
    """Return the checkout that this one renews; None if it renews none."""
    name = checkout.creation_ref or ""
    if not name.startswith(AGAIN):
        return None
    # A merchant's order_ref may look the same, but names only its own checkouts.
    return Checkout.objects.filter(
        merchant=checkout.merchant_id, mode=checkout.mode, public_id=name.removeprefix(AGAIN)
    ).first()


def _tries_before(checkout: Checkout) -> Iterator[Checkout]:
    found = try_before(checkout)
    while found is not None:
        yield found
        found = try_before(found)


def shop_of(checkout: Checkout) -> str:
    """Return the kind of shop that knows a checkout as its plugin's invoice: "Shopware" or "shop"; "" for other checkouts."""
    kind_of: Callable[[Checkout], str] = import_string(settings.CHECKOUT_SHOP)
    return kind_of(checkout)


def again_url(checkout: Checkout) -> str:
    """Return the page where the buyer of an expired checkout from a link begins again; empty for others."""
    is_over = checkout.status == CheckoutStatus.EXPIRED
    return checkout.again_url if is_over and not checkout.amount_received else ""


def _is_of_a_link(checkout: Checkout) -> bool:
    return "link_id" in json.loads(checkout.metadata.encode())


def _is_of_a_terminal(checkout: Checkout) -> bool:
    return TerminalSale.objects.filter(checkout=checkout).exists()


def offers_exact_amount(checkout: AnyCheckout) -> bool:
    """Return whether an offered chain identifies payments by amount."""
    return any(offer["address"] is None for offer in checkout.offers.values())


def option(
    checkout: AnyCheckout, spec: ChainSpec, *, token: str | None, reserved: AmountReservation | None, is_payable: bool
) -> dict[str, Any]:
    """Return one chain option, for its first token unless one is named.

    On exact-amount chains address, amount and URI stay null until an amount is reserved. Tron has no payment URI.
    """
    offer = checkout.offers[spec.name]
    request = payment_request(checkout, spec, token or offer["tokens"][0], reserved=reserved) if is_payable else None
    return {
        "chain": spec.name,
        "name": spec.title,
        "tokens": offer["tokens"],
        "estimatedConfirmSec": spec.estimated_confirm_seconds,
        "gasTier": spec.gas_tier,
        "priority": spec.priority,
        "badge": spec.badge,
        "exactAmountRequired": spec.exact_amount_required,
        "address": request.address if request else None,
        "payAmount": format_units(request.units) if request else None,
        "paymentUri": payment_uri(request) if request else None,
        **_due(checkout, offer["tokens"], is_payable=is_payable),
    }


def _due(checkout: AnyCheckout, tokens: Sequence[str], *, is_payable: bool) -> dict[str, Any]:
    """Return `due`: what is due in each token of an offer that is not one USD; nothing where all of them are."""
    dues = dues_of(checkout)
    offered = [token for token in tokens if token in dues] if is_payable else []
    return {"due": {token: format_units(due_units(checkout, token)) for token in offered}} if offered else {}


def _mark_free(
    told: dict[str, Any],
    checkout: AnyCheckout,
    spec: ChainSpec,
    *,
    token: str | None,
    reserved: AmountReservation | None,
) -> None:
    """Say in an option that its payment may be sent for the payer. Elsewhere the field is absent, as in the specification."""
    offer = checkout.offers[spec.name]
    request = payment_request(checkout, spec, token or offer["tokens"][0], reserved=reserved)
    # Of test payments only signatures are checked, which is done where a signature says all.
    is_possible = checkout.mode == Mode.LIVE or spec.family.signs_transfers
    if request is not None and is_possible and may_be_free(request, is_allowed=True):
        told["gasFree"] = True


def payment_request(
    checkout: AnyCheckout, spec: ChainSpec, token: str, *, reserved: AmountReservation | None
) -> PaymentRequest | None:
    """Return amount and destination on an offered chain; None while its exact amount is not reserved."""
    offer: Mapping[str, Any] = checkout.offers[spec.name]
    if offer["address"] is not None:
        return PaymentRequest(spec, token, address=offer["address"], units=due_units(checkout, token))
    if reserved is None:
        return None
    return PaymentRequest(
        spec,
        token,
        address=offer["wallet"],
        units=exact_units(reserved.price, reserved.suffix),
        reference=bytes(reserved.reference),
        memo=reserved.memo,
        label=reserved.merchant.shown_name,
        message=checkout.description,
    )


def payment_uri(request: PaymentRequest) -> str | None:
    """Return the link that asks any wallet of the chain for this payment, as the chain's family writes it, or None.

    Its amount is written from an integer, never with an exponent: wallets refuse or misread other forms. None on Tron,
    which has no standard: `tron:` links name no token, so that a wallet would send its native coin. None also where the settings
    no longer name the token.
    """
    if request.token not in request.spec.tokens:
        return None
    return request.spec.family.payment_uri(request)


def qr_text(request: PaymentRequest) -> str:
    """Return the QR code's text: the plain address on EVM chains and Tron, elsewhere the payment link.

    Wallets have sent money to the token's contract after scanning an ERC-681 link.
    """
    uri = None if request.spec.family.qr_is_address else payment_uri(request)
    return uri or shown_address(request.address)


def check_choice(checkout: AnyCheckout, choice: OptionChoice, *, now: datetime) -> bool:
    """Check a buyer's choice, and return whether it needs an exact amount.

    Raises InvalidRequestError (chain_unsupported, token_unsupported) for what was not offered, ConflictError
    (state_conflict) where the checkout takes no more money.
    """
    offer = checkout.offers.get(choice.chain)
    if offer is None:
        raise InvalidRequestError(
            f"{choice.chain} cannot be paid on for this checkout.", param="chain", code="chain_unsupported"
        )
    if choice.token not in offer["tokens"]:
        raise InvalidRequestError(
            f"{choice.token} is not accepted on {choice.chain}.", param="token", code="token_unsupported"
        )
    if not takes_money(checkout, now=now):
        refuse_payment(checkout)
    return offer["address"] is None


def refuse_payment(checkout: AnyCheckout) -> NoReturn:
    """Raise the ConflictError (state_conflict) of a checkout that takes no more money."""
    raise ConflictError(f"The checkout is {status_text(checkout)} and takes no payment.")


def chosen_option(
    checkout: AnyCheckout, choice: OptionChoice, *, reserved: AmountReservation | None, takes_free: bool = False
) -> dict[str, Any]:
    """Return the filled option of a checked choice; an exact amount it needs is reserved already."""
    spec = chain_spec(choice.chain)
    told = option(checkout, spec, token=choice.token, reserved=reserved, is_payable=True)
    if takes_free:
        _mark_free(told, checkout, spec, token=choice.token, reserved=reserved)
    return told
