"""Celery tasks. Each calls one service; running one twice, or late, does no harm."""

from celery import shared_task
from django.utils import timezone

from accounts.brand.domains import review_domains
from accounts.keys.idempotency import forget_old_keys
from accounts.keys.service import mail_expiring
from accounts.login.guard import forget_old_logins
from accounts.requests.log import forget_old


@shared_task(name="accounts.forget_old_logins")
def forget_old_logins_task() -> int:
    """Delete ended sessions and old guesses."""
    return forget_old_logins(now=timezone.now())


@shared_task(name="accounts.forget_idempotency_keys")
def forget_idempotency_keys_task() -> int:
    """Delete Idempotency-Keys whose answers are kept no longer."""
    return forget_old_keys(now=timezone.now())


@shared_task(name="accounts.mail_expiring_keys")
def mail_expiring_keys_task() -> int:
    """Mail owners about keys that expire soon."""
    return mail_expiring(now=timezone.now())


@shared_task(name="accounts.review_domains")
def review_domains_task() -> int:
    """Look up again whether shops' domains are still proven."""
    return review_domains(now=timezone.now())


@shared_task(name="accounts.forget_old_requests")
def forget_old_requests_task() -> None:
    """Delete notes of API requests that are older than a week."""
    forget_old(now=timezone.now())
