"""How recently a person proved to be who they are, by password, code or passkey, logging in included."""

from datetime import datetime
from typing import Final

from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from django.conf import settings
from django.http import HttpRequest

_PUT_OFF: Final = "form_put_off"
_KEPT_SECONDS: Final = 900


def is_fresh(request: HttpRequest, *, now: datetime) -> bool:
    """Say whether the last proof is less than ACCOUNT_REAUTHENTICATION_TIMEOUT seconds old."""
    records = get_authentication_records(request, request.user)
    if not records:
        return False
    age = now.timestamp() - float(records[-1]["at"])
    return bool(0 <= age < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT)


def needs_proof(request: HttpRequest, *, now: datetime) -> bool:
    """Say whether the person must prove who they are before this request is answered.

    Where only a page is asked for, a form that was put off until a proof is forgotten: a proof for the page must not
    send a form that its author left, perhaps days ago.
    """
    if is_fresh(request, now=now):
        return False
    if request.method == "POST":
        request.session[_PUT_OFF] = int(now.timestamp())
    else:
        request.session.pop(STATE_SESSION_KEY, None)
    return True


def forget_old_form(request: HttpRequest, *, now: datetime) -> None:
    """Forget a form that was put off until a proof, and left: no link of a stranger's must send it days later."""
    put_off = request.session.get(_PUT_OFF)
    if put_off is not None and now.timestamp() - put_off >= _KEPT_SECONDS:
        request.session.pop(STATE_SESSION_KEY, None)
        del request.session[_PUT_OFF]
