"""Routes below /api/v1."""

from django.urls import path

from wallets.api import ChainCollection
from wallets.watched_api import (
    WatchedTransactions,
    WatchedWalletCollection,
    WatchedWalletItem,
)

urlpatterns = [
    path("chains", ChainCollection.as_view()),
    path("wallets", WatchedWalletCollection.as_view()),
    path("wallets/<str:wallet_id>", WatchedWalletItem.as_view()),
    path("wallets/<str:wallet_id>/transactions", WatchedTransactions.as_view()),
]
