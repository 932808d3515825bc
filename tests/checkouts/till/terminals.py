"""Terminals, and devices that are paired with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Terminal, TerminalSale
from checkouts.till.pairing import TerminalValues, add_terminal, offer_pairing, pair
from checkouts.till.service import Press, sell
from gateway.core.ids import new_code
from tests.factories import make_merchant

VALUES = TerminalValues(name="Bar", tips=[5, 10], chain="", has_sign=True, shows_day=True)


def make_terminal(merchant: Merchant | None = None, mode: Mode = Mode.TEST, **fields: Any) -> Terminal:
    """A terminal of test mode that no device is paired with, with two tips, a sign and the day's sums."""
    terminal = add_terminal(merchant or make_merchant(), mode, VALUES, actor=SYSTEM, now=timezone.now())
    if fields:
        Terminal.objects.filter(pk=terminal.pk).update(**fields)
        terminal.refresh_from_db()
    return terminal


@dataclass(frozen=True)
class Device:
    """A phone that is paired with a terminal."""

    client: Client
    terminal: Terminal

    def get(self, name: str, query: str = "", **arguments: str) -> Any:
        """Open a page of the till."""
        return self.client.get(reverse(name, kwargs=arguments) + query)

    def post(self, name: str, data: Mapping[str, str] | None = None, /, **arguments: Any) -> Any:
        """Send a form of the till."""
        return self.client.post(reverse(name, kwargs=arguments), data or {})

    def charge(self, amount: str = "7.50", tip: str = "", form: str = "") -> Any:
        """Press Charge, on a new form unless one is named."""
        sent = {"form": form or new_code(), "amount": amount, "tip": tip, "currency": self.terminal.currency}
        return self.post("till", sent)

    def sale(self, amount: str = "7.50", tip: str = "") -> TerminalSale:
        """Charge, and return the sale."""
        assert self.charge(amount, tip).status_code == 303
        return TerminalSale.objects.filter(terminal=self.terminal).latest("pk")


def paired_device(terminal: Terminal | None = None) -> Device:
    """A phone that typed a terminal's code a moment ago."""
    terminal = terminal or make_terminal()
    now = timezone.now()
    _, token = pair(offer_pairing(terminal, actor=SYSTEM, now=now), device="Chrome on Android", address=None, now=now)
    client = Client()
    client.cookies[settings.TILL_COOKIE_NAME] = token
    return Device(client, terminal)


def make_sale(terminal: Terminal, amount: str = "7.50", **fields: Any) -> TerminalSale:
    """A sale that was made at a terminal a moment ago."""
    values: dict[str, Any] = {"form": new_code(), "price": Decimal(amount), "currency": terminal.currency}
    now = fields.pop("now", timezone.now())
    return sell(terminal.pk, Press(**(values | fields)), now=now)
