"""What plugins read: invoices, their payment methods and payments, stores, pull payments. Pure: from the objects of our own API.

Values have the types that BTCPay Server's PHP library declares: amounts are strings, times are whole seconds, and a string that we do
not have is empty where the library takes no null.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from django.conf import settings

from checkouts.amounts import overpaid_above_units
from checkouts.creation.forms import DEFAULT_EXPIRES_IN
from checkouts.pricing import units_to_send, units_worth
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.currencies import format_price, price_at
from gateway.core.money import format_token, format_units, to_units
from greenfield.methods import Pair, ids, invoice_pairs, method_id
from wallets.states import TransferState

VERSION: Final = "2.4.4"
"""The version of BTCPay Server whose answers these are like. WooCommerce's plugin offers refunds from 1.7.6 on."""

# A token stands for a dollar.
_USD_RATE: Final = Decimal(1)
_RATE_STEP: Final = Decimal("0.00000001")
_NO_FEE: Final = "0"
_MINUTE: Final = 60
# How long late money of a checkout is looked for, as plugins are told: they do not act on it.
_MONITORED_MINUTES: Final = 1440
_PAYMENT_STATUS: Final = {
    TransferState.DETECTED: "Processing",
    TransferState.CONFIRMED: "Settled",
    TransferState.ORPHANED: "Invalid",
}

Object = dict[str, Any]


def state_of(checkout: Mapping[str, Any], *, is_paid_late: bool = False) -> tuple[str, str]:
    """Return an invoice's status and additional status from a checkout of our API.

    `is_paid_late` says that another checkout took the late money of this one, and is completed.
    """
    match checkout["status"]:
        case CheckoutStatus.COMPLETED if checkout["exception"] == CheckoutException.REVERSED:
            # BTCPay Server's word for an invoice whose payment does not stand. Plugins deliver what is settled.
            return "Invalid", "None"
        case CheckoutStatus.COMPLETED:
            return "Settled", "PaidOver" if is_overpaid(checkout) else "None"
        case CheckoutStatus.PROCESSING:
            return "Processing", "PaidOver" if is_overpaid(checkout) else "None"
        case CheckoutStatus.UNDERPAID:
            return "New", "PaidPartial"
        case CheckoutStatus.EXPIRED:
            return _ended(checkout, is_paid_late=is_paid_late)
    return "New", "None"


def _ended(checkout: Mapping[str, Any], *, is_paid_late: bool) -> tuple[str, str]:
    # Also of one that was cancelled: plugins deliver what was paid late, and nothing that is marked invalid.
    if is_paid_late:
        return "Expired", "PaidLate"
    if checkout["cancelled"]:
        return "Invalid", "Marked"
    return "Expired", "PaidPartial" if is_partly_paid(checkout) else "None"


def is_partly_paid(checkout: Mapping[str, Any]) -> bool:
    """Return whether any money came for a checkout."""
    return Decimal(checkout["amount_received"]) > 0


def is_overpaid(checkout: Mapping[str, Any]) -> bool:
    """Return whether more came than the price and its tolerance; before completion, no exception says so yet."""
    if checkout["status"] == CheckoutStatus.COMPLETED:
        return bool(checkout["exception"] == CheckoutException.OVERPAID)
    return to_units(Decimal(checkout["amount_received"])) > overpaid_above_units(usd_of(checkout))


def usd_of(checkout: Mapping[str, Any]) -> Decimal:
    """Return what a checkout of our API asks for in USD."""
    quote = checkout.get("quote")
    return Decimal(quote["usd_amount"] if quote else checkout["amount"])


def _rate(checkout: Mapping[str, Any]) -> Decimal:
    """Return what a token is in the invoice's currency: its quote, the merchant's margin in it."""
    if "quote" not in checkout:
        return _USD_RATE
    rate = Decimal(checkout["amount"]) / usd_of(checkout)
    return rate.quantize(_RATE_STEP)


def _received(checkout: Mapping[str, Any]) -> str:
    """Return what came in the invoice's currency."""
    if "quote" not in checkout:
        return str(checkout["amount_received"])
    price, currency = Decimal(checkout["amount"]), checkout["currency"]
    units = to_units(Decimal(checkout["amount_received"]))
    return format_price(price_at(units, price, to_units(usd_of(checkout)), currency), currency)


def seconds(moment: str) -> int:
    """Return the Unix time of one of our API's times."""
    return int(datetime.fromisoformat(moment).timestamp())


def invoice_link(invoice_id: str) -> str:
    """Return where a buyer pays. WooCommerce's plugin makes the same address by itself."""
    return f"{settings.BASE_URL}/btcpay/i/{invoice_id}"


def invoice_object(
    checkout: Mapping[str, Any],
    *,
    store_id: str,
    offers: Mapping[str, Any],
    sent: Mapping[str, Any],
    is_paid_late: bool = False,
) -> Object:
    """Return the invoice of a checkout of our API; `offers` is what it offers, `sent` the options that came with it."""
    status, additional = state_of(checkout, is_paid_late=is_paid_late)
    created, expires = seconds(checkout["created_at"]), seconds(checkout["expires_at"])
    may_cancel = status == "New" and not is_partly_paid(checkout)
    return {
        "id": checkout["id"],
        "storeId": store_id,
        "amount": checkout["amount"],
        "paidAmount": _received(checkout),
        "currency": checkout["currency"],
        "type": "Standard",
        "checkoutLink": invoice_link(checkout["id"]),
        "createdTime": created,
        "expirationTime": expires,
        # Two names: the API's own, and the one that the PHP library reads.
        "monitoringExpiration": expires + _MONITORED_MINUTES * _MINUTE,
        "monitoringTime": expires + _MONITORED_MINUTES * _MINUTE,
        "status": status,
        "additionalStatus": additional,
        "availableStatusesForManualMarking": ["Invalid"] if may_cancel else [],
        "archived": False,
        "metadata": checkout["metadata"],
        "checkout": _options(offers, sent, minutes=(expires - created) // _MINUTE),
        "receipt": {"enabled": True, "showQR": None, "showPayments": None},
    }


def _options(offers: Mapping[str, Any], sent: Mapping[str, Any], *, minutes: int) -> Object:
    """Return an invoice's options: those that were sent, as they were sent, and else what holds."""
    return {
        "speedPolicy": "MediumSpeed",
        "paymentMethods": ids(invoice_pairs(offers)),
        "defaultPaymentMethod": None,
        "expirationMinutes": minutes,
        "monitoringMinutes": _MONITORED_MINUTES,
        "paymentTolerance": 0,
        "redirectURL": None,
        "redirectAutomatically": True,
        "requiresRefundEmail": None,
        "defaultLanguage": None,
        **sent,
    }


def method_objects(checkout: Mapping[str, Any], offers: Mapping[str, Any]) -> list[Object]:
    """Return the payment methods of an invoice. Once money came, only those that it came by.

    Magento's plugin fails where there are two currencies.
    """
    standing = [one for one in checkout["transfers"] if one["status"] != TransferState.ORPHANED]
    paid = list(dict.fromkeys((one["chain"], one["token"]) for one in standing))
    return [_method(checkout, offers, pair) for pair in paid or invoice_pairs(offers)]


class _Price(NamedTuple):
    """An invoice in a token: what a token is in its currency, its whole price, and how much of that was paid and is due."""

    rate: str
    amount: str
    paid: str
    due: str


def _price_in(token: str, checkout: Mapping[str, Any]) -> _Price:
    due = checkout.get("dues", {}).get(token)
    if due is None:
        whole = format_token(usd_of(checkout))
        return _Price(f"{_rate(checkout):f}", whole, checkout["amount_received"], checkout["amount_remaining"])
    price_units, units = to_units(usd_of(checkout)), to_units(Decimal(due["amount"]))
    standing = (one for one in checkout["transfers"] if one["status"] != TransferState.ORPHANED)
    money = [(one["token"], to_units(Decimal(one["amount"]))) for one in standing]
    rest = units_to_send(token, money, price_units=price_units, dues=_due_units(checkout))
    worth = units_worth(to_units(Decimal(checkout["amount_received"])), units, price_units=price_units)
    # What was rounded down to a millionth of a dollar is not missing.
    paid = units - rest if rest else worth
    is_due = Decimal(checkout["amount_remaining"]) > 0
    rate = (Decimal(checkout["amount"]) / Decimal(due["amount"])).quantize(_RATE_STEP)
    return _Price(f"{rate:f}", due["amount"], format_units(paid), format_units(rest if is_due else 0))


def _due_units(checkout: Mapping[str, Any]) -> dict[str, int]:
    return {token: to_units(Decimal(due["amount"])) for token, due in checkout.get("dues", {}).items()}


def _method(checkout: Mapping[str, Any], offers: Mapping[str, Any], pair: Pair) -> Object:
    chain, token = pair
    transfers = [one for one in checkout["transfers"] if (one["chain"], one["token"]) == pair]
    came = sum(to_units(Decimal(one["amount"])) for one in transfers if one["status"] != TransferState.ORPHANED)
    price = _price_in(token, checkout)
    # Where the amount identifies the checkout there is no address of its own, and the page says what to send.
    destination = offers.get(chain, {}).get("address") or ""
    return {
        "paymentMethodId": method_id(chain, token),
        # As BTCPay Server 1 called it: libraries from before its second version read this.
        "paymentMethod": method_id(chain, token),
        "currency": token,
        "destination": destination,
        "paymentLink": checkout["checkout_url"],
        "rate": price.rate,
        "paymentMethodPaid": format_units(came),
        "totalPaid": price.paid,
        "due": price.due,
        "amount": price.amount,
        "paymentMethodFee": _NO_FEE,
        "networkFee": _NO_FEE,
        "payments": [payment_object(one, destination) for one in transfers],
        "activated": True,
        "additionalData": {},
    }


def payment_object(transfer: Mapping[str, Any], destination: str = "") -> Object:
    """Return a payment of an invoice. The library takes what stands before the hyphen of its id for the transaction."""
    return {
        "id": f"{transfer['tx_hash']}-{transfer['position']}",
        "receivedDate": seconds(transfer["detected_at"]),
        "value": transfer["amount"],
        "fee": _NO_FEE,
        "status": _PAYMENT_STATUS[transfer["status"]],
        "destination": destination,
    }


def store_object(store_id: str, name: str) -> Object:
    """Return a merchant as a store. Only its id and name are its own: the rest holds for all."""
    return {
        "id": store_id,
        "name": name,
        "website": "",
        "archived": False,
        "defaultCurrency": "USD",
        "invoiceExpiration": DEFAULT_EXPIRES_IN,
        "monitoringExpiration": _MONITORED_MINUTES * _MINUTE,
        "speedPolicy": "MediumSpeed",
        "paymentTolerance": 0,
        "anyoneCanCreateInvoice": False,
        "requiresRefundEmail": False,
        "redirectAutomatically": True,
        "showRecommendedFee": False,
        "lazyPaymentMethods": False,
        "defaultPaymentMethod": "",
        "defaultLang": "en",
        "networkFeeMode": "Never",
        "payJoinEnabled": False,
        "lightningDescriptionTemplate": "",
        "lightningAmountInSatoshi": False,
        "lightningPrivateRouteHints": False,
        "onChainWithLnInvoiceFallback": False,
        "recommendedFeeBlockTarget": 1,
        "customLogo": "",
        "customCSS": "",
        "htmlTitle": "",
    }


def server_object(methods: Sequence[Pair]) -> Object:
    """Return what the installation says of itself."""
    return {
        "version": VERSION,
        "onion": "",
        "supportedPaymentMethods": ids(methods),
        "fullySynched": True,
        "syncStatus": [],
    }


def pull_payment_object(payout: Mapping[str, Any], *, name: str, description: str, currency: str) -> Object:
    """Return a refund or payout of our API as a pull payment; the recipient claims it at `viewLink`."""
    ends = payout["claim_expires_at"]
    return {
        "id": payout["id"],
        "name": name,
        "description": description,
        "currency": currency,
        "amount": payout["amount"],
        "period": None,
        "BOLT11Expiration": 30,
        "autoApproveClaims": False,
        "startsAt": seconds(payout["created_at"]),
        "expiresAt": seconds(ends) if ends else None,
        "archived": False,
        "viewLink": payout["claim_url"] or "",
    }
