"""Second factors: codes of an app, recovery codes, and that neither can be guessed."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import pytest
from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.core.context import request_context
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core import mail
from django.core.cache import cache
from django.test import Client, RequestFactory
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.login.adapter import MfaAdapter
from accounts.login.factors import use_up
from accounts.models import AuditEntry, Membership, Merchant, User
from accounts.states import Role
from accounts.team.service import invite
from mails.models import OutgoingMail
from tests.accounts.logins import ACTIVATE, code_in, is_logged_in, last_mail, link_in, totp_code, try_login
from tests.dashboard.people import PASSWORD, log_in, make_member
from tests.factories import NOON, make_merchant, make_user

pytestmark = pytest.mark.django_db

GOOD = "a long enough sentence"
AUTHENTICATE = "/account/second-factor/authenticate/"


def test_the_key_is_drawn_on_the_page_and_rests_encrypted(person: User, key: str) -> None:
    stored = Authenticator.objects.get(type="totp").data["secret"]
    assert key not in stored
    assert "authenticator app" in last_mail(person.email).text
    assert AuditEntry.objects.filter(action="mfa.totp_activated").exists()


@pytest.mark.parametrize(
    "path", ["totp/activate/", "totp/deactivate/", "recovery-codes/generate/", "webauthn/keys/1000000/remove/"]
)
def test_a_change_without_its_audit_entry_is_no_change(
    path: str, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = log_in(person, raise_request_exception=False)
    form = {}
    if path.startswith("totp/activate"):
        form = {"code": totp_code(str(client.get(ACTIVATE).context["form"].secret))}
    else:
        TOTP.activate(person, generate_totp_secret())
        RecoveryCodes.activate(person)
        Authenticator.objects.create(pk=1000000, user=person, type="webauthn", data={})
    before = list(Authenticator.objects.order_by("pk").values())
    monkeypatch.setattr("accounts.login.adapter.record", died)
    assert client.post(f"/account/second-factor/{path}", form).status_code == 500
    assert list(Authenticator.objects.order_by("pk").values()) == before
    monkeypatch.undo()
    assert client.post(f"/account/second-factor/{path}", form).status_code == 302
    assert list(Authenticator.objects.order_by("pk").values()) != before
    assert AuditEntry.objects.filter(action__startswith="mfa.").count() == 1


def died(*arguments: Any, **more: Any) -> None:
    raise RuntimeError("the process died here")


def test_with_an_app_the_password_alone_does_not_log_in(person: User, key: str) -> None:
    client = Client()
    assert try_login(person.email, PASSWORD, client)["Location"] == AUTHENTICATE
    assert not is_logged_in(client)
    client.post(AUTHENTICATE, {"code": totp_code(key)})
    assert is_logged_in(client)


def test_a_recovery_code_logs_in_once(person: User, key: str) -> None:
    recovery = Authenticator.objects.get(type="recovery_codes").wrap()
    code = recovery.get_unused_codes()[0]
    first, second = Client(), Client()
    for client in (first, second):
        try_login(person.email, PASSWORD, client)
        client.post(AUTHENTICATE, {"code": code})
    assert is_logged_in(first)
    assert not is_logged_in(second)


@pytest.mark.parametrize("digits", ["٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "０１２３４５６７８９"])
def test_codes_are_taken_in_the_digits_of_a_phones_keyboard(digits: str, person: User, key: str) -> None:
    typed = str.maketrans("0123456789", digits)
    recovery = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()[0]
    for code in (totp_code(key), recovery):
        # A code counts once, however it is written.
        for written, counts in ((code.translate(typed), True), (code, False)):
            client = Client()
            try_login(person.email, PASSWORD, client)
            client.post(AUTHENTICATE, {"code": written})
            assert is_logged_in(client) is counts


def test_an_app_is_set_up_by_a_code_in_the_digits_of_a_phones_keyboard(person: User) -> None:
    client = log_in(person)
    code = totp_code(str(client.get(ACTIVATE).context["form"].secret))
    client.post(ACTIVATE, {"code": code.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))})
    assert Authenticator.objects.filter(user=person, type="totp").exists()


def test_five_wrong_codes_lock_and_knowing_the_password_does_not_help(person: User, key: str) -> None:
    for _ in range(5):
        client = Client()
        try_login(person.email, PASSWORD, client)
        assert "code is wrong" in client.post(AUTHENTICATE, {"code": "000000"}).text
    client = Client()
    try_login(person.email, PASSWORD, client)
    page = client.post(AUTHENTICATE, {"code": totp_code(key)}).text
    assert "Wait 15 minutes" in page
    assert not is_logged_in(client)


def test_a_code_that_was_used_is_used_in_every_process(person: User, key: str) -> None:
    code = totp_code(key)
    first, second = Client(), Client()
    pages = []
    for client in (first, second):
        # Where the library keeps what was used, and what no process shares with another one.
        cache.clear()
        try_login(person.email, PASSWORD, client)
        pages.append(client.post(AUTHENTICATE, {"code": code}).text)
    assert "already used or not valid yet" in pages[1]
    assert is_logged_in(first)
    assert not is_logged_in(second)


PERIOD = timedelta(seconds=30)


@pytest.mark.parametrize(("steps", "counts"), [(-2, False), (-1, True), (0, True), (1, False)])
def test_a_code_may_have_changed_in_the_app_while_it_was_typed(
    steps: int, counts: bool, person: User, key: str, time_machine: Any
) -> None:
    time_machine.move_to(NOON, tick=False)
    client = Client()
    try_login(person.email, PASSWORD, client)
    client.post(AUTHENTICATE, {"code": totp_code(key, NOON + steps * PERIOD)})
    assert is_logged_in(client) is counts


def test_a_reset_by_mail_gives_no_more_guesses_at_the_code(person: User, key: str) -> None:
    client = Client()
    try_login(person.email, PASSWORD, client)
    for _ in range(5):
        client.post(AUTHENTICATE, {"code": "000000"})
    client.post("/account/password/reset/", {"email": person.email})
    address = client.get(link_in(last_mail(person.email)))["Location"]
    client.post(address, {"password1": GOOD, "password2": GOOD})
    try_login(person.email, GOOD, client)
    page = client.post(AUTHENTICATE, {"code": totp_code(key)}).text
    assert "Wait 15 minutes" in page


def test_codes_cannot_be_guessed_where_it_is_asked_again_either(person: User, key: str) -> None:
    client = log_in(person, fresh=False)
    path = "/account/second-factor/reauthenticate/"
    for _ in range(5):
        client.post(path, {"code": "000000"})
    assert "Wait 15 minutes" in client.post(path, {"code": totp_code(key)}).text


def test_changing_factors_asks_who_it_is(person: User, key: str) -> None:
    stale = log_in(person, fresh=False)
    for path in ("totp/deactivate/", "recovery-codes/generate/", "webauthn/add/"):
        answer = stale.get(f"/account/second-factor/{path}")
        assert "/account/second-factor/reauthenticate/" in answer["Location"]


def test_who_has_a_factor_proves_it_by_that_and_not_by_the_password(person: User, key: str) -> None:
    stale = log_in(person, fresh=False)
    answer = stale.post("/account/reauthenticate/", {"password": PASSWORD})
    assert answer["Location"] == "/account/second-factor/reauthenticate/"
    remove = "/account/second-factor/totp/deactivate/"
    asked = stale.post(remove)
    assert Authenticator.objects.filter(type="totp").exists()
    stale.post(asked["Location"], {"code": totp_code(key)})
    assert not Authenticator.objects.filter(type="totp").exists()


def test_who_has_a_passkey_is_asked_for_it_first(person: User, key: str) -> None:
    Authenticator.objects.create(user=person, type="webauthn", data={})
    methods = get_adapter().get_reauthentication_methods(person)
    ids = [one["id"] for one in methods]
    assert ids == ["mfa_reauthenticate:webauthn", "mfa_reauthenticate"]


def test_a_mailed_code_is_no_reauthentication(person: User, key: str) -> None:
    stale = log_in(person, fresh=False)
    for path in ("reauthenticate/code/", "reauthenticate/code/confirm/"):
        for answer in (stale.get(f"/account/{path}"), stale.post(f"/account/{path}")):
            assert answer.status_code in {302, 403, 404}
            assert "/code/" not in answer.headers.get("Location", "")
    assert not mail.outbox


def test_recovery_codes_are_shown_once(person: User, key: str) -> None:
    client = log_in(person)
    client.post("/account/second-factor/recovery-codes/generate/")
    page = client.get("/account/second-factor/recovery-codes/").text
    codes = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()
    assert all(code in page for code in codes)
    # The file is in the page itself: a second request would not get the codes.
    [file] = re.findall(r'href="(data:text/plain[^"]+)"\s+download="florin-recovery-codes.txt"', page)
    assert unquote(file).splitlines()[1:] == codes
    again = client.get("/account/second-factor/recovery-codes/").text
    assert not any(code in again for code in codes)
    assert "data:text/plain" not in again


def test_a_passkey_is_named_after_the_browser_and_system_that_make_it(person: User) -> None:
    chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
    client = log_in(person, headers={"User-Agent": chrome})
    page = client.get("/account/second-factor/webauthn/add/")
    assert 'value="Chrome on Linux"' in page.text
    Authenticator.objects.create(user=person, type="webauthn", data={"name": "Chrome on Linux"})
    with request_context(RequestFactory(headers={"User-Agent": chrome}).get("/")):
        second = MfaAdapter().generate_authenticator_name(person, Authenticator.Type.WEBAUTHN)
    assert second == "Chrome on Linux 2"


# A code of an app counts once.


@pytest.mark.parametrize(
    ("first", "then", "after", "counts"),
    [
        (0, 0, 0, False),
        (0, 0, 29, False),
        (0, 0, 30, False),
        (0, 1, 30, True),
        (-1, -1, 0, False),
        (-1, -1, 29, False),
        (0, -1, 0, False),
        (0, -1, 29, False),
        (-1, 1, 30, True),
    ],
)
def test_a_code_counts_once_and_none_before_it_afterwards(
    first: int, then: int, after: int, counts: bool, person: User, key: str
) -> None:
    app = Authenticator.objects.get(type="totp")
    assert use_up(app, totp_code(key, NOON + first * PERIOD), now=NOON)
    code = totp_code(key, NOON + then * PERIOD)
    assert use_up(app, code, now=NOON + timedelta(seconds=after)) is counts


# Changes of a password or an address: each is there together with its audit entry and its mail, or not at all.


NEXT = "next@example.test"
Change = Callable[[Client], Any]


def change_password(person: User, client: Client) -> Change:
    form = {"oldpassword": PASSWORD, "password1": GOOD, "password2": GOOD}
    return lambda client: client.post("/account/password/change/", form)


def set_password(person: User, client: Client) -> Change:
    person.set_unusable_password()
    person.save()
    client.cookies = log_in(person).cookies
    form = {"password1": GOOD, "password2": GOOD}
    return lambda client: client.post("/account/password/set/", form)


def reset_password(person: User, client: Client) -> Change:
    client.post("/account/password/reset/", {"email": person.email})
    address = client.get(link_in(last_mail(person.email)))["Location"]
    form = {"password1": GOOD, "password2": GOOD}
    return lambda client: client.post(address, form)


def change_address(person: User, client: Client) -> Change:
    client.post("/account/email/", {"email": NEXT, "action_add": ""})
    form = {"code": code_in(last_mail(NEXT))}
    return lambda client: client.post("/account/confirm-email/", form)


@pytest.mark.parametrize(
    ("prepare", "action"),
    [
        (change_password, "account.password_changed"),
        (set_password, "account.password_set"),
        (reset_password, "account.password_reset"),
        (change_address, "account.email_changed"),
    ],
)
def test_a_changed_credential_without_its_audit_entry_is_no_change(
    prepare: Callable[[User, Client], Change], action: str, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = log_in(make_user("nobody@example.test"), raise_request_exception=False)
    if prepare is reset_password:
        client.logout()
    else:
        client = log_in(person, raise_request_exception=False)
    change = prepare(person, client)
    before = _credentials(person)
    mails = OutgoingMail.objects.count()
    monkeypatch.setattr("accounts.login.adapter.record", died)
    assert change(client).status_code == 500
    assert (_credentials(person), OutgoingMail.objects.count()) == (before, mails)
    monkeypatch.undo()
    assert change(client).status_code == 302
    assert _credentials(person) != before
    assert AuditEntry.objects.filter(action=action).count() == 1
    assert OutgoingMail.objects.count() == mails + 1


def _credentials(person: User) -> tuple[str, str, list[tuple[str, bool]]]:
    person.refresh_from_db()
    addresses = EmailAddress.objects.filter(user=person).order_by("email")
    return (person.password, person.email, list(addresses.values_list("email", "primary")))


def test_the_audit_log_has_room_for_the_longest_address() -> None:
    address = f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 56}.test"
    assert len(address) == 254
    entry = record(None, action="tested", actor=Actor(make_user(address)), now=NOON)
    entry.refresh_from_db()
    assert entry.actor_label == address


GUEST = "new@example.test"


@pytest.fixture
def link(merchant: Merchant, settings: Any) -> str:
    """The path that the guest's mail leads to, where sign-up is closed."""
    settings.SIGNUP_OPEN = False
    owner = make_member(merchant)
    invite(merchant, email=GUEST, role=Role.VIEWER, actor=Actor(owner), now=timezone.now())
    return link_in(last_mail(GUEST))


def sign_up(client: Client, email: str) -> Any:
    return client.post("/account/signup/", {"email": email, "password1": GOOD})


def test_a_guest_signs_up_though_it_is_closed_and_needs_no_code(link: str, merchant: Merchant) -> None:
    client = Client()
    assert "Halden Roasters" in client.get(link).text
    sign_up(client, GUEST)
    assert is_logged_in(client)
    assert not Membership.objects.filter(user__email=GUEST).exists()
    answer = client.post(link)
    assert answer["Location"] == f"/dashboard/{merchant.public_id}/live/"
    assert Membership.objects.get(user__email=GUEST).role == Role.VIEWER


def test_a_guest_cannot_take_another_address(link: str) -> None:
    client = Client()
    client.get(link)
    sign_up(client, "other@example.test")
    assert not User.objects.filter(email="other@example.test").exists()
    assert User.objects.filter(email=GUEST).exists()


def test_without_the_link_it_stays_closed(link: str) -> None:
    sign_up(Client(), GUEST)
    assert not User.objects.filter(email=GUEST).exists()


def test_a_link_that_is_used_opens_nothing_any_more(link: str) -> None:
    first = Client()
    first.get(link)
    sign_up(first, GUEST)
    first.post(link)
    second = Client()
    assert second.get(link).status_code == 409
    sign_up(second, "other@example.test")
    assert not User.objects.filter(email="other@example.test").exists()


def test_looking_at_the_link_accepts_nothing(link: str) -> None:
    guest = make_member(make_merchant())
    User.objects.filter(pk=guest.pk).update(email=GUEST)
    client = log_in(guest)
    assert "Join</button>" in client.get(link).text
    assert guest.memberships.count() == 1
    client.post(link)
    assert guest.memberships.count() == 2


def test_somebody_else_who_has_the_link_gets_nothing(link: str) -> None:
    thief = make_member(make_merchant())
    client = log_in(thief)
    assert "Join</button>" not in client.get(link).text
    assert client.post(link).status_code == 409
    assert thief.memberships.count() == 1


def test_nobody_in_particular_accepts_nothing(link: str) -> None:
    assert Client().post(link).status_code == 200
    assert not Membership.objects.filter(role=Role.VIEWER).exists()
