"""The merchant's export of notices: what people chose, their devices, and its chats, without addresses."""

from collections.abc import Iterator

from accounts.models import Merchant
from gateway.core.exports import ExportTable, table_of
from notices.models import Chat, Choice, Device


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's files."""
    yield table_of("notice_choices", Choice.objects.filter(merchant=merchant), "user__email mode kind way how")
    yield table_of("notice_devices", Device.objects.filter(merchant=merchant), "public_id user__email name created_at")
    yield table_of(
        "notice_chats",
        Chat.objects.filter(merchant=merchant),
        "public_id mode service name kinds added_by__email created_at",
    )
