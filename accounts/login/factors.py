"""Second factors, where the login library leaves a gap."""

from datetime import UTC, datetime
from typing import Final

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa import app_settings
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from allauth.mfa.utils import decrypt
from django.db.models import Q

# A code is right in its own period and in the one after it, as RFC 6238 (5.2) advises: one that changed in the app while
# it was typed or sent still counts. The library would take the next period's code as well; its use could not be told
# from `last_used_at`, so that is refused here.
_STEPS_BACK: Final = (0, 1)


def use_up(factor: Authenticator, code: str, *, now: datetime) -> bool:
    """Say whether a right code is used for the first time, and note that it was. Of two at once, one is the first.

    An app's code that was used once, and every code before it, is a replay (RFC 6238, 5.2). The library notes used codes
    in a cache that each process has for itself. Recovery codes it crosses out in their row.
    """
    if factor.type != Authenticator.Type.TOTP:
        return True
    began = _start_of(factor, code, now)
    if began is None:
        return False
    unused = Q(last_used_at=None) | Q(last_used_at__lt=began)
    row = Authenticator.objects.filter(unused, pk=factor.pk)
    return bool(row.update(last_used_at=now))


def _start_of(factor: Authenticator, code: str, now: datetime) -> datetime | None:
    """Return when the period of an app's code began, or None where it is of no period that counts."""
    key = decrypt(factor.data["secret"])
    period = app_settings.TOTP_PERIOD
    current = int(now.timestamp()) // period
    for step in (current - back for back in _STEPS_BACK):
        expected = format_hotp_value(hotp_value(key, step))
        if compare_user_code(actual=code, expected=expected):
            return datetime.fromtimestamp(step * period, UTC)
    return None
