"""Second factors, where the login library leaves a gap."""

from datetime import datetime, timedelta

from allauth.mfa import app_settings
from allauth.mfa.models import Authenticator
from django.db.models import Q


def use_up(factor: Authenticator, *, now: datetime) -> bool:
    """Say whether a right code is used for the first time, and note that it was. Of two at once, one is the first.

    An app's code is right for one period alone, so that a second use in that period is a replay (RFC 6238, 5.2). The
    library notes used codes in a cache that each process has for itself. Recovery codes it crosses out in their row.
    """
    if factor.type != Authenticator.Type.TOTP:
        return True
    began = now - timedelta(seconds=now.timestamp() % app_settings.TOTP_PERIOD)
    unused = Q(last_used_at=None) | Q(last_used_at__lt=began)
    row = Authenticator.objects.filter(unused, pk=factor.pk)
    return bool(row.update(last_used_at=now))
