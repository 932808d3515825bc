"""Refunds and payouts as the API takes and shows them."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers as s

from accounts.states import Mode
from checkouts.creation.forms import currency_of
from checkouts.schemas import QuoteSource
from checkouts.serializers import Currency
from gateway.core import json
from gateway.core.api.fields import missing, refuse, text_in, text_of
from gateway.core.api.openapi import paginated
from gateway.core.api.serializers import Answer, ApiField, Body, Count, Flag, LiveMode, Metadata, Moment, Text
from gateway.core.currencies import DECIMALS
from gateway.core.money import format_units
from mails.addresses import writable
from payouts import models
from payouts.lifecycle.service import CLAIM_SPAN, LONGEST_CLAIM, MOST_CHOICES, SHORTEST_CLAIM
from payouts.lifecycle.sources import Source
from payouts.states import PayoutException, PayoutKind, PayoutStatus
from wallets.models import WatchedMovement
from wallets.networks import chain_spec, decimals_of
from wallets.states import Direction, TransferState

# No token has more than eighteen decimals.
_AMOUNT: Final = re.compile(r"[0-9]+(?:\.[0-9]{1,18})?", re.ASCII)
_ID_LENGTH: Final = 40
_CHAIN_LENGTH: Final = 16
_TOKEN_LENGTH: Final = 12
_ADDRESS_LENGTH: Final = 80
_HASH_LENGTH: Final = 200
_MOST_POSITION: Final = 2**31 - 1
_SECONDS: Final = int(CLAIM_SPAN.total_seconds())


class TokenAmount(ApiField, s.CharField):
    """An amount of a token: a string of ASCII digits, never a number. Its token's decimals are checked where it is known."""

    absent = None

    def to_internal_value(self, value: Any) -> Decimal:
        """Return the amount. Raises InvalidRequestError (amount_not_string, amount_invalid)."""
        if json.number_text(value) is not None:
            told = f'{self.name} must be a string such as "25.00"; a JSON number has lost precision already.'
            raise refuse(self.name, told, "amount_not_string")
        if not isinstance(value, str) or not _AMOUNT.fullmatch(value):
            raise refuse(self.name, f'{self.name} must look like "25" or "25.50", digits only.', "amount_invalid")
        return Decimal(value)


class QuotedCurrency(Currency):
    """A currency that a checkout may have been quoted in, also one that new prices may not be in any more."""

    def to_internal_value(self, value: Any) -> str:
        """Return the currency; the refund checks that its source was quoted in it. Raises InvalidRequestError (currency_unsupported)."""
        return value if isinstance(value, str) and value in DECIMALS else currency_of(value)


class RecipientEmail(Text):
    """An address that mail can be sent to."""

    def to_internal_value(self, value: Any) -> str:
        """Return the address. Raises InvalidRequestError."""
        text = text_of(value, self.name, self.max_length)
        address = writable(text)
        if text and not address:
            raise refuse(self.name, f"{self.name} cannot be written to.")
        return address


class ClaimSeconds(Count):
    """How long a claim page waits for an address."""

    absent = None

    def to_internal_value(self, value: Any) -> int:
        """Return the seconds. Raises InvalidRequestError (parameter_invalid, expires_in_out_of_range)."""
        if type(value) is int and not self.low <= value <= self.high:
            told = f"{self.name} must be from {self.low} to {self.high} seconds."
            raise refuse(self.name, told, "expires_in_out_of_range")
        return super().to_internal_value(value)


class NamedTransfer(s.Serializer[None]):
    """A transfer to you, by its transaction."""

    chain = s.CharField()
    tx_hash = s.CharField()
    position = s.IntegerField(required=False, help_text="Needed if the transaction paid you several times.")


class NamedSource(s.Serializer[None]):
    """What a refund is of: exactly one of these."""

    checkout = s.CharField(required=False, help_text="`chk_…`. Also money that came too late or twice for it.")
    x402_payment = s.CharField(required=False, help_text="`x4p_…`")
    transfer = NamedTransfer(required=False)


@extend_schema_field(NamedSource)
class SourceField(ApiField, s.DictField):
    """The source of a refund."""

    def to_internal_value(self, value: Any) -> Source:
        """Return the source. Raises InvalidRequestError."""
        if not isinstance(value, dict):
            raise refuse(self.name, "source must be an object.")
        given = [name for name in ("checkout", "x402_payment", "transfer") if value.get(name) is not None]
        if len(given) != 1:
            raise refuse(self.name, "source must have one of checkout, x402_payment and transfer.")
        if given != ["transfer"]:
            text = text_in(value, given[0], _ID_LENGTH)
            if not text:
                raise missing(self.name)
            return Source(checkout=text) if given == ["checkout"] else Source(x402_payment=text)
        return self._transfer(value["transfer"])

    def _transfer(self, value: Any) -> Source:
        if not isinstance(value, dict):
            raise refuse(self.name, "source.transfer must be an object.")
        chain, tx_hash = text_in(value, "chain", _CHAIN_LENGTH), text_in(value, "tx_hash", _HASH_LENGTH)
        position = value.get("position")
        if not (chain and tx_hash):
            raise refuse(self.name, "source.transfer needs chain and tx_hash.", "parameter_missing")
        if position is not None and not (type(position) is int and 0 <= position <= _MOST_POSITION):
            raise refuse(self.name, "source.transfer.position must be a whole number.")
        return Source(chain=chain, tx_hash=tx_hash, position=position)


class PayoutChoice(s.Serializer[None]):
    """A chain and a token that the recipient may choose."""

    chain = s.CharField()
    token = s.CharField()


@extend_schema_field(PayoutChoice(many=True))
class ChoicesField(ApiField, s.ListField):
    """What the recipient may choose from, beside `chain` and `token`."""

    absent = ()

    def to_internal_value(self, value: Any) -> list[tuple[str, str]]:
        """Return the pairs. Raises InvalidRequestError; which chains and tokens there are is checked later."""
        if not isinstance(value, list) or len(value) > MOST_CHOICES:
            raise refuse(self.name, f"{self.name} must be a list of at most {MOST_CHOICES} objects.")
        return [self._pair(one) for one in value]

    def _pair(self, value: Any) -> tuple[str, str]:
        if not isinstance(value, dict):
            raise refuse(self.name, f"{self.name} must have objects with chain and token.")
        chain, token = text_in(value, "chain", _CHAIN_LENGTH), text_in(value, "token", _TOKEN_LENGTH)
        if not (chain and token):
            raise refuse(self.name, f"Each of {self.name} needs chain and token.", "parameter_missing")
        return chain, token


class PayoutTransfer(Answer):
    """A transfer that came in, and how much of it is sent back."""

    id = s.CharField(source="transfer.public_id")
    chain = s.CharField(source="transfer.chain")
    token = s.CharField(source="transfer.token")
    tx_hash = s.CharField(source="transfer.tx_hash")
    position = s.IntegerField(source="transfer.position")
    amount = s.CharField(help_text="What of it is sent back.")

    def get_amount(self, source: models.PayoutSource) -> str:
        """Return the amount with all decimals of its token."""
        return format_units(source.units, source.transfer.decimals)


class PayoutSource(Answer):
    """What a refund sends back."""

    checkout = s.CharField(allow_null=True, help_text="The checkout that the newest transfer was for.")
    x402_payment = s.CharField(allow_null=True)
    transfers = PayoutTransfer(many=True)


class PayoutApprovals(Answer):
    """The approvals of the present address. People give them in the dashboard."""

    have = s.IntegerField()
    need = s.IntegerField()
    revision = s.IntegerField(
        help_text="Counts the addresses, and warnings of one that came later. A new one needs new approvals."
    )


class PayoutTransaction(Answer):
    """The outflow that pays it."""

    tx_hash = s.CharField()
    from_ = s.CharField(allow_null=True)
    confirmations = s.IntegerField(allow_null=True)
    required_confirmations = s.IntegerField(allow_null=True)
    explorer_url = s.CharField(allow_null=True, help_text="Null in test mode and on local networks.")


class PayoutQuote(Answer):
    """How the amount of a payout was converted to USD, once, when it was asked for."""

    amount = s.CharField(help_text="What you asked for, in `currency`.")
    currency = s.CharField()
    usd_amount = s.CharField(help_text="What is paid, one token for a dollar: amount x rate, rounded up to a cent.")
    rate = s.CharField(help_text="USD for one unit of the currency.")
    sources = QuoteSource(many=True, help_text="The source of the rate, then the one that confirmed it.")
    taken_at = s.DateTimeField()


class Payout(Answer):
    """Money that you send from your own wallet. A refund is a payout with a source."""

    id = s.CharField(source="public_id", read_only=True)
    kind = s.ChoiceField(PayoutKind.choices, read_only=True)
    status = s.ChoiceField(
        PayoutStatus.choices,
        read_only=True,
        help_text="`open` waits for the recipient's address, `requested` for approvals, `approved` for your wallet.",
    )
    exception = s.ChoiceField(
        [PayoutException.REVERSED, PayoutException.PAID_TWICE, PayoutException.WRONG_AMOUNT],
        allow_null=True,
        read_only=True,
    )
    livemode = LiveMode()
    source_ = PayoutSource(allow_null=True, read_only=True)
    amount = s.CharField(read_only=True, help_text="In the token, with all its decimals.")
    quote = PayoutQuote(
        allow_null=True,
        read_only=True,
        help_text="How the amount was converted. Null where it was asked for in the token or in USD, and of refunds.",
    )
    token = s.CharField(read_only=True)
    chain = s.CharField(read_only=True)
    choices = PayoutChoice(
        many=True,
        read_only=True,
        help_text="What the recipient may choose from while the address is not known; the first is `chain` and `token` then.",
    )
    address = Text(read_only=True, allow_null=True)
    address_checked = s.BooleanField(
        read_only=True,
        help_text="Whether its chain said that people can use what they receive at the address. False, too, while no node answers: "
        "it is asked again before the address is approved. In test mode no chain is asked.",
    )
    address_proved = s.BooleanField(read_only=True, help_text="Whether the recipient signed with the address's key.")
    requires_payer_proof = s.BooleanField(
        read_only=True, help_text="Whether it goes only to an address that paid, whose key signs our message."
    )
    reason = Text(read_only=True, allow_null=True)
    reference = Text(read_only=True, allow_null=True)
    email = Text(read_only=True, allow_null=True)
    metadata = Metadata(read_only=True)
    claim_url = s.URLField(
        read_only=True,
        allow_null=True,
        help_text="Where the recipient gives the address. Whoever has it can say where the money goes: only keys with "
        "`payouts:request` see it.",
    )
    claim_expires_at = Moment(source="claim_until", allow_null=True)
    approvals = PayoutApprovals(read_only=True)
    transaction = PayoutTransaction(allow_null=True, read_only=True)
    created_at = Moment()
    approved_at = Moment(allow_null=True)
    paid_at = Moment(allow_null=True)
    ended_at = Moment(allow_null=True)

    # Of these three, `payouts.selectors.payout_objects` gives the values: they take queries for all payouts of a page.

    def get_source(self, _: models.Payout) -> dict[str, Any] | None:
        """Return none."""
        return None

    def get_approvals(self, payout: models.Payout) -> dict[str, int]:
        """Return none of an unknown number."""
        return {"have": 0, "need": 1, "revision": payout.revision}

    def get_transaction(self, _: models.Payout) -> dict[str, Any] | None:
        """Return none."""
        return None

    def get_choices(self, payout: models.Payout) -> list[dict[str, str]]:
        """Return the pairs of chain and token."""
        return [{"chain": chain, "token": token} for chain, token in payout.choices]

    def get_exception(self, payout: models.Payout) -> str | None:
        """Return the exception, or None."""
        return payout.exception or None

    def get_amount(self, payout: models.Payout) -> str:
        """Return the amount with all decimals of its token."""
        return format_units(payout.units, decimals_of(payout.chain, payout.token))

    def get_quote(self, payout: models.Payout) -> dict[str, Any] | None:
        """Return the quote as it is stored, or None."""
        quote: dict[str, Any] | None = payout.quote
        return quote

    def get_requires_payer_proof(self, payout: models.Payout) -> bool:
        """Return whether the address must be proved."""
        return payout.requires_proof

    def get_address_checked(self, payout: models.Payout) -> bool:
        """Return whether the chain knows nothing against the address."""
        return payout.inspected_at is not None and not payout.objection

    def get_address_proved(self, payout: models.Payout) -> bool:
        """Return whether the address was proved."""
        return payout.proved_at is not None


PayoutList = paginated("PayoutList", Payout)


class _Terms(Body):
    """What bodies of refunds and payouts have in common."""

    address = Text(
        required=False,
        allow_null=True,
        max_length=_ADDRESS_LENGTH,
        body_help="Where the money goes. Absent: the recipient gives it at `claim_url`.",
    )
    choices = ChoicesField(
        required=False,
        allow_null=True,
        body_help="Further chains and tokens that the recipient may choose at `claim_url`, worth the same.",
    )
    email = RecipientEmail(
        required=False,
        allow_null=True,
        max_length=models.EMAIL_LENGTH,
        body_help="The recipient's. Without an `address` the link goes there; in test mode only if it is of your team.",
    )
    expires_in = ClaimSeconds(
        low=int(SHORTEST_CLAIM.total_seconds()),
        high=int(LONGEST_CLAIM.total_seconds()),
        required=False,
        allow_null=True,
        body_help=f"Seconds that `claim_url` waits for an address. {_SECONDS} if absent.",
    )
    reason = Text(required=False, allow_null=True, max_length=models.REASON_LENGTH, body_help="The recipient reads it.")
    reference = Text(
        required=False,
        allow_null=True,
        max_length=models.REFERENCE_LENGTH,
        body_help="Your own name for it. A repeat with the same reference answers 200 with the first.",
    )
    metadata = Metadata(required=False, allow_null=True, body_help="At most 4,096 bytes. No recipient sees it.")


class NewRefund(_Terms):
    """Body of `POST /refunds`."""

    first = ("source", "amount", "currency", "chain", "token")

    source_ = SourceField(required=True)
    amount = TokenAmount(
        required=False, allow_null=True, body_help="In the source's token. Absent: all that is left of it."
    )
    currency = QuotedCurrency(
        absent="",
        required=False,
        allow_null=True,
        body_help="That `amount` is in: `USD`, or the checkout's own. It is converted at the checkout's quote, whatever the rate is now.",
    )
    chain = Text(
        required=False, allow_null=True, max_length=_CHAIN_LENGTH, body_help="Absent: the chain that the money came on."
    )
    token = Text(
        required=False,
        allow_null=True,
        max_length=_TOKEN_LENGTH,
        body_help="Absent: the token that came. Another must be worth the same.",
    )
    requires_payer_proof = Flag(
        source="requires_proof",
        required=False,
        allow_null=True,
        body_help="True: it goes only to an address that paid. The payer signs a message at `claim_url`, so `address` is absent. "
        "Whoever paid from an exchange cannot sign.",
    )


class NewPayout(_Terms):
    """Body of `POST /payouts`."""

    first = ("amount", "currency", "chain", "token")

    amount = TokenAmount(required=True, body_help='In the token, or in `currency`, as a string such as "25.50".')
    currency = Currency(
        absent="",
        required=False,
        allow_null=True,
        body_help="That `amount` is in: `USD`, one token for a dollar, or what `GET /currencies` lists on this installation. That is "
        "converted once, now: 503 `rate_unavailable` while there is no agreed rate.",
    )
    chain = Text(required=True, max_length=_CHAIN_LENGTH)
    token = Text(required=True, max_length=_TOKEN_LENGTH)


class NewAddress(Body):
    """Body of `POST /refunds/{id}/address`."""

    address = Text(required=True, max_length=_ADDRESS_LENGTH)
    chain = Text(
        required=False,
        allow_null=True,
        max_length=_CHAIN_LENGTH,
        body_help="Absent: the chain that the refund or payout has.",
    )
    token = Text(required=False, allow_null=True, max_length=_TOKEN_LENGTH)


def transaction_object(payout: models.Payout, heads: Mapping[str, int | None]) -> dict[str, Any] | None:
    """Return the outflow of a payout, its movement and wallet loaded; `heads` are the newest heights of chains."""
    movement = payout.movement
    if movement is None:
        if not payout.imported_tx:
            return None
        blank = {"from": None, "confirmations": None, "required_confirmations": None, "explorer_url": None}
        return {"tx_hash": payout.imported_tx} | blank
    spec = chain_spec(movement.chain)
    is_out = movement.direction == Direction.OUT
    return {
        "tx_hash": movement.tx_hash,
        "from": movement.wallet.address if is_out else movement.counterparty,
        "confirmations": confirmations_of(movement, heads.get(movement.chain)),
        "required_confirmations": spec.confirmations,
        "explorer_url": spec.transaction_url(movement.tx_hash) if movement.mode == Mode.LIVE else None,
    }


def confirmations_of(movement: WatchedMovement, head: int | None) -> int:
    """Return the number of blocks on a movement, its own included; simulated ones have no chain to count on.

    `head` is its chain's newest height, None if that is not known.
    """
    required = chain_spec(movement.chain).confirmations
    if movement.state == TransferState.ORPHANED:
        return 0
    is_final = movement.state == TransferState.CONFIRMED
    if movement.mode == Mode.TEST or head is None:
        return required if is_final else 1
    counted = max(head - movement.block_height + 1, 0)
    return max(counted, required) if is_final else counted
