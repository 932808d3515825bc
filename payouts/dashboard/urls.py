"""Routes of the merchant's pages about refunds and payouts, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from payouts.dashboard import approving, imports, pages, paying, refunds, rules, sent

urlpatterns = [
    path("payouts/", pages.payouts, name="dashboard_payouts"),
    path("payouts/import/", imports.import_payouts, name="dashboard_import_payouts"),
    path("payouts/review/", approving.review_payouts, name="dashboard_review_payouts"),
    path("payouts/review/approve/", approving.approve_payouts, name="dashboard_approve_payouts"),
    path("payouts/pay/", paying.pay, name="dashboard_pay_payouts"),
    path("payouts/batches/<str:batch_id>/", paying.batch, name="dashboard_payout_batch"),
    path("payouts/batches/<str:batch_id>/cancel/", paying.cancel, name="dashboard_cancel_payout_batch"),
    path("payouts/batches/<str:batch_id>/signatures/", paying.sign, name="dashboard_sign_payout"),
    path(
        "payouts/batches/<str:batch_id>/transactions/",
        paying.hand_out_transaction,
        name="dashboard_hand_out_transaction",
    ),
    path("payouts/batches/<str:batch_id>/list/", paying.csv_list, name="dashboard_payout_batch_csv"),
    path("payouts/batches/<str:batch_id>/airdrop/", paying.airdrop_csv, name="dashboard_payout_batch_airdrop_csv"),
    path("payouts/batches/<str:batch_id>/safe/", paying.safe_file, name="dashboard_payout_batch_safe"),
    path("payouts/batches/<str:batch_id>/codes/", paying.codes, name="dashboard_payout_batch_codes"),
    path("payouts/<str:payout_id>/", pages.payout, name="dashboard_payout"),
    path("payouts/<str:payout_id>/approve/", pages.approve, name="dashboard_approve_payout"),
    path("payouts/<str:payout_id>/sent/", sent.sent_payout, name="dashboard_sent_payout"),
    path("payouts/<str:payout_id>/accept/", pages.accept, name="dashboard_accept_outflow"),
    path("payouts/<str:payout_id>/accept-lost/", pages.accept_lost, name="dashboard_accept_lost_outflow"),
    path("payouts/<str:payout_id>/address/", pages.address, name="dashboard_payout_address"),
    path("payouts/<str:payout_id>/cancel/", pages.cancel, name="dashboard_cancel_payout"),
    path("approvals/", rules.rules, name="dashboard_approvals"),
    path("approvals/set/", rules.set_rules, name="dashboard_set_approvals"),
    path("approvals/keep/", rules.keep_rules, name="dashboard_keep_approvals"),
    path("refunds/items/<int:item_id>/", refunds.refund_item, name="dashboard_refund_item"),
    path("refunds/items/<int:item_id>/sent/", sent.sent_item, name="dashboard_sent_refund_item"),
    path("refunds/machines/<str:payment_id>/", refunds.refund_machine, name="dashboard_refund_machine"),
    path("refunds/machines/<str:payment_id>/sent/", sent.sent_machine, name="dashboard_sent_refund_machine"),
    path("refunds/transfers/<str:transfer_id>/", refunds.refund_transfer, name="dashboard_refund_transfer"),
    path("refunds/transfers/<str:transfer_id>/sent/", sent.sent_transfer, name="dashboard_sent_refund_transfer"),
    path("refunds/<str:checkout_id>/", refunds.refund, name="dashboard_refund"),
    path("refunds/<str:checkout_id>/sent/", sent.sent, name="dashboard_sent_refund"),
]
