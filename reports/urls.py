"""Routes of the report API, below /api/v1/."""

from django.urls import path

from reports.api import ReportSummaryItem, ReportTransactions

urlpatterns = [
    path("reports/summary", ReportSummaryItem.as_view()),
    path("reports/transactions", ReportTransactions.as_view()),
]
