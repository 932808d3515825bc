"""Addresses of pages, and the routes that they lead to."""

from typing import Final

from django.urls import resolve, reverse

MERCHANT: Final = "mer_" + "0" * 26
DESK: Final = f"/dashboard/{MERCHANT}/live"
"""Where a merchant's pages begin."""


def assert_leads_to(path: str, name: str) -> None:
    """Assert that a path leads to a route, and that the route is written as this path."""
    found = resolve(path)
    assert found.view_name == name
    assert reverse(name, kwargs=found.kwargs) == path
