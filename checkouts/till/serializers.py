"""Terminals and their sales as the API takes and shows them."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers as s

from checkouts import models
from checkouts.models.terminals import MOST_PERCENT, MOST_TIPS, NAME_LENGTH
from checkouts.payloads import price_text
from checkouts.serializers import Currency
from checkouts.states import CheckoutException, CheckoutStatus, TerminalStatus
from checkouts.till.pairing import TerminalValues, status_of
from checkouts.till.service import sign_url
from gateway.core.api.fields import refuse
from gateway.core.api.openapi import paginated
from gateway.core.api.serializers import Answer, ApiField, Body, Flag, LiveMode, Moment, Text
from gateway.core.currencies import format_price
from wallets.networks import chains


class Tips(ApiField, s.ListField):
    """Tips in whole percent, each once and the least first; none if absent."""

    absent = ()
    answers_null = False
    child = s.IntegerField(min_value=1, max_value=MOST_PERCENT)

    def to_internal_value(self, value: Any) -> list[int]:
        """Return the percents. Raises InvalidRequestError."""
        # A boolean is an int in Python, and not in JSON.
        are_tips = isinstance(value, list) and all(type(one) is int and 1 <= one <= MOST_PERCENT for one in value)
        if not are_tips or len(set(value)) > MOST_TIPS:
            raise refuse(
                self.name, f"{self.name} must be a list of at most {MOST_TIPS} whole numbers from 1 to {MOST_PERCENT}."
            )
        return sorted(set(value))


class Chains(ApiField, s.ListField):
    """Names of chains, each once; none if absent."""

    absent = ()
    answers_null = False
    child = s.CharField(max_length=16)

    def to_internal_value(self, value: Any) -> list[str]:
        """Return the names. Raises InvalidRequestError."""
        known = chains()
        told = f"{self.name} must be a list of some of {', '.join(known)}."
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise refuse(self.name, told)
        if not known.keys() >= {*value}:
            raise refuse(self.name, told, "chain_unsupported")
        return sorted(set(value))


class FirstChain(Text):
    """The name of a chain."""

    def to_internal_value(self, value: Any) -> str:
        """Return the name; "" for none. Raises InvalidRequestError."""
        name = super().to_internal_value(value)
        if name and name not in chains():
            raise refuse(self.name, f"{self.name} must be one of {', '.join(chains())}.", "chain_unsupported")
        return name


class Terminal(Answer):
    """A place that sells, in one mode, and the one device that may sell there."""

    id = s.CharField(source="public_id", read_only=True, help_text="`ter_…`")
    name = Text(
        max_length=NAME_LENGTH,
        trim_whitespace=True,
        help_text="The description of its checkouts.",
        body_help="Customers see it: it is the description of its checkouts.",
    )
    currency = Currency(
        required=False, body_help="Of what is typed at it: `USD` if absent, or what `GET /currencies` lists."
    )
    tips = Tips(
        required=False,
        allow_null=True,
        help_text="Tips to choose from, in whole percent.",
        body_help=f"Tips to choose from, in whole percent: at most {MOST_TIPS}. Without any, the device asks for no tip.",
    )
    chain = FirstChain(
        max_length=16,
        required=False,
        allow_null=True,
        help_text="The network that a sale shows first. Null: the payment page.",
        body_help="The network that a sale shows first. Absent: the payment page.",
    )
    chains = Chains(
        required=False,
        allow_null=True,
        help_text="The networks whose buttons stand first. None: all stand in one row.",
        body_help="The networks whose buttons stand first; the others are one tap further. None: all stand in one row.",
    )
    shows_day = Flag(
        required=False,
        help_text="Whether the device shows the day's sums.",
        body_help="Whether the device shows the day's sums.",
    )
    has_sign = Flag(
        required=False,
        help_text="Whether customers may type amounts on the page of its counter sign.",
        body_help="Whether customers may type amounts on the page of its counter sign.",
    )
    sign_url = s.CharField(read_only=True, allow_null=True, help_text="The page of its counter sign, for a QR code.")
    link_id = Text(
        source="follows",
        read_only=True,
        allow_null=True,
        help_text="The payment link whose checkouts are its sales, too. People choose it.",
    )
    has_pin = s.BooleanField(
        read_only=True, help_text="Whether its device asks for a PIN after five minutes. People set it."
    )
    status = s.ChoiceField(
        TerminalStatus.choices, read_only=True, help_text="Whether a device is paired with it. `revoked` is for good."
    )
    device = Text(
        read_only=True, allow_null=True, help_text="The device's browser and system, such as `Chrome on Android`."
    )
    livemode = LiveMode()
    created_at = Moment()
    paired_at = Moment(allow_null=True)
    last_seen_at = Moment(allow_null=True)
    revoked_at = Moment(allow_null=True)

    def get_sign_url(self, terminal: models.Terminal) -> str | None:
        """Return the address of the sign's page; None where there is none."""
        return sign_url(terminal) if terminal.has_sign and terminal.revoked_at is None else None

    def get_has_pin(self, terminal: models.Terminal) -> bool:
        """Return whether there is a PIN."""
        return bool(terminal.pin_hash)

    def get_status(self, terminal: models.Terminal) -> str:
        """Return whether a device is paired."""
        return str(status_of(terminal))


class NewTerminal(Body, Terminal):
    """Body of `POST /terminals`."""

    @classmethod
    def values_of(cls, body: Mapping[str, Any]) -> TerminalValues:
        """Read what was chosen. Raises InvalidRequestError naming the parameter."""
        return TerminalValues(**cls.read(body))


class TerminalPairing(Answer):
    """A code that pairs one device with a terminal, once. No other answer has it."""

    code = s.CharField(read_only=True, help_text="To type, such as `7H3K-9QZ2`.")
    url = s.CharField(read_only=True, help_text="For a QR code that the device scans. It has the code behind its `#`.")
    expires_at = Moment()


class TerminalSale(Answer):
    """A checkout that was made at a terminal."""

    checkout_id = s.CharField(source="checkout.public_id", read_only=True, help_text="For `GET /checkouts/{id}`.")
    amount = s.CharField(read_only=True, help_text="With the tip, in `currency`.")
    currency = s.CharField(source="checkout.currency", read_only=True)
    tip = s.CharField(read_only=True, help_text="The part of `amount` that is a tip.")
    status = s.ChoiceField(
        CheckoutStatus.choices, source="checkout.status", read_only=True, help_text="The checkout's status."
    )
    exception = s.ChoiceField(
        CheckoutException.choices, read_only=True, allow_null=True, help_text="The checkout's exception."
    )
    accepted_by = s.CharField(
        read_only=True,
        allow_null=True,
        help_text="The id of the checkout that took its money, if a person accepted that after its time.",
    )
    is_by_customer = s.BooleanField(
        read_only=True, help_text="Whether a customer typed it on the page of the counter sign."
    )
    created_at = Moment()

    def get_amount(self, sale: models.TerminalSale) -> str:
        """Return the price with its currency's decimals."""
        return price_text(sale.checkout)

    def get_tip(self, sale: models.TerminalSale) -> str:
        """Return the tip with its currency's decimals."""
        return format_price(sale.tip, sale.checkout.currency)

    def get_exception(self, sale: models.TerminalSale) -> str | None:
        """Return the checkout's exception; None for none."""
        return sale.checkout.exception or None

    def get_accepted_by(self, sale: models.TerminalSale) -> str | None:
        """Return the id of the checkout's successor, which is loaded; None where there is none."""
        successor = getattr(sale.checkout, "replaced_by", None)
        return None if successor is None else successor.public_id


TerminalList = paginated("TerminalList", Terminal)
TerminalSaleList = paginated("TerminalSaleList", TerminalSale)
