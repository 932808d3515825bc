"""Routes of notices, on the dashboard's host, without a login."""

from django.urls import path

from notices.page import views

urlpatterns = [
    path("notices/worker.js", views.worker, name="notices_worker"),
    path("notices/manifest.webmanifest", views.dashboard_manifest, name="dashboard_manifest"),
    path("notices/mute/<str:token>", views.mute_notices, name="mute_notices"),
]
