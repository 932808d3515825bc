"""Second factors: prevents the reuse of codes, which the login library does not."""

from datetime import UTC, datetime
from typing import Final

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa import app_settings
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from allauth.mfa.utils import decrypt
from django.db import transaction
from django.db.models import Q

from gateway.core.secrets import Resealed

# A code is valid in its own period and the next, as RFC 6238 (5.2) advises: a code that changed while it was typed still
# counts. The library would also accept the next period's code; its use could not be told from `last_used_at`, so it is
# refused here.
_STEPS_BACK: Final = (0, 1)
# The encrypted parts of a factor's data: an app's key, and what recovery codes follow from.
_SEALED: Final = frozenset({"secret", "seed"})


def use_up(factor: Authenticator, code: str, *, now: datetime) -> bool:
    """Return whether a valid code is used for the first time, and record its use. Of two at once, one succeeds.

    An app's code that was used once, and every code before it, is a replay (RFC 6238, 5.2). The library records used codes
    in a per-process cache. It marks recovery codes in their row.
    """
    if factor.type != Authenticator.Type.TOTP:
        return True
    began = _start_of(factor, code, now)
    if began is None:
        return False
    unused = Q(last_used_at=None) | Q(last_used_at__lt=began)
    row = Authenticator.objects.filter(unused, pk=factor.pk)
    return bool(row.update(last_used_at=now))


def reseal_factors(*, dry_run: bool = False) -> Resealed:
    """Encrypt the keys of authenticator apps and recovery codes under the first of ENCRYPTION_KEYS; return the counts."""
    counted = Resealed()
    for factor_id in Authenticator.objects.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            # Using a recovery code writes the same field.
            factor = Authenticator.objects.select_for_update().get(pk=factor_id)
            renewed = {
                name: token.decode()
                for name in _SEALED & set(factor.data)
                if (token := counted.renew(factor.data[name].encode())) is not None
            }
            if renewed and not dry_run:
                factor.data |= renewed
                factor.save(update_fields=["data"])
    return counted


def _start_of(factor: Authenticator, code: str, now: datetime) -> datetime | None:
    """Return when the period of an app's code began; None if the period is not valid."""
    key = decrypt(factor.data["secret"])
    period = app_settings.TOTP_PERIOD
    current = int(now.timestamp()) // period
    for step in (current - back for back in _STEPS_BACK):
        expected = format_hotp_value(hotp_value(key, step))
        if compare_user_code(actual=code, expected=expected):
            return datetime.fromtimestamp(step * period, UTC)
    return None
