"""Routes below /api/v1."""

from django.urls import path

from wallets.api import ChainCollection

urlpatterns = [path("chains", ChainCollection.as_view())]
