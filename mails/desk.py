"""Who sends mail now. A courtesy to the other tasks: that no mail goes twice is the claims' doing."""

from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from mails.models import MailDesk

# As long as a task may take at most: whoever died with the desk in hand is gone by then.
HELD_FOR: Final = timedelta(seconds=60)
# A server that does not answer would take ten seconds of a worker's time with each mail.
PAUSE: Final = timedelta(minutes=1)

_TAKE = """
    INSERT INTO mails_maildesk AS desk (id, closed_until) VALUES (%(row)s, %(until)s::timestamptz)
    ON CONFLICT (id) DO UPDATE SET closed_until = EXCLUDED.closed_until
    WHERE desk.closed_until <= %(now)s::timestamptz
    RETURNING id
"""


def take_desk(*, now: datetime) -> bool:
    """Be the only one who sends, for a minute at most; False where somebody else is, or the server needs a pause."""
    with connection.cursor() as cursor:
        cursor.execute(
            _TAKE, {"row": MailDesk.ROW, "now": now, "until": now + HELD_FOR}
        )
        return cursor.fetchone() is not None


def leave_desk(*, now: datetime, is_server_away: bool) -> None:
    """Let the next one send: at once, or in a minute."""
    reopens_at = now + PAUSE if is_server_away else now
    MailDesk.objects.filter(pk=MailDesk.ROW).update(closed_until=reopens_at)
