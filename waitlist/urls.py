"""Route of the waitlist API, below /api/v1/."""

from django.urls import path

from waitlist.api import FiatWaitlist

urlpatterns = [path("waitlist/fiat", FiatWaitlist.as_view())]
