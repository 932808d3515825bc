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
from checkouts.creation.forms import CURRENCY
from checkouts.creation.service import create_checkout
from checkouts.inputs import NewCheckout
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.lifecycle.receipts import send_receipt
from checkouts.models import Terminal, TerminalSale
from checkouts.states import TestScenario
from gateway.core import json
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.api.fields import refuse, typed_usd_of, usd_within
from gateway.core.ids import LENGTH, new_code
from gateway.core.money import format_usd, round_to_cent
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
_FORM: Final = re.compile(rf"[0-9a-z]{{{LENGTH}}}", re.ASCII)
# Against revoking: a sale that was begun before is finished, and one that begins after finds no terminal.
_HOLD: Final = "SELECT FROM checkouts_terminal WHERE id = %s AND revoked_at IS NULL FOR SHARE"


class TerminalGoneError(Exception):
    """The terminal was revoked."""


class _RivalError(Exception):
    """Another request made this form's sale first."""


@dataclass(frozen=True, slots=True)
class Press:
    """A press of the button that charges: the price and the tip in USD, and the random name of its form.

    `is_by_customer`: on the page of the counter sign, where anybody can press it.
    """

    form: str
    price: Decimal
    tip: Decimal = Decimal(0)
    is_by_customer: bool = False

    @property
    def total(self) -> Decimal:
        """Return what the checkout asks for."""
        return self.price + self.tip

    @property
    def name(self) -> str:
        """Return what is sold once. Another amount or tip on the same form, after no answer came, is another sale."""
        name = f"{self.form}:{format_usd(self.total)}"
        return f"{name}:{format_usd(self.tip)}" if self.tip else name


def form_name(sent: str) -> str:
    """Return a form's name as `new_code` made it; a new one if it was not made so, which then is a sale of its own."""
    return sent if _FORM.fullmatch(sent) else new_code()


def parse_press(form: str, amount: str, tip: str, terminal: Terminal) -> Press:
    """Read what a device sends: the amount typed, and one of the terminal's tips in percent, or nothing.

    Raises InvalidRequestError naming `amount` or `tip`.
    """
    price = parse_amount(amount)
    rate = int(tip) if tip in {str(rate) for rate in terminal.tips} else 0
    if tip not in {"", "0", str(rate)}:
        raise refuse("tip", "tip must be one of the terminal's.")
    press = Press(form=form_name(form), price=price, tip=tip_of(price, rate))
    usd_within(press.total, "amount", MIN_AMOUNT, MAX_AMOUNT)
    return press


def parse_amount(text: str) -> Decimal:
    """Read an amount in USD as people type it. Raises InvalidRequestError naming `amount`."""
    return typed_usd_of(text, "amount", MIN_AMOUNT, MAX_AMOUNT)


def tip_of(price: Decimal, rate: int) -> Decimal:
    """Return a tip of so many percent, rounded to a cent, half a cent up."""
    return round_to_cent(price * rate / 100)


def sell(terminal_id: int, press: Press, *, now: datetime) -> TerminalSale:
    """Return the sale of a press, its checkout loaded; a new one unless it was made before.

    Identical concurrent calls make one sale. Raises TerminalGoneError, and ConflictError where the merchant cannot be paid
    now (receiving_wallet_missing, capacity_exhausted).
    """
    for _ in range(_LOOKS):
        try:
            with transaction.atomic():
                return _sale(_held(terminal_id), press, now)
        except _RivalError:
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
        raise _RivalError from error


def _wanted(terminal: Terminal, press: Press) -> NewCheckout:
    metadata = {"terminal_id": terminal.public_id, "tip": format_usd(press.tip)}
    return NewCheckout(
        amount=press.total,
        currency=CURRENCY,
        description=terminal.name,
        metadata=json.dumps(metadata).decode(),
        customer_email="",
        redirect_url="",
        webhook_url="",
        expires_in=SIGN_SECONDS if press.is_by_customer else SALE_SECONDS,
        customer_ref="",
        product_ref="",
        order_ref="",
        test_scenario=TestScenario.COMPLETED,
        is_repeatable=False,
        # Strangers make these: as of payment links, half of the exact amounts are kept from them.
        again_url=sign_url(terminal) if press.is_by_customer else "",
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
    """Cancel an unpaid sale in the terminal's name. Raises ConflictError if money was seen, or it has ended."""
    cancel_checkout(sale.checkout_id, actor=_actor_of(terminal, address), now=now)


def mail_sale(sale: TerminalSale, terminal: Terminal, text: str, *, address: str | None, now: datetime) -> None:
    """Mail the receipt of a paid sale, in the terminal's name, to an e-mail address as it was typed: each gets it once.

    Raises InvalidRequestError for what is no address, or none of the team's in test mode, and what else `send_receipt` raises.
    """
    email = writable(text)
    if not email:
        raise InvalidRequestError("This is no e-mail address. Type it again.", param="email")
    send_receipt(sale.checkout, email, nonce=_AT_THE_TILL, actor=_actor_of(terminal, address), now=now)


def _actor_of(terminal: Terminal, address: str | None) -> Actor:
    return Actor(label=f"terminal {terminal.name}", address=address)


def sign_url(terminal: Terminal) -> str:
    """Return the address of the counter sign's page, where customers type the amount."""
    return f"{settings.LINK_HOST}/t/{terminal.code}"
