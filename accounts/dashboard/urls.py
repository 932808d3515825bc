"""Routes of the merchant's account pages, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from accounts.brand import views
from accounts.dashboard import audit_log, pages
from accounts.keys import views as keys
from accounts.requests import views as requests
from accounts.team import views as team

urlpatterns = [
    path("team/", team.team, name="dashboard_team"),
    path("team/invite/", team.invite, name="dashboard_invite"),
    path("team/leave/", team.leave, name="dashboard_leave"),
    path("team/invitations/<str:invitation_id>/withdraw/", team.withdraw, name="dashboard_withdraw_invitation"),
    path("team/<str:user_id>/role/", team.set_role, name="dashboard_set_role"),
    path("team/<str:user_id>/remove/", team.remove, name="dashboard_remove_member"),
    path("api-keys/", keys.keys, name="dashboard_keys"),
    path("api-keys/create/", keys.create, name="dashboard_create_key"),
    path("api-keys/<str:key_id>/", keys.key, name="dashboard_key"),
    path("api-keys/<str:key_id>/change/", keys.change, name="dashboard_change_key"),
    path("api-keys/<str:key_id>/rotate/", keys.rotate, name="dashboard_rotate_key"),
    path("api-keys/<str:key_id>/revoke/", keys.revoke, name="dashboard_revoke_key"),
    path("api-requests/", requests.requests, name="dashboard_api_requests"),
    path("branding/", views.branding, name="dashboard_branding"),
    path("branding/checkout-page/", views.checkout_page, name="dashboard_checkout_page"),
    path("branding/domain/", views.domain, name="dashboard_domain"),
    path("branding/preview/", views.preview, name="dashboard_branding_preview"),
    path("branding/preview.css", views.preview_style, name="dashboard_branding_style"),
    path("audit-log/", audit_log.audit_log, name="dashboard_audit_log"),
    path("audit-log/export/", audit_log.export, name="dashboard_audit_log_csv"),
    path("audit-log/check/", audit_log.check, name="dashboard_audit_log_check"),
    path("data-export/", pages.data_export, name="dashboard_data_export"),
    path("data-export/download/", pages.download, name="dashboard_download_data"),
]
