"""A merchant's own pages that this app has, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from reports.dashboard import payments, summary

urlpatterns = [
    path("payments/", payments.payments, name="dashboard_payments"),
    path("reports/", summary.reports, name="dashboard_reports"),
    path("reports/export/", summary.export, name="dashboard_reports_csv"),
]
