"""Routes of the merchant's report pages, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from reports.dashboard import customers, months, overview, payments, search, statement, summary

urlpatterns = [
    path("", overview.overview, name="dashboard_overview"),
    path("latest/", overview.latest, name="dashboard_latest"),
    path("search/", search.search, name="dashboard_search"),
    path("customers/", customers.customers, name="dashboard_customers"),
    path("customers/note/", customers.note, name="dashboard_customer_note"),
    path("payments/", payments.payments, name="dashboard_payments"),
    path("payments/export/", payments.export, name="dashboard_payments_csv"),
    path("reports/", summary.reports, name="dashboard_reports"),
    path("reports/export/", summary.export, name="dashboard_reports_csv"),
    path("months/", months.months, name="dashboard_months"),
    path("months/time-zone/", months.time_zone, name="dashboard_time_zone"),
    path("months/<str:month>/", months.month, name="dashboard_month"),
    path("months/<str:month>/<str:kind>.csv", months.month_file, name="dashboard_month_csv"),
    path("balances/", months.balances, name="dashboard_balances"),
    path("fees/", statement.fees, name="dashboard_fees"),
    path("fees/<str:month>/", statement.statement, name="dashboard_statement"),
    path("fees/<str:month>/export/", statement.statement_csv, name="dashboard_statement_csv"),
]
