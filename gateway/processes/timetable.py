"""When each periodic task runs. A run that is late or repeated does no harm."""

from datetime import timedelta
from typing import Final


def _every(seconds: float, task: str) -> dict[str, object]:
    # A task that no worker took in time expires: the next run does its work.
    return {"task": task, "schedule": timedelta(seconds=seconds), "options": {"expires": max(seconds, 1)}}


TIMETABLE: Final = {
    "forget old logins": _every(3_600, "accounts.forget_old_logins"),
    # Several times a day: a note must not stay for another round of the partitions.
    "forget old API requests": _every(14_400, "accounts.forget_old_requests"),
    "forget idempotency keys": _every(3_600, "accounts.forget_idempotency_keys"),
    "look shops' domains up again": _every(86_400, "accounts.review_domains"),
    "tell owners of keys that expire": _every(3_600, "accounts.mail_expiring_keys"),
    "attribute transfers": _every(2, "checkouts.attribute_transfers"),
    "expire checkouts": _every(2, "checkouts.expire_due_checkouts"),
    "play test mode": _every(1, "checkouts.play_due_steps"),
    "apply inbox decisions": _every(2, "checkouts.apply_decisions"),
    "release exact amounts": _every(300, "checkouts.release_amounts"),
    "release wallets taken over": _every(60, "checkouts.release_claims"),
    "take words of checkouts in": _every(60, "checkouts.take_in_words"),
    "check daily totals": _every(86_400, "checkouts.check_totals"),
    "follow machines' payments": _every(2, "x402.follow_transfers"),
    "recheck machines' payments": _every(30, "x402.recheck_payments"),
    "settle machines' payments": _every(60, "x402.note_arrivals"),
    "finish machines' authorisations": _every(5, "x402.finish_authorizations"),
    "forget machines' old requests": _every(86_400, "x402.forget_old"),
    "tell owners of failing endpoints": _every(300, "webhooks.tell_owners"),
    "tend gas transactions": _every(5, "settlements.tend"),
    "count gas": _every(300, "settlements.refresh_balances"),
    "sweep forwarders": _every(3_600, "settlements.sweep"),
    "note what left forwarders": _every(30, "settlements.note_outflows"),
    "check the forwarders' books": _every(600, "settlements.check_books"),
    "prune gas transactions": _every(86_400, "settlements.prune_gas"),
    "settle subscriptions": _every(5, "links.settle_subscriptions"),
    "plan reminders": _every(300, "links.plan_reminders"),
    "close batches of payouts": _every(30, "payouts.close_batches"),
    "send signed payouts": _every(5, "payouts.send_signed"),
    "apply rules of payouts": _every(60, "payouts.apply_rules"),
    "check refunds": _every(86_400, "payouts.check"),
    "note what keys asked for": _every(86_400, "payouts.note_asked"),
    "expire claims of payouts": _every(60, "payouts.expire_claims"),
    "follow payouts": _every(2, "payouts.follow"),
    "recheck payouts": _every(60, "payouts.recheck"),
    "ask chains about payouts' addresses": _every(60, "payouts.review_recipients"),
    "play payouts of test mode": _every(2, "payouts.play"),
    "tell people": _every(10, "notices.tell"),
    "queue daily notices": _every(600, "notices.queue_digests"),
    "prune notices": _every(86_400, "notices.prune"),
    "send mails": _every(10, "mails.send_due_mails"),
    "prune mails": _every(86_400, "mails.prune_mails"),
    "apply wallet changes": _every(60, "wallets.apply_wallet_changes"),
    # What is due is looked up once a day; the rest of a round that was too short, ten minutes later.
    "look receiving wallets up again": _every(600, "wallets.review_wallets"),
    # Often, because every list of checkouts adds up the deltas not folded yet.
    "fold totals": _every(1, "checkouts.fold_totals"),
    "fetch rates": _every(60, "rates.fetch"),
    "note incidents": _every(20, "gateway.note_incidents"),
    "prune attempts": _every(86_400, "webhooks.prune_attempts"),
}
