"""Routes of the merchant's webhook pages, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from webhooks.dashboard import deliveries, endpoint, events, listed

urlpatterns = [
    path("webhooks/", endpoint.desk, name="dashboard_webhooks"),
    path("webhooks/url/", endpoint.set_url, name="dashboard_webhook_url"),
    path("webhooks/secret/", endpoint.secret, name="dashboard_webhook_secret"),
    path("webhooks/secret/roll/", endpoint.roll, name="dashboard_roll_webhook_secret"),
    path("webhooks/endpoints/<int:endpoint_id>/enable/", endpoint.enable, name="dashboard_enable_endpoint"),
    path("webhooks/endpoints/<int:endpoint_id>/test/", endpoint.test_event, name="dashboard_test_event"),
    path("events/", events.events, name="dashboard_events"),
    path("events/<str:event_id>/", events.event, name="dashboard_event"),
    path("webhooks/endpoints/add/", listed.add, name="dashboard_add_endpoint"),
    path("webhooks/endpoints/<str:listed_id>/", listed.endpoint, name="dashboard_endpoint"),
    path("webhooks/endpoints/<str:listed_id>/rotate/", listed.rotate, name="dashboard_rotate_endpoint"),
    path("webhooks/endpoints/<str:listed_id>/delete/", listed.delete, name="dashboard_delete_endpoint"),
    path("webhooks/deliveries/", deliveries.deliveries, name="dashboard_deliveries"),
    path("webhooks/deliveries/retry/", deliveries.retry_many, name="dashboard_retry_deliveries"),
    path("webhooks/deliveries/<str:delivery_id>/", deliveries.delivery, name="dashboard_delivery"),
    path("webhooks/deliveries/<str:delivery_id>/live/", deliveries.live, name="dashboard_delivery_live"),
    path("webhooks/deliveries/<str:delivery_id>/retry/", deliveries.retry_one, name="dashboard_retry_delivery"),
]
