"""Routes of the merchant's pages about checkouts, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from checkouts.dashboard import actions, pages, terminals
from checkouts.inbox import bulk
from checkouts.inbox import pages as inbox

urlpatterns = [
    path("checkouts/", pages.checkouts, name="dashboard_checkouts"),
    path("checkouts/new/", pages.new_checkout, name="dashboard_new_checkout"),
    path("checkouts/export/", pages.export, name="dashboard_checkouts_csv"),
    path("checkouts/<str:checkout_id>/", pages.checkout, name="dashboard_checkout"),
    path("checkouts/<str:checkout_id>/live/", pages.live, name="dashboard_checkout_live"),
    path("checkouts/<str:checkout_id>/deliveries/<str:delivery_id>/resend/", pages.resend, name="dashboard_resend"),
    path("checkouts/<str:checkout_id>/cancel/", pages.cancel, name="dashboard_cancel"),
    path("checkouts/<str:checkout_id>/note/", actions.note, name="dashboard_checkout_note"),
    path("checkouts/<str:checkout_id>/receipt/", actions.receipt, name="dashboard_send_receipt"),
    path("checkouts/<str:checkout_id>/accept/", actions.accept, name="dashboard_accept"),
    path(
        "checkouts/<str:checkout_id>/acceptances/<int:acceptance_id>/undo/",
        actions.undo_accept,
        name="dashboard_undo_acceptance",
    ),
    path("checkouts/<str:checkout_id>/release/", pages.release, name="dashboard_release"),
    path("terminals/", terminals.terminals, name="dashboard_terminals"),
    path("terminals/new/", terminals.new_terminal, name="dashboard_new_terminal"),
    path("terminals/<str:terminal_id>/", terminals.terminal, name="dashboard_terminal"),
    path("terminals/<str:terminal_id>/edit/", terminals.edit_terminal, name="dashboard_edit_terminal"),
    path("terminals/<str:terminal_id>/pair/", terminals.pair_terminal, name="dashboard_pair_terminal"),
    path("terminals/<str:terminal_id>/revoke/", terminals.revoke, name="dashboard_revoke_terminal"),
    path("terminals/<str:terminal_id>/day/", terminals.terminal_day, name="dashboard_terminal_day"),
    path("terminals/<str:terminal_id>/sign/", terminals.terminal_sign, name="dashboard_terminal_sign"),
    path("inbox/", inbox.inbox, name="dashboard_inbox"),
    path("inbox/export/", inbox.export, name="dashboard_inbox_export"),
    path("inbox/decide/", bulk.decide_many, name="dashboard_inbox_decide_many"),
    path("inbox/undo/", bulk.undo_many, name="dashboard_inbox_undo_many"),
    path("inbox/rule/", inbox.switch_rule, name="dashboard_inbox_rule"),
    path("inbox/reports/", inbox.reports, name="dashboard_buyer_reports"),
    path("inbox/reports/<int:report_id>/close/", inbox.close, name="dashboard_close_report"),
    path("inbox/<int:item_id>/", inbox.item, name="dashboard_inbox_item"),
    path("inbox/<int:item_id>/decide/", inbox.decide, name="dashboard_inbox_decide"),
    path("inbox/<int:item_id>/decisions/<int:decision_id>/undo/", inbox.undo, name="dashboard_inbox_undo"),
]
