"""What other rooms may ask of the mail: promise one, in the transaction that has a reason for it."""

from mails.services.promising import queue_mail, queue_unwritten, ring_after_commit
from mails.services.retention import prune_mails
from mails.services.sending import send_due_mails

__all__ = [
    "prune_mails",
    "queue_mail",
    "queue_unwritten",
    "ring_after_commit",
    "send_due_mails",
]
