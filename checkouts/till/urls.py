"""Routes of the till, on the dashboard's host without a login, and of the counter sign's page, on the link host."""

from django.urls import path, re_path

from checkouts.till import signs, views

urlpatterns = [
    path("till/", views.keypad, name="till"),
    path("till/pair", views.pairing, name="till_pair"),
    path("till/unlock", views.unlocking, name="till_unlock"),
    path("till/sales", views.sales, name="till_sales"),
    path("till/day", views.day, name="till_day"),
    path("till/manifest.webmanifest", views.till_manifest, name="till_manifest"),
    path("till/sales/<str:checkout_id>", views.sale, name="till_sale"),
    path("till/sales/<str:checkout_id>/status", views.sale_status, name="till_sale_status"),
    path("till/sales/<str:checkout_id>/choose", views.choose, name="till_choose"),
    path("till/sales/<str:checkout_id>/cancel", views.cancel, name="till_cancel"),
    path("till/sales/<str:checkout_id>/mail", views.mail_receipt, name="till_mail"),
    # Codes are Crockford base 32. Other paths need no database query.
    re_path(r"^t/(?P<code>[0-9a-hjkmnp-tv-z]{1,32})$", signs.sign_page, name="till-sign"),
]
