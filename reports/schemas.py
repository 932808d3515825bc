"""The reports' shapes for the OpenAPI description. Never used to read or write a request (docs/adr/0003)."""

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers as s

from gateway.core.api.openapi import PAGE_PARAMETERS, errors, paginated
from gateway.core.api.pagination import FORMATS
from reports.entries import RowKind
from settlements.states import SettlementStatus
from wallets.states import ClaimKind, Direction, TransferState

__all__ = [
    "SETTLEMENT_PARAMETERS",
    "SUMMARY_PARAMETERS",
    "TRANSACTION_PARAMETERS",
    "ReportSettlementList",
    "ReportSummary",
    "TransactionList",
    "errors",
]

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


class Flows(s.Serializer[None]):
    """Sums with six decimals: final ones, and beside them what is not final yet."""

    inflow = s.CharField()
    outflow = s.CharField(help_text="What left watched wallets.")
    net = s.CharField()
    unconfirmed = s.CharField()


class ChainFlows(Flows):
    """The sums of a token on a chain."""

    chain = s.CharField()
    token = s.CharField()
    count = s.IntegerField()


class DayFlows(Flows):
    """The sums of a day (UTC)."""

    day = s.DateField()
    count = s.IntegerField()


class TagFlows(Flows):
    """The sums of the watched wallets with a tag, of all that moved in and out of them."""

    tag = s.CharField()
    count = s.IntegerField()


class ReportCounts(s.Serializer[None]):
    """How many transfers and movements: final ones in and out, those in that are not final yet.

    Of the transfers to your own addresses that are final, `credited` paid for something and `uncredited` did not.
    """

    out = s.IntegerField()
    unconfirmed = s.IntegerField()
    credited = s.IntegerField()
    uncredited = s.IntegerField()

    def get_fields(self) -> dict[str, s.Field]:  # type: ignore[type-arg]
        """Return the fields. One name is a Python keyword, so it cannot be a class attribute."""
        return {"in": s.IntegerField(), **super().get_fields()}


class Held(s.Serializer[None]):
    """What watched wallets hold of a token, as each was last read."""

    chain = s.CharField()
    token = s.CharField()
    amount = s.CharField()


class ReportSummary(Flows):
    """What came to a merchant and left its watched wallets in a range of time: accepted tokens, each as one USD."""

    to = s.DateTimeField()
    livemode = s.BooleanField()
    fees = s.CharField(help_text="Fees charged in the period, minus fees reversed in it. Two decimals.")
    counts = ReportCounts()
    balances = Held(many=True)
    by_chain = ChainFlows(many=True)
    by_day = DayFlows(many=True)
    by_tag = TagFlows(many=True)

    def get_fields(self) -> dict[str, s.Field]:  # type: ignore[type-arg]
        """Return the fields. One name is a Python keyword, so it cannot be a class attribute."""
        return {"from": s.DateTimeField(), **super().get_fields()}


class ReportTransaction(s.Serializer[None]):
    """A transfer to one of the merchant's addresses, with the checkout that it paid, or a movement of a watched wallet."""

    id = s.CharField()
    direction = s.ChoiceField(choices=Direction.choices)
    chain = s.CharField()
    token = s.CharField()
    amount = s.CharField(help_text="With six decimals, or as many as another token has.")
    tx_hash = s.CharField()
    position = s.IntegerField()
    sender_address = s.CharField()
    recipient_address = s.CharField()
    status = s.ChoiceField(choices=TransferState.choices)
    block_time = s.DateTimeField()
    detected_at = s.DateTimeField()
    confirmed_at = s.DateTimeField(allow_null=True)
    checkout_id = s.CharField(allow_null=True)
    order_ref = s.CharField(allow_null=True)
    wallet_id = s.CharField(allow_null=True)
    kind = s.ChoiceField(
        choices=[kind.value for kind in RowKind],
        help_text="`checkout` and `x402` paid for one. `uncredited` and `other_token`, which no checkout accepts, reached an address of "
        "yours and paid for nothing. `watched` is a movement of a watched wallet.",
    )
    x402_payment_id = s.CharField(allow_null=True)
    resource = s.CharField(allow_null=True, help_text="What the machine of an x402 payment paid for.")
    fee = s.CharField(
        allow_null=True,
        help_text="In USD, six decimals, less what was refunded. A checkout's fee stands on the first of its transfers.",
    )
    usd_value = s.CharField(allow_null=True, help_text="Null for a token that no checkout accepts.")
    explorer_url = s.CharField(allow_null=True, help_text="Null in test mode and on local networks.")


TransactionList = paginated("ReportTransactionList", ReportTransaction)


class ReportSettlement(s.Serializer[None]):
    """Money that was sent on from forwarders to a receiving wallet. `amount` is what moved, or the plan until it ended."""

    id = s.CharField()
    chain = s.CharField()
    token = s.CharField()
    amount = s.CharField()
    to = s.CharField()
    status = s.ChoiceField(choices=SettlementStatus.choices)
    created_at = s.DateTimeField()
    purpose = s.ChoiceField(choices=ClaimKind.choices)
    tx_hash = s.CharField(allow_null=True)
    explorer_url = s.CharField(allow_null=True)
    settled_at = s.DateTimeField(allow_null=True)
    error = s.CharField(allow_null=True)


ReportSettlementList = paginated("ReportSettlementList", ReportSettlement)
