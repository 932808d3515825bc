"""The demo's routes: two of its own, then the product's."""

from django.urls import resolve, reverse

from demo.front import views
from gateway.docs import views as docs

ROUTES = "demo.front.urls"


def test_two_pages_are_the_demos_and_all_others_the_products() -> None:
    assert resolve("/", ROUTES).func == views.start
    login = resolve("/account/login/", ROUTES)
    assert login.func.view_class is views.DemoLoginView  # type: ignore[attr-defined]
    assert resolve("/docs/", ROUTES).func == docs.index


def test_links_to_the_login_lead_to_the_demos() -> None:
    assert reverse("account_login", ROUTES) == "/account/login/"
