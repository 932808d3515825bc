"""Pages of the dashboard that belong to no merchant."""

from django.urls import path

from accounts.dashboard import pages

urlpatterns = [
    path("", pages.choose, name="dashboard"),
    path("new/", pages.new_merchant, name="dashboard_new_merchant"),
]
