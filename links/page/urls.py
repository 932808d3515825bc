"""Routes of the links' pages, at the root of the link host."""

from django.urls import re_path

from links.page import views

# Codes are Crockford base 32. Other paths need no database query.
_CODE = r"(?P<code>[0-9a-hjkmnp-tv-z]{1,32})"
_TOKEN = r"(?P<token>[\w:-]{1,120})"  # noqa: S105 - a pattern

urlpatterns = [
    re_path(rf"^p/{_CODE}$", views.link_page, name="link"),
    re_path(rf"^p/{_CODE}/s/{_TOKEN}$", views.link_page, name="link-personal"),
    re_path(rf"^pay/{_CODE}$", views.old_page),
]
