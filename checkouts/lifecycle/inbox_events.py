"""Events about items of the inbox, for endpoints that chose to hear of them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, cast

from django.conf import settings
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string

from accounts.states import Mode
from checkouts.models import InboxItem
from checkouts.states import InboxStatus
from gateway.core.ids import new_id
from webhooks.outbox.events import OptInEvent

OPENED: Final = "inbox.opened"
CLOSED: Final = "inbox.closed"

Objects: TypeAlias = Mapping[int, Mapping[str, Any]]
"""What `GET /inbox/{id}` answers for items, by their keys."""


def inbox_events(items: Sequence[InboxItem]) -> list[OptInEvent]:
    """Return an event for each item that the caller's transaction opened or closed, as its status says.

    The items are read at once when the first of the events is written: their rows must be as they stay.
    """
    objects = cast("Objects", SimpleLazyObject(partial(_read, [item.pk for item in items])))
    return [
        OptInEvent(
            merchant_id=item.merchant_id,
            mode=Mode(item.mode),
            type=OPENED if item.status == InboxStatus.OPEN else CLOSED,
            # Any number of times: an alert is opened by each reversal, and closed by each return.
            occurrence=new_id(f"inbox:{item.pk}"),
            read=partial(_of, objects, item.pk),
        )
        for item in items
    ]


def _read(keys: Sequence[int]) -> Objects:
    read: Callable[[Sequence[int]], Objects] = import_string(settings.INBOX_OBJECTS)
    return read(keys)


def _of(objects: Objects, key: int) -> Mapping[str, Any]:
    return objects[key]
