"""Routes of the event API, below /api/v1/."""

from django.urls import path

from webhooks.api import EventCollection

urlpatterns = [path("events", EventCollection.as_view())]
