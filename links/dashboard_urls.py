"""A merchant's own pages that this app has, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from links.dashboard import making, one, pages

urlpatterns = [
    path("links/", pages.links, name="dashboard_links"),
    path("links/new/", making.choose, name="dashboard_new_link"),
    path("links/new/<str:kind>/", making.new_link, name="dashboard_new_link_of"),
    path(
        "links/templates/<str:template_id>/delete/",
        making.delete,
        name="dashboard_delete_link_template",
    ),
    path("links/<str:link_id>/", one.link, name="dashboard_link"),
    path("links/<str:link_id>/edit/", making.edit, name="dashboard_edit_link"),
    path(
        "links/<str:link_id>/status/<str:status>/",
        one.set_link_status,
        name="dashboard_link_status",
    ),
    path("links/<str:link_id>/qr/<str:format_name>/", one.qr, name="dashboard_link_qr"),
]
