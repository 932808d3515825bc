"""Routes of the merchant's report pages, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from reports.dashboard import overview, payments, search, statement, summary

urlpatterns = [
    path("", overview.overview, name="dashboard_overview"),
    path("latest/", overview.latest, name="dashboard_latest"),
    path("search/", search.search, name="dashboard_search"),
    path("payments/", payments.payments, name="dashboard_payments"),
    path("payments/export/", payments.export, name="dashboard_payments_csv"),
    path("reports/", summary.reports, name="dashboard_reports"),
    path("reports/export/", summary.export, name="dashboard_reports_csv"),
    path("fees/", statement.fees, name="dashboard_fees"),
    path("fees/<str:month>/", statement.statement, name="dashboard_statement"),
    path("fees/<str:month>/export/", statement.statement_csv, name="dashboard_statement_csv"),
]
