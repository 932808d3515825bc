"""Routes of the hosted page, at the root of the checkout host."""

from django.urls import re_path

from checkouts.page import views

# Codes are Crockford base 32. Other paths need no database query.
_CODE = r"(?P<code>[0-9a-hjkmnp-tv-z]{1,32})"

urlpatterns = [
    # No code has an O.
    re_path(r"^c/offline$", views.offline_notice, name="checkout-offline"),
    re_path(rf"^c/{_CODE}$", views.checkout_page, name="checkout"),
    re_path(rf"^c/{_CODE}/choose$", views.choose_network, name="checkout-choose"),
    re_path(rf"^c/{_CODE}/again$", views.try_again, name="checkout-again"),
    re_path(rf"^c/{_CODE}/find$", views.find_payment, name="checkout-find"),
    re_path(rf"^c/{_CODE}/mail$", views.mail_address, name="checkout-mail"),
    re_path(rf"^c/{_CODE}/receipt$", views.checkout_receipt, name="checkout-receipt"),
    re_path(rf"^c/{_CODE}/receipt\.jws$", views.receipt_file, name="receipt-file"),
    re_path(rf"^c/{_CODE}/status$", views.checkout_status, name="checkout-status"),
    re_path(rf"^c/{_CODE}/wallets$", views.wallet_buttons, name="checkout-wallets"),
    re_path(rf"^c/{_CODE}/transaction$", views.transaction, name="checkout-transaction"),
    re_path(rf"^c/{_CODE}/signed$", views.signed_transaction, name="checkout-signed"),
    re_path(rf"^c/{_CODE}/qr$", views.page_qr, name="checkout-qr"),
    re_path(rf"^c/{_CODE}/stream$", views.no_stream, name="checkout-stream"),
    re_path(r"^receipts/(?P<jti>rcp_[0-9a-z]{1,32})$", views.status_of_receipt, name="receipt-status"),
]
