"""The report API."""

from itertools import chain
from typing import ClassVar

from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import principal_of_request
from checkouts.disruptions import merchant_disruptions
from gateway.core.api.openapi import errors
from gateway.core.api.pagination import chunks_by_key, list_body, parse_format, parse_page
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from gateway.core.exports import csv_response
from gateway.core.postgres.replica import reads_replica
from reports import serializers
from reports.entries import report_page, report_rows
from reports.inputs import parse_filter, parse_summary, parse_transactions
from reports.selectors import settlement_page, settlements_wanted
from reports.serializers import CSV_HEADER, ActiveDisruption, ReportTransaction, csv_cells, summary_object
from reports.summaries import summary_of
from reports.totals import ReportTotals
from reports.transactions import explain
from settlements.serializers import CSV_HEADER as SETTLEMENT_HEADER
from settlements.serializers import ReportSettlement
from settlements.serializers import csv_cells as csv_line
from wallets.disruptions import Reader, tell
from wallets.transfers.selectors import parse_chain

READ = Limit("reports", 30)
EXPLAIN = Limit("transactions", 30)
DISRUPTIONS = Limit("disruptions", 60)


class ReportViewSet(ApiViewSet):
    """`/api/v1/reports`."""

    scopes: ClassVar = dict.fromkeys(("summary", "transactions", "settlements"), Scope.REPORTS_READ)
    limits: ClassVar = {"summary": READ, "transactions": READ, "settlements": READ}

    @extend_schema(
        operation_id="getReportSummary",
        tags=["Reports"],
        parameters=serializers.SUMMARY_PARAMETERS,
        responses={200: serializers.ReportSummary, **errors(400, 401, 429)},
    )
    @action(detail=False)
    @reads_replica
    def summary(self, request: Request) -> Response:
        """Get totals.

        What was received, what left watched wallets and what they hold, over the last 30 days, or over the range from `from` to
        `to`, at most 366 days.
        """
        principal, now = principal_of_request(request), timezone.now()
        wanted = parse_summary(principal.merchant_id, principal.mode, request.query_params, now=now)
        return Response(summary_object(wanted, summary_of(wanted, now=now)))

    @extend_schema(
        operation_id="listReportTransactions",
        tags=["Reports"],
        parameters=serializers.TRANSACTION_PARAMETERS,
        responses={
            (200, "application/json"): serializers.TransactionList,
            (200, "text/csv"): OpenApiTypes.STR,
            **errors(400, 401, 429),
        },
    )
    @action(detail=False)
    @reads_replica
    def transactions(self, request: Request) -> HttpResponseBase:
        """List transactions.

        Transfers in and out, newest first. With `format=csv`, all of them in one file.
        """
        principal = principal_of_request(request)
        query = request.query_params
        wanted = parse_transactions(principal.merchant_id, principal.mode, query)
        page = parse_page(query)
        if parse_format(query) == "csv":
            cells = csv_cells(report_rows(wanted))
            name = f"transactions-{principal.mode}"
            return csv_response(name, CSV_HEADER, cells, for_people=False)
        totals = ReportTotals(wanted)
        data = list(map(ReportTransaction.of, report_page(totals, page)))
        total = totals.count() if page.include_total else None
        return Response(list_body(data, page, total))

    @extend_schema(
        operation_id="listReportSettlements",
        tags=["Reports"],
        parameters=serializers.SETTLEMENT_PARAMETERS,
        responses={
            (200, "application/json"): serializers.ReportSettlementList,
            (200, "text/csv"): OpenApiTypes.STR,
            **errors(400, 401, 429),
        },
    )
    @action(detail=False)
    @reads_replica
    def settlements(self, request: Request) -> HttpResponseBase:
        """List settlements.

        What was sent on from forwarders, newest first. With `format=csv`, all of them in one file.
        """
        principal = principal_of_request(request)
        query = request.query_params
        wanted = parse_filter(principal.merchant_id, principal.mode, query)
        page, found = parse_page(query), settlements_wanted(wanted)
        if parse_format(query) == "csv":
            lines = map(csv_line, chain.from_iterable(chunks_by_key(found)))
            name = f"settlements-{principal.mode}"
            return csv_response(name, SETTLEMENT_HEADER, lines, for_people=False)
        data = list(map(ReportSettlement.of, settlement_page(wanted, page)))
        total = found.count() if page.include_total else None
        return Response(list_body(data, page, total))


class TransactionViewSet(ApiViewSet):
    """`/api/v1/transactions`."""

    lookup_url_kwarg = "tx_hash"
    # Base64, which TON has, may contain a slash.
    lookup_value_converter = "path"
    scopes: ClassVar = {"retrieve": Scope.CHECKOUTS_READ}
    limits: ClassVar = {"retrieve": EXPLAIN}

    @extend_schema(
        operation_id="getTransaction",
        tags=["Transactions"],
        parameters=[
            OpenApiParameter(
                "tx_hash",
                str,
                OpenApiParameter.PATH,
                description="In any form of its chain: hexadecimal with or without 0x, base58, base64.",
            ),
            OpenApiParameter("chain", str, description="Only on this chain. Otherwise on each that may have it."),
        ],
        responses={200: serializers.TransactionExplanation, **errors(400, 401, 404, 429, 503)},
    )
    def retrieve(self, request: Request, tx_hash: str) -> Response:
        """Get what became of a transaction.

        Your records answer first: each movement with the checkout that it paid, or why it paid none. If they have nothing, the
        chains' nodes are asked, which may take eight seconds. Test keys ask no node. 503 `chain_unavailable`: a chain that may
        have the transaction does not answer, so ask again.
        """
        principal, chain = principal_of_request(request), parse_chain(request.query_params)
        return Response(serializers.TransactionExplanation.of(explain(principal, tx_hash, chain=chain)))


class DisruptionViewSet(ApiViewSet):
    """`/api/v1/disruptions`."""

    scopes: ClassVar = {"list": Scope.CHECKOUTS_READ}
    limits: ClassVar = {"list": DISRUPTIONS}

    @extend_schema(
        operation_id="listDisruptions",
        tags=["Disruptions"],
        responses={200: serializers.DISRUPTION_LIST, **errors(401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List what disrupts your payments now.

        The most serious first, each with your orders at risk; an empty list while all is well. It is what the dashboard's overview tells, in
        the same sentences. A test key gets what concerns test checkouts: they depend on no chain. `GET /chains` needs no key, and tells
        what buyers are told of each chain. Which webhook endpoints fail, and how much waits for each, is told to keys with the scope
        `webhooks:read`; others get one entry for all that fail.
        """
        principal = principal_of_request(request)
        sees = Scope.WEBHOOKS_READ in principal.scopes
        found = merchant_disruptions(principal.merchant_id, principal.mode, now=timezone.now(), sees_endpoints=sees)
        data = [
            ActiveDisruption.of(
                tell(one, Reader.MERCHANT),
                chain=one.chain or None,
                endpoint_id=one.endpoint or None,
                orders_at_risk=one.orders,
            )
            for one in found
        ]
        return Response({"data": data})
