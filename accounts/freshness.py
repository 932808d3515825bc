"""How recently a person reauthenticated, by password, code or passkey; a login counts too."""

from datetime import datetime
from typing import Final

from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from django.conf import settings
from django.http import HttpRequest

_PUT_OFF: Final = "form_put_off"
_KEPT_SECONDS: Final = 900


def is_fresh(request: HttpRequest, *, now: datetime, by_factor: bool = False) -> bool:
    """Return whether the last authentication is less than ACCOUNT_REAUTHENTICATION_TIMEOUT seconds old.

    With `by_factor`, only those by a second factor count.
    """
    records = get_authentication_records(request, request.user)
    if by_factor:
        records = [record for record in records if record["method"] == "mfa"]
    if not records:
        return False
    age = now.timestamp() - float(records[-1]["at"])
    return bool(0 <= age < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT)


def needs_proof(request: HttpRequest, *, now: datetime, by_factor: bool = False) -> bool:
    """Return whether the person must reauthenticate before this request is answered.

    A request for a page drops a form that waits for reauthentication, so that it is not sent later without intent.
    """
    if is_fresh(request, now=now, by_factor=by_factor):
        return False
    if request.method == "POST":
        request.session[_PUT_OFF] = int(now.timestamp())
    else:
        request.session.pop(STATE_SESSION_KEY, None)
    return True


def forget_old_form(request: HttpRequest, *, now: datetime) -> None:
    """Drop an abandoned form that waits for reauthentication: a stranger's link must not send it days later."""
    put_off = request.session.get(_PUT_OFF)
    if put_off is not None and now.timestamp() - put_off >= _KEPT_SECONDS:
        request.session.pop(STATE_SESSION_KEY, None)
        del request.session[_PUT_OFF]
