"""Routes of the link API, below /api/v1/."""

from django.urls import path

from links.api import (
    LinkCollection,
    LinkItem,
    LinkQrPng,
    LinkQrSvg,
    LinkStatusItem,
    TemplateCollection,
    TemplateItem,
)

urlpatterns = [
    path("links", LinkCollection.as_view()),
    path("links/<str:link_id>", LinkItem.as_view()),
    path("links/<str:link_id>/status", LinkStatusItem.as_view()),
    path("links/<str:link_id>/qr.svg", LinkQrSvg.as_view()),
    path("links/<str:link_id>/qr.png", LinkQrPng.as_view()),
    path("link_templates", TemplateCollection.as_view()),
    path("link_templates/<str:template_id>", TemplateItem.as_view()),
]
