"""The demo's two pages before the routes of the product."""

from django.urls import include, path

from demo.front.views import DemoLoginView, start

urlpatterns = [
    path("", start, name="demo-start"),
    path("account/login/", DemoLoginView.as_view(), name="account_login"),
    path("", include("gateway.urls")),
]
