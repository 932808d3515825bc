"""Routes of the notices page, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from notices.dashboard import views

urlpatterns = [
    path("notices/", views.notices, name="dashboard_notices"),
    path("notices/devices/add/", views.add, name="dashboard_add_device"),
    path("notices/devices/renew/", views.renew, name="dashboard_renew_device"),
    path("notices/devices/<str:device_id>/remove/", views.remove, name="dashboard_remove_device"),
    path("notices/chats/add/", views.new_chat, name="dashboard_add_chat"),
    path("notices/chats/<str:chat_id>/events/", views.chat_events, name="dashboard_chat_events"),
    path("notices/chats/<str:chat_id>/try/", views.send_test, name="dashboard_try_chat"),
    path("notices/chats/<str:chat_id>/remove/", views.drop_chat, name="dashboard_remove_chat"),
]
