"""Routes of the merchant's link pages, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from links.dashboard import edit, link_list, link_page

urlpatterns = [
    path("links/", link_list.links, name="dashboard_links"),
    path("links/new/", edit.choose, name="dashboard_new_link"),
    path("links/new/<str:kind>/", edit.new_link, name="dashboard_new_link_of"),
    path("links/templates/<str:template_id>/delete/", edit.delete, name="dashboard_delete_link_template"),
    path("links/<str:link_id>/", link_page.link, name="dashboard_link"),
    path("links/<str:link_id>/edit/", edit.edit, name="dashboard_edit_link"),
    path("links/<str:link_id>/status/<str:status>/", link_page.set_link_status, name="dashboard_link_status"),
    path("links/<str:link_id>/terminal/", link_page.show_at_terminal, name="dashboard_link_terminal"),
    path("links/<str:link_id>/sign/", link_page.sign, name="dashboard_link_sign"),
    path("links/<str:link_id>/qr/<str:format_name>/", link_page.qr, name="dashboard_link_qr"),
]
