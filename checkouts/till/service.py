"""Sales at a terminal: each is a checkout, made once for a press of the button, however often it is sent."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from accounts.audit.actors import Actor
from accounts.brand.facts import with_brand
from accounts.states import Mode
from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.creation.forms import currency_of, longest_expiry
from checkouts.creation.service import create_checkout
from checkouts.inputs import NewCheckout
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.lifecycle.receipts import send_receipt
from checkouts.models import Terminal, TerminalSale
from checkouts.models.terminals import LINK_FORM
from checkouts.states import TestScenario
from gateway.core import json
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.api.fields import refuse, typed_price_of, typed_usd_of, usd_within
from gateway.core.currencies import USD, format_price, round_price
from gateway.core.ids import LENGTH, new_code
from mails.addresses import writable

# At a counter the customer pays now; the exact amount is free for the next one soon.
SALE_SECONDS: Final = 600
# A customer at a sign may have to install a wallet first.
SIGN_SECONDS: Final = 1800
LATEST: Final = 20
"""How many sales a device shows."""

# Mails of a receipt with one nonce and address are one mail: pressed twice, or again later, nothing more is sent.
_AT_THE_TILL: Final = UUID("5b3d9f0e-2c1a-4d57-9c86-1f0a7be3d4c2")
_LOOKS: Final = 5
_OF_LINK: Final = "A customer made this sale by a payment link. It is only shown here: ask your manager."
# More than any currency's worth of the dearest checkout. A press's name has room for two amounts of so many digits before the point.
_ENDLESS: Final = Decimal(10) ** 12
_FORM: Final = re.compile(rf"[0-9a-z]{{{LENGTH}}}", re.ASCII)
# Against revoking: a sale that was begun before is finished, and one that begins after finds no terminal.
_HOLD: Final = "SELECT FROM checkouts_terminal WHERE id = %s AND revoked_at IS NULL FOR SHARE"


class TerminalGoneError(Exception):
    """The terminal was revoked."""


class _RivalSaleError(Exception):
    """Another request made this form's sale first."""


@dataclass(frozen=True, slots=True)
class Press:
    """A press of the button that charges: the price and the tip in a currency, and the random name of its form.

    `is_by_customer`: on the page of the counter sign, where anybody can press it.
    """

    form: str
    price: Decimal
    tip: Decimal = Decimal(0)
    is_by_customer: bool = False
    currency: str = USD

    @property
    def total(self) -> Decimal:
        """Return what the checkout asks for."""
        return self.price + self.tip

    @property
    def name(self) -> str:
        """Return what is sold once. Another amount or tip on the same form, after no answer came, is another sale."""
        amounts = [self.total, self.tip] if self.tip else [self.total]
        parts = [self.form, *(format_price(amount, self.currency) for amount in amounts)]
        return ":".join(parts if self.currency == USD else [*parts, self.currency])


def form_name(sent: str) -> str:
    """Return a form's name as `new_code` made it; a new one if it was not made so, which then is a sale of its own."""
    return sent if _FORM.fullmatch(sent) else new_code()


def parse_press(form: str, amount: str, tip: str, terminal: Terminal, *, currency: str = USD) -> Press:
    """Read what a device sends: the amount typed, and one of the terminal's tips in percent, or nothing.

    `currency` is the one that the keypad showed: a number that was typed as dollars is never charged in euros. Raises
    InvalidRequestError naming `amount`, `tip` or `currency`.
    """
    check_currency(currency, terminal)
    price = parse_amount(amount, currency)
    rate = int(tip) if tip in {str(rate) for rate in terminal.tips} else 0
    if tip not in {"", "0", str(rate)}:
        raise refuse("tip", "tip must be one of the terminal's.")
    press = Press(form=form_name(form), price=price, tip=tip_of(price, rate, currency), currency=currency)
    if currency == USD:
        usd_within(press.total, "amount", MIN_AMOUNT, MAX_AMOUNT)
    return press


def check_currency(shown: str, terminal: Terminal) -> None:
    """Refuse an amount that was typed on a page with another currency than the terminal has now.

    Raises InvalidRequestError naming `currency`.
    """
    if shown != terminal.currency:
        raise refuse("currency", f"The currency is {terminal.currency} now. Type the amount again.")


def parse_amount(text: str, currency: str = USD) -> Decimal:
    """Read an amount in a currency as people type it. Raises InvalidRequestError naming `amount`.

    What it is worth in USD is limited when it is sold.
    """
    if currency == USD:
        return typed_usd_of(text, "amount", MIN_AMOUNT, MAX_AMOUNT)
    amount = typed_price_of(text, "amount", currency)
    if amount >= _ENDLESS:
        raise refuse("amount", "amount is too large.", "amount_out_of_range")
    return amount


def tip_of(price: Decimal, rate: int, currency: str = USD) -> Decimal:
    """Return a tip of so many percent, rounded to the currency's least unit, half of it up."""
    return round_price(price * rate / 100, currency)


def sell(terminal_id: int, press: Press, *, now: datetime) -> TerminalSale:
    """Return the sale of a press, its checkout loaded; a new one unless it was made before.

    Identical concurrent calls make one sale. Raises TerminalGoneError, and ConflictError where the merchant cannot be paid
    now (receiving_wallet_missing, capacity_exhausted). In another currency than USD the price is quoted as that of any checkout: also
    raises RateUnavailableError, and InvalidRequestError (amount_out_of_range, currency_unsupported).
    """
    for _ in range(_LOOKS):
        try:
            with transaction.atomic():
                return _sale(_held(terminal_id), press, now)
        except _RivalSaleError:
            continue
    raise ConflictError("The same sale is being made elsewhere. Try again.")


def _held(terminal_id: int) -> Terminal:
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, [terminal_id])
        if cursor.fetchone() is None:
            raise TerminalGoneError
    return with_brand(Terminal.objects.all()).get(pk=terminal_id)


def _sale(terminal: Terminal, press: Press, now: datetime) -> TerminalSale:
    known = TerminalSale.objects.select_related("checkout").filter(terminal=terminal, form=press.name).first()
    if known is not None:
        return known
    created = create_checkout(terminal.merchant_id, Mode(terminal.mode), _wanted(terminal, press), now=now)
    try:
        with transaction.atomic():
            return TerminalSale.objects.create(
                terminal=terminal,
                checkout_id=created.row.id,
                form=press.name,
                tip=press.tip,
                is_by_customer=press.is_by_customer,
                created_at=now,
            )
    except IntegrityError as error:
        # The unique constraint decides; leaving the outer block takes back the checkout created here.
        raise _RivalSaleError from error


def _wanted(terminal: Terminal, press: Press) -> NewCheckout:
    metadata = {"terminal_id": terminal.public_id, "tip": format_price(press.tip, press.currency)}
    lasts = SIGN_SECONDS if press.is_by_customer else SALE_SECONDS
    return NewCheckout(
        amount=press.total,
        # The operator may have taken it out of PRICE_CURRENCIES.
        currency=currency_of(press.currency),
        description=terminal.name,
        metadata=json.dumps(metadata).decode(),
        customer_email="",
        redirect_url="",
        webhook_url="",
        expires_in=min(lasts, longest_expiry(press.currency)),
        customer_ref="",
        product_ref="",
        order_ref="",
        test_scenario=TestScenario.COMPLETED,
        is_repeatable=False,
        # Strangers make these: as of payment links, half of the exact amounts are kept from them.
        again_url=sign_url(terminal) if press.is_by_customer else "",
    )


def note_sale_of_link(
    merchant_id: int, mode: Mode, link_id: str, checkout_id: int, *, now: datetime
) -> TerminalSale | None:
    """Let a new checkout of a payment link be a sale of the terminal that follows the link; None if there is none.

    In the caller's transaction. The customer made it, as on the page of a counter sign.
    """
    following = Terminal.objects.filter(merchant=merchant_id, mode=mode, follows=link_id, revoked_at=None)
    terminal = following.values_list("pk", flat=True).first()
    if terminal is None:
        return None
    return TerminalSale.objects.create(
        terminal_id=terminal,
        checkout_id=checkout_id,
        form=f"{LINK_FORM}{checkout_id}",
        is_by_customer=True,
        created_at=now,
    )


def sale_of(terminal: Terminal, checkout_id: str) -> TerminalSale | None:
    """Return a terminal's own sale by its checkout's public id; None for any other checkout."""
    if "\x00" in checkout_id:
        return None
    return TerminalSale.objects.filter(terminal=terminal, checkout__public_id=checkout_id).first()


def latest_sales(terminal: Terminal) -> Sequence[TerminalSale]:
    """Return the terminal's own newest sales, their checkouts and the successors of these loaded."""
    mine = TerminalSale.objects.filter(terminal=terminal).select_related("checkout__replaced_by")
    return list(mine.order_by("-created_at", "-pk")[:LATEST])


def cancel_sale(sale: TerminalSale, terminal: Terminal, *, address: str | None, now: datetime) -> None:
    """Cancel an unpaid sale in the terminal's name.

    Raises ConflictError if money was seen, it has ended, or a customer made it by a link.
    """
    _refuse_of_link(sale)
    cancel_checkout(sale.checkout_id, actor=_actor_of(terminal, address), now=now)


def mail_sale(sale: TerminalSale, terminal: Terminal, text: str, *, address: str | None, now: datetime) -> None:
    """Mail the receipt of a paid sale, in the terminal's name, to an e-mail address as it was typed: each gets it once.

    Raises InvalidRequestError for what is no address, or none of the team's in test mode, ConflictError for a sale that a customer
    made by a link, and what else `send_receipt` raises.
    """
    _refuse_of_link(sale)
    email = writable(text)
    if not email:
        raise InvalidRequestError("This is no e-mail address. Type it again.", param="email")
    send_receipt(sale.checkout, email, nonce=_AT_THE_TILL, actor=_actor_of(terminal, address), now=now)


def _refuse_of_link(sale: TerminalSale) -> None:
    if sale.is_of_link:
        raise ConflictError(_OF_LINK)


def _actor_of(terminal: Terminal, address: str | None) -> Actor:
    return Actor(label=f"terminal {terminal.name}", address=address)


def sign_url(terminal: Terminal) -> str:
    """Return the address of the counter sign's page, where customers type the amount."""
    return f"{settings.LINK_HOST}/t/{terminal.code}"
