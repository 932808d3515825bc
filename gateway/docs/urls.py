"""Addresses of the documentation."""

from django.urls import path

from gateway.docs import views

urlpatterns = [
    path("docs/", views.index, name="docs"),
    path("docs/search.json", views.search_index, name="docs-search"),
    path("docs/changelog.xml", views.changelog, name="docs-changelog-feed"),
    path("docs/api/explorer/", views.explorer, name="docs-explorer"),
    path("docs/images/<slug:name>.png", views.image, name="docs-image"),
    path("docs/<path:slug>.md", views.markdown, name="docs-markdown"),
    path("docs/<path:slug>/", views.page, name="docs-page"),
    path(".well-known/mcp.json", views.mcp, name="docs-mcp"),
    path("llms.txt", views.llms, name="llms"),
    path("llms-full.txt", views.llms_full, name="llms-full"),
]
