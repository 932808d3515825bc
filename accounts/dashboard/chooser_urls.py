"""Pages of the dashboard that belong to no merchant."""

from django.urls import path

from accounts.dashboard import chooser

urlpatterns = [
    path("", chooser.choose, name="dashboard"),
    path("new/", chooser.new_merchant, name="dashboard_new_merchant"),
]
