"""What people's decisions about money share: each takes effect `UNDO_SPAN` after it was made, and can be undone until then."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, TypeVar

import structlog
from django.db import InterfaceError, OperationalError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_noop

from accounts.audit.actors import Actor
from checkouts.errors import DecisionFailedError
from checkouts.models import Decision
from gateway.core.api.errors import ConflictError

log = structlog.get_logger(__name__)

AnyDecision = TypeVar("AnyDecision", bound=Decision)

UNDO_SPAN: Final = timedelta(seconds=30)
# An unexpected failure is retried, and delays no other decision.
_SET_ASIDE: Final = timedelta(minutes=1)
_AT_ONCE: Final = 200

STANDING: Final = Q(undone_at=None, failed_at=None)
"""Decisions in force: waiting, or in effect."""

WAITING: Final = STANDING & Q(done_at=None)
"""Decisions that are not in effect yet."""


def undo(row: QuerySet[AnyDecision], *, now: datetime, actor: Actor) -> None:
    """Undo one decision. Raises ConflictError if it has taken effect or is undone already."""
    # The row's lock waits for a worker that is about to apply it.
    if not row.filter(WAITING, due_at__gt=now).update(undone_at=now, undone_by=actor.person):
        raise ConflictError(_why_not_undone(row.get()))


def _why_not_undone(decision: Decision) -> str:
    if decision.undone_at:
        return gettext_noop("Another team member has already undone this.")
    if decision.failed_at:
        return gettext_noop("This did not take effect, so there is nothing to undo.")
    return gettext_noop("This has already taken effect and cannot be undone.")


def due_decisions(rows: QuerySet[AnyDecision], *, now: datetime) -> list[int]:
    """Return the keys of those that can no longer be undone, the oldest first, at most `_AT_ONCE`."""
    due = rows.filter(WAITING, due_at__lte=now)
    return list(due.order_by("due_at", "pk").values_list("pk", flat=True)[:_AT_ONCE])


def apply_safely(
    rows: QuerySet[AnyDecision],
    pk: int,
    *,
    apply: Callable[[int, datetime], bool],
    fail: Callable[[int, str, datetime], None],
    now: datetime,
) -> bool:
    """Apply one of the decisions; return whether it took effect.

    `fail` records why it could not. What fails unexpectedly is tried again later.
    """
    try:
        return apply(pk, now)
    except DecisionFailedError as error:
        fail(pk, str(error), now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("decision set aside", decision=pk)
        rows.filter(WAITING, pk=pk).update(due_at=now + _SET_ASIDE)
    return False
