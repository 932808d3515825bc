"""Reports as the API and files show them, and the parameters of their routes."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers as s

from checkouts.inbox.serializers import item_id, outcome_of
from checkouts.models import InboxItem
from checkouts.states import InboxOutcome, InboxReason, InboxStatus
from gateway.core.api.openapi import PAGE_PARAMETERS, listed, paginated
from gateway.core.api.pagination import FORMATS
from gateway.core.api.serializers import Answer, LiveMode, Moment, Text, Units, Usd
from gateway.core.currencies import USD, format_price
from gateway.core.money import format_token, format_units
from reports.entries import ReportRow, RowKind
from reports.inputs import ReportFilter
from reports.summaries import Summary
from reports.transactions import TransactionOutcome, TransactionSource, TransactionStatus
from settlements.serializers import ReportSettlement
from wallets.disruptions import DisruptionKind
from wallets.networks import chain_spec, decimals_of, is_accepted
from wallets.states import Direction, TransferState

SUMMARY_PARAMETERS = [
    OpenApiParameter("from", str, description="ISO 8601, inclusive; by block time. UTC."),
    OpenApiParameter("to", str, description="ISO 8601, exclusive; a date is its midnight."),
    OpenApiParameter("chain", str),
    OpenApiParameter("tag", str, description="Of watched wallets: what moved in and out of them."),
]
TRANSACTION_PARAMETERS = [
    *SUMMARY_PARAMETERS,
    OpenApiParameter("format", str, enum=list(FORMATS)),
    OpenApiParameter("token", str),
    OpenApiParameter("direction", str, enum=list(Direction.values)),
    OpenApiParameter(
        "wallet",
        str,
        description="The id of a watched wallet, or an address: what was sent to it, or to deposit addresses that pay it, and where it is a watched "
        "wallet's, what moved in and out of it.",
    ),
    *PAGE_PARAMETERS,
]


SETTLEMENT_PARAMETERS = [*SUMMARY_PARAMETERS[:3], OpenApiParameter("format", str, enum=list(FORMATS)), *PAGE_PARAMETERS]


CSV_HEADER: Final = """
    id direction block_time chain token amount tx_hash position sender_address recipient_address status confirmed_at
    checkout_id order_ref wallet_id kind x402_payment_id resource fee usd_value explorer_url payout_id amount_refunded price
    price_currency
""".split()

_NUMBERS: Final = ("amount", "fee", "usd_value", "amount_refunded", "price")


def _flows(part: str = "") -> tuple[Units, ...]:
    """Return the fields of sums: in, out, net, unconfirmed. The sums are the row, or a `part` of it."""
    return (
        _sum(part, "inflow"),
        _sum(part, "outflow", help_text="What left watched wallets."),
        _sum(part, "net"),
        _sum(part, "unconfirmed"),
    )


def _sum(part: str, name: str, **kwargs: Any) -> Units:
    return Units(source=f"{part}.{name}" if part else None, **kwargs)


class ChainFlows(Answer):
    """The sums of a token on a chain."""

    chain = s.CharField()
    token = s.CharField()
    inflow, outflow, net, unconfirmed = _flows()
    count = s.IntegerField()


class DayFlows(Answer):
    """The sums of a day (UTC)."""

    day = s.DateField()
    inflow, outflow, net, unconfirmed = _flows()
    count = s.IntegerField()


class TagFlows(Answer):
    """The sums of the watched wallets with a tag, of all that moved in and out of them."""

    tag = s.CharField()
    inflow, outflow, net, unconfirmed = _flows()
    count = s.IntegerField()


class ReportCounts(Answer):
    """How many transfers and movements: final ones in and out, those in that are not final yet.

    Of the transfers to your own addresses that are final, `credited` paid for something and `uncredited` did not.
    """

    in_ = s.IntegerField(source="came")
    out = s.IntegerField(source="left")
    unconfirmed = s.IntegerField(source="waiting")
    credited = s.IntegerField()
    uncredited = s.IntegerField()


class Held(Answer):
    """What watched wallets hold of a token, as each was last read."""

    chain = s.CharField()
    token = s.CharField()
    amount = Units(source="units")


class ReportSummary(Answer):
    """What came to a merchant and left its watched wallets in a range of time, in USD.

    An accepted token is one USD. Euros that paid a checkout, and refunds of them, count at what they were worth there.
    """

    from_ = Moment()
    to = Moment()
    livemode = LiveMode()
    inflow, outflow, net, unconfirmed = _flows("total")
    fees = Usd(help_text="Fees charged in the period, minus fees reversed in it. Two decimals.")
    counts = ReportCounts(source="total")
    balances = Held(many=True)
    by_chain = ChainFlows(many=True)
    by_day = DayFlows(many=True)
    by_tag = TagFlows(many=True)

    def get_by_chain(self, summary: Summary) -> list[dict[str, Any]]:
        """Return the sums of each token on each chain."""
        return [ChainFlows.of(sums, chain=chain, token=token) for (chain, token), sums in summary.by_token.items()]

    def get_by_day(self, summary: Summary) -> list[dict[str, Any]]:
        """Return the sums of each day."""
        return [DayFlows.of(sums, day=day.isoformat()) for day, sums in summary.by_day.items()]

    def get_by_tag(self, summary: Summary) -> list[dict[str, Any]]:
        """Return the sums of each tag."""
        return [TagFlows.of(sums, tag=tag) for tag, sums in summary.by_tag.items()]


def summary_object(wanted: ReportFilter, summary: Summary) -> dict[str, Any]:
    """Return `GET /reports/summary`."""
    return ReportSummary.of(summary, **{"from": wanted.since, "to": wanted.until, "livemode": wanted.mode})


class ReportTransaction(Answer):
    """A transfer to one of the merchant's addresses, with the checkout that it paid, or a movement of a watched wallet."""

    id = s.CharField()
    direction = s.ChoiceField(choices=Direction.choices)
    chain = s.CharField()
    token = s.CharField()
    amount = s.CharField(help_text="With six decimals, or as many as another token has.")
    tx_hash = s.CharField()
    position = s.IntegerField()
    sender_address = s.CharField(source="sender")
    recipient_address = s.CharField(source="recipient")
    status = s.ChoiceField(choices=TransferState.choices, source="state")
    block_time = Moment()
    detected_at = Moment()
    confirmed_at = Moment(allow_null=True)
    checkout_id = s.CharField(
        source="checkout", allow_null=True, help_text="The checkout that it paid, or that a refund gives back."
    )
    order_ref = Text(allow_null=True)
    wallet_id = s.CharField(source="wallet", allow_null=True)
    kind = s.ChoiceField(
        choices=[kind.value for kind in RowKind],
        help_text="`checkout` and `x402` paid for one. `uncredited` and `other_token`, which no checkout accepts, reached an address of "
        "yours and paid for nothing. `watched` is a movement of a watched wallet. `refund` and `payout` left one, and pay `payout_id`.",
    )
    x402_payment_id = s.CharField(source="machine", allow_null=True)
    resource = Text(allow_null=True, help_text="What the machine of an x402 payment paid for.")
    fee = s.CharField(
        allow_null=True,
        help_text="In USD, six decimals, less what was refunded. A checkout's fee stands on the first of its transfers.",
    )
    usd_value = s.CharField(
        allow_null=True,
        help_text="Of euros that paid a checkout or went back from it, their worth in it. Null for other tokens that are not one USD.",
    )
    explorer_url = s.CharField(allow_null=True, help_text="Null in test mode and on local networks.")
    payout_id = s.CharField(source="payout", allow_null=True, help_text="The refund or payout that it pays.")
    amount_refunded = s.CharField(allow_null=True, help_text="What refunds gave back of it. Null for a movement.")
    price = s.CharField(
        allow_null=True,
        help_text="What you asked for, of a checkout whose price was converted. Null where it was in USD.",
    )
    price_currency = s.CharField(source="currency", allow_null=True, help_text="The currency of `price`.")

    def get_price(self, row: ReportRow) -> str | None:
        """Return the price of the checkout with its currency's decimals."""
        return None if row.price is None else format_price(row.price, row.currency or USD)

    def get_amount_refunded(self, row: ReportRow) -> str | None:
        """Return what was given back, with all decimals of its token."""
        return None if row.returned is None else format_units(row.returned, decimals_of(row.chain, row.token))

    def get_amount(self, row: ReportRow) -> str:
        """Return the amount with all decimals of its token."""
        return format_units(row.units, decimals_of(row.chain, row.token))

    def get_fee(self, row: ReportRow) -> str | None:
        """Return the fee."""
        return None if row.fee is None else format_token(row.fee)

    def get_usd_value(self, row: ReportRow) -> str | None:
        """Return the value of an accepted token, each of which is one USD, or of euros in a checkout; others may be worth anything."""
        if row.worth is not None:
            return format_units(row.worth)
        return self.get_amount(row) if is_accepted(row.chain, row.token) else None

    def get_explorer_url(self, row: ReportRow) -> str | None:
        """Return the transaction's page in the chain's explorer."""
        return chain_spec(row.chain).transaction_url(row.tx_hash) if row.is_live else None


TransactionList = paginated("ReportTransactionList", ReportTransaction)
ReportSettlementList = paginated("ReportSettlementList", ReportSettlement)


class InboxMention(Answer):
    """An inbox item about a movement. `GET /inbox/{item_id}` has more."""

    id = s.CharField()
    status = s.ChoiceField(choices=InboxStatus.choices)
    reason = s.ChoiceField(choices=InboxReason.choices)
    outcome = s.ChoiceField(choices=InboxOutcome.choices, allow_null=True)

    def get_id(self, item: InboxItem) -> str:
        """Return the item's id."""
        return item_id(item.transfer.public_id, item.reason)

    def get_outcome(self, item: InboxItem) -> str | None:
        """Return how the item was closed."""
        return outcome_of(item)


class TransactionMovement(Answer):
    """A token movement of a transaction, and what became of it."""

    id = s.CharField(source="public_id", allow_null=True, help_text="Null if it is not recorded as a transfer.")
    tx_hash = s.CharField(help_text="On TON, a part of a transaction has its own.")
    position = s.IntegerField()
    token = s.CharField(allow_null=True, help_text="Null for a token that Florin does not know.")
    token_address = s.CharField(allow_null=True, help_text="Null for the chain's own coin.")
    amount = s.CharField(allow_null=True, help_text="Null where the token's decimals are not known.")
    sender_address = s.CharField(source="sender")
    recipient_address = s.CharField(source="recipient")
    status = s.ChoiceField(
        choices=TransferState.choices, source="state", allow_null=True, help_text="Null if it is not recorded."
    )
    in_doubt = s.BooleanField(
        help_text="Its chain was halted because it contradicts what is recorded. Hold the order until a person has looked."
    )
    outcome = s.ChoiceField(
        choices=TransactionOutcome.choices,
        help_text="`credited` and `accepted_late` paid the checkout, `x402` a machine's request. `inbox` waits for a person; "
        "`refunded` and `dismissed` were decided by one. `unclaimed` reached your address for machines. `undecided` is in work. "
        "`reversed` was removed by the network. `unread` pays you, and is not recorded "
        "yet. `unsupported` is of a token that Florin does not know. `elsewhere` did not pay you.",
    )
    explanation = s.CharField()
    checkout_id = s.CharField(allow_null=True)
    replaces = s.CharField(allow_null=True, help_text="The expired checkout for which the money came late.")
    x402_payment_id = s.CharField(allow_null=True)
    refund_tx = s.CharField(
        allow_null=True, help_text="The newest transaction that sent the money back, or a part of it."
    )
    inbox_items = InboxMention(many=True)


class ExplainedTransaction(Answer):
    """A transaction on one chain. Recorded: the movements that are yours. From a node: all, yours first, at most 100."""

    chain = s.CharField()
    tx_hash = s.CharField()
    status = s.ChoiceField(
        choices=TransactionStatus.choices, help_text="`waiting`: no block has it yet. `removed`: a reorg took it."
    )
    block_time = Moment(allow_null=True)
    explorer_url = s.CharField(allow_null=True, help_text="Null in test mode and on local networks.")
    movements = TransactionMovement(many=True)


class TransactionExplanation(Answer):
    """What became of the transactions with a hash: chains of one kind may each have one."""

    livemode = LiveMode()
    source_ = s.ChoiceField(choices=TransactionSource.choices, help_text="Where the answer is from.")
    transactions = ExplainedTransaction(many=True)
    unasked_chains = s.ListField(
        child=s.CharField(), source="unasked", help_text="Chains that may have one too, and did not answer."
    )


def csv_cells(rows: Iterable[ReportRow]) -> Iterator[tuple[object, ...]]:
    """Return the lines of a file; amounts are numbers there."""
    for row in rows:
        line = ReportTransaction.of(row)
        for name in _NUMBERS:
            line[name] = line[name] and Decimal(line[name])
        yield tuple(line[name] for name in CSV_HEADER)


class ActiveDisruption(Answer):
    """What disrupts your payments now, in the words of your dashboard."""

    kind = s.ChoiceField(choices=[kind.value for kind in DisruptionKind])
    chain = s.CharField(allow_null=True, help_text="Null for one that concerns no chain.")
    endpoint_id = s.CharField(
        allow_null=True,
        help_text="The webhook endpoint, `whe_default` for the default one. Null for one that a single checkout named, for other kinds, and "
        "for keys without the scope `webhooks:read`.",
    )
    since = Moment(allow_null=True, help_text="Of a halted chain with payments in doubt: when the first was made.")
    block = s.IntegerField(allow_null=True, help_text="The last block that was read of a halted chain.")
    heading = s.CharField(help_text="What is so.")
    meaning = s.CharField(help_text="What it means for payments.")
    doing = s.CharField(help_text="What Florin does about it.")
    advice = s.CharField(help_text="What you should do.")
    orders_at_risk = s.IntegerField(
        help_text="Your payments in doubt on a halted chain, open checkouts that offer a chain which is not read or late, payments that "
        "were reversed, or events that wait for an endpoint, which keys without the scope `webhooks:read` get no number of. Counting stops at "
        "1,000. 0 where no order depends on it."
    )


class EndedDisruption(Answer):
    """A disruption of your payments that is over."""

    kind = s.CharField(help_text="The worst that it was: a `kind` of `GET /disruptions`.")
    chain = s.CharField()
    since = Moment()
    until = Moment()


DISRUPTION_LIST = listed("ActiveDisruptionList", ActiveDisruption)
