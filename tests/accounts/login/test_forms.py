"""Signing up, logging in and out, resetting: what a browser without script sees, and what must not be seen."""

import time
from statistics import median
from typing import Any

import pytest
import time_machine
from django import forms
from django.conf import settings as configured
from django.test import Client
from django.utils import timezone

from accounts.login.forms import PlainFields
from accounts.models import AuditEntry, Guesses, Membership, User
from accounts.states import Role
from mails.models import OutgoingMail
from tests.accounts.logins import LOGIN, code_in, is_logged_in, last_mail, link_in, try_login
from tests.dashboard.people import PASSWORD, log_in, make_desk
from tests.factories import make_user

pytestmark = pytest.mark.django_db


GOOD = "a long enough sentence"
SIGNUP = "/account/signup/"
VERIFY = "/account/confirm-email/"


@pytest.fixture
def client() -> Client:
    """A browser."""
    return Client()


def sign_up(client: Client, email: str = "new@example.test") -> Any:
    return client.post(SIGNUP, {"name": "Ada", "email": email, "password1": GOOD})


def test_signing_up_leads_by_a_code_to_a_business_of_ones_own(client: Client) -> None:
    assert sign_up(client)["Location"] == VERIFY
    assert not is_logged_in(client)
    code = code_in(last_mail("new@example.test"))
    assert client.post(VERIFY, {"code": code})["Location"] == "/dashboard/"
    assert client.get("/dashboard/")["Location"] == "/dashboard/new/"
    answer = client.post("/dashboard/new/", {"name": "Halden Roasters"})
    seat = Membership.objects.get()
    assert (seat.user.email, seat.role) == ("new@example.test", Role.OWNER)
    assert seat.user.name == "Ada"
    assert answer["Location"] == f"/dashboard/{seat.merchant.public_id}/live/"


@pytest.mark.parametrize(
    "email", ["a" * 250 + "@b.example", "a@" + ("İ" * 60 + ".") * 4 + "example"], ids=["as it is", "in lower case"]
)
def test_an_address_that_is_too_long_is_refused(client: Client, email: str) -> None:
    assert "at most 254 characters" in sign_up(client, email).text
    form = {"email": email, "action_add": ""}
    answer = log_in(make_user()).post("/account/email/", form)
    assert "at most 254 characters" in answer.text
    assert not OutgoingMail.objects.exists()


def test_an_account_whose_address_was_not_proved_does_not_log_in(client: Client) -> None:
    sign_up(client)
    other = Client()
    try_login("new@example.test", GOOD, other)
    assert not is_logged_in(other)


def test_a_wrong_code_proves_nothing(client: Client) -> None:
    sign_up(client)
    assert client.post(VERIFY, {"code": "AAA-AAA"}).status_code == 200
    assert not is_logged_in(client)


def test_where_signup_is_closed_nobody_signs_up(client: Client, settings: Any) -> None:
    settings.SIGNUP_OPEN = False
    assert "by invitation" in client.get(SIGNUP).text
    sign_up(client)
    assert not User.objects.exists()
    assert "Create an account" not in client.get(LOGIN).text


@pytest.mark.parametrize("password", ["short", "password12", "new@example.test"])
def test_a_password_that_is_easily_guessed_is_refused(password: str, client: Client) -> None:
    form = {"email": "new@example.test", "password1": password}
    assert client.post(SIGNUP, form).status_code == 200
    assert not User.objects.exists()


def test_signing_up_says_the_same_to_an_address_that_has_an_account(person: User) -> None:
    known, unknown = Client(), Client()
    answers = [sign_up(known, person.email), sign_up(unknown, "new@example.test")]
    assert len({(a.status_code, a["Location"]) for a in answers}) == 1
    pages = [known.get(VERIFY).text, unknown.get(VERIFY).text]
    assert stripped(pages[0], person.email) == stripped(pages[1], "new@example.test")
    assert "It already has an account" in last_mail(person.email).text
    assert User.objects.count() == 2


def test_resetting_says_the_same_to_an_address_that_nobody_has(person: User) -> None:
    answers = [
        Client().post("/account/password/reset/", {"email": email}) for email in (person.email, "nobody@example.test")
    ]
    assert {(a.status_code, a["Location"]) for a in answers} == {(302, "/account/password/reset/done/")}
    assert "No account uses it" in last_mail("nobody@example.test").text


def stripped(page: str, email: str) -> str:
    """A page without the address and the tokens in it."""
    lines = page.replace(email, "").splitlines()
    return "\n".join(line for line in lines if "csrf" not in line)


def test_a_wrong_password_and_an_unknown_address_are_told_alike(person: User) -> None:
    wrong, unknown = (try_login(person.email, "wrong"), try_login("nobody@example.test", "x"))
    assert (wrong.status_code, unknown.status_code) == (200, 200)
    assert "is wrong" in wrong.text
    assert stripped(wrong.text, person.email) == stripped(unknown.text, "nobody@example.test")


def test_a_wrong_password_and_an_unknown_address_take_alike_long(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["accounts.login.hashers.LimitedArgon2Hasher"]
    person = make_user("ada@example.test")

    def seconds(email: str) -> float:
        Guesses.objects.all().delete()
        began = time.process_time()
        try_login(email, "wrong")
        return time.process_time() - began

    seconds(person.email)
    pairs = [(seconds(person.email), seconds("nobody@example.test")) for _ in range(7)]
    known, unknown = median(a for a, _ in pairs), median(b for _, b in pairs)
    assert 0.5 < known / unknown < 2


def test_the_fifth_wrong_password_locks_for_fifteen_minutes(person: User) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for _ in range(5):
            assert "is wrong" in try_login(person.email, "wrong").text
        client = Client()
        page = try_login(person.email, PASSWORD, client).text
        assert "Wait 15 minutes" in page
        assert not is_logged_in(client)
        clock.shift(899)
        assert "Wait 1 minute," in try_login(person.email, PASSWORD, client).text
        clock.shift(1)
        try_login(person.email, PASSWORD, client)
        assert is_logged_in(client)


def test_an_unknown_address_is_locked_just_so() -> None:
    for _ in range(5):
        try_login("nobody@example.test", "wrong")
    assert "Wait 15 minutes" in try_login("nobody@example.test", "wrong").text


def test_a_lock_is_for_an_address_however_it_is_spelled(person: User) -> None:
    spellings = ["ada@example.test", "ADA@example.test", "Ada@Example.Test"] * 2
    pages = [try_login(spelling, "wrong").text for spelling in spellings]
    assert "Wait 15 minutes" in pages[5]


def test_logging_in_forgets_earlier_failures(person: User) -> None:
    for _ in range(4):
        try_login(person.email, "wrong")
    client = Client()
    try_login(person.email, PASSWORD, client)
    assert is_logged_in(client)
    for _ in range(4):
        assert "is wrong" in try_login(person.email, "wrong").text


def test_a_completed_reset_lifts_the_lock_and_ends_every_login(person: User) -> None:
    elsewhere = log_in(person)
    for _ in range(5):
        try_login(person.email, "wrong")
    client = Client()
    client.post("/account/password/reset/", {"email": person.email})
    assert "Wait" in try_login(person.email, PASSWORD).text
    address = client.get(link_in(last_mail(person.email)))["Location"]
    assert client.post(address, {"password1": GOOD, "password2": GOOD}).status_code == 302
    try_login(person.email, GOOD, client)
    assert is_logged_in(client)
    assert not is_logged_in(elsewhere)
    assert AuditEntry.objects.filter(action="account.password_reset").count() == 1


def test_a_reset_link_works_once_and_names_our_own_address(person: User) -> None:
    client = Client()
    client.post("/account/password/reset/", {"email": person.email})
    mail = last_mail(person.email)
    assert f"{configured.BASE_URL}/account/password/reset/key/" in mail.text
    address = client.get(link_in(mail))["Location"]
    client.post(address, {"password1": GOOD, "password2": GOOD})
    assert "This link is over" in Client().get(link_in(mail)).text


def test_a_reset_link_works_for_an_hour_as_its_mail_says(person: User) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        Client().post("/account/password/reset/", {"email": person.email})
        link = link_in(last_mail(person.email))
        clock.shift(3600)
        assert Client().get(link).status_code == 302
        clock.shift(1)
        assert "This link is over" in Client().get(link).text


def test_whoever_drowns_a_mailbox_still_does_not_hide_a_change(person: User) -> None:
    for _ in range(11):
        Client().post("/account/password/reset/", {"email": person.email})
    assert OutgoingMail.objects.filter(recipient=person.email).count() == 10
    form = {"oldpassword": PASSWORD, "password1": GOOD, "password2": GOOD}
    log_in(person).post("/account/password/change/", form)
    assert "was changed" in last_mail(person.email).subject


@pytest.mark.parametrize("name", ["Ada\n\nhttps://evil.example/", "Ada\u202egnp"])
def test_a_persons_name_is_a_line_as_mails_to_strangers_quote_it(name: str, client: Client) -> None:
    form = {"name": name, "email": "new@example.test", "password1": GOOD}
    assert "one line of visible characters" in client.post(SIGNUP, form).text
    assert not User.objects.exists()


def test_a_form_that_was_left_is_not_sent_by_a_proof_for_a_page() -> None:
    desk = make_desk(fresh=False)
    name, chain = "dashboard_receiving_wallet", "ethereum"
    left = desk.post(name, {"address": "none"}, chain=chain)
    asked = desk.get(name, chain=chain)
    assert left["Location"] == asked["Location"]
    proof = {"password": PASSWORD}
    assert desk.client.post(asked["Location"], proof)["Location"] == desk.url(name, chain=chain)
    desk = make_desk(fresh=False)
    left = desk.post(name, {"address": "none"}, chain=chain)
    assert desk.client.post(left["Location"], proof).status_code == 422


@pytest.mark.parametrize(("minutes", "status"), [(14, 422), (15, 302)])
def test_a_form_that_was_put_off_is_kept_for_fifteen_minutes(minutes: int, status: int) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        desk = make_desk(fresh=False)
        left = desk.post("dashboard_receiving_wallet", {"address": "none"}, chain="ethereum")
        clock.shift(minutes * 60)
        answer = desk.client.post(left["Location"], {"password": PASSWORD})
        assert answer.status_code == status


def test_changing_the_password_ends_other_logins_and_keeps_this_one(person: User) -> None:
    here, elsewhere = log_in(person), log_in(person)
    form = {"oldpassword": PASSWORD, "password1": GOOD, "password2": GOOD}
    assert here.post("/account/password/change/", form).status_code == 302
    assert is_logged_in(here)
    assert not is_logged_in(elsewhere)
    assert "was changed" in last_mail(person.email).subject


def test_changing_the_address_takes_a_proof_of_person_and_address(person: User) -> None:
    form = {"email": "next@example.test", "action_add": ""}
    stale = log_in(person, fresh=False).post("/account/email/", form)
    assert "/account/reauthenticate/" in stale["Location"]
    client = log_in(person)
    client.post("/account/email/", form)
    assert User.objects.get().email == person.email
    code = code_in(last_mail("next@example.test"))
    client.post(VERIFY, {"code": code})
    assert User.objects.get().email == "next@example.test"
    assert AuditEntry.objects.filter(action="account.email_changed").exists()
    assert "next@example.test" in last_mail(person.email).text


@pytest.mark.parametrize(
    ("path", "field"), [("/account/password/change/", "oldpassword"), ("/account/reauthenticate/", "password")]
)
def test_the_password_cannot_be_guessed_elsewhere_either(path: str, field: str, person: User) -> None:
    client = log_in(person)
    form = {"password1": GOOD, "password2": GOOD}
    for _ in range(5):
        assert client.post(path, form | {field: "wrong"}).status_code == 200
    assert "Wait 15 minutes" in client.post(path, form | {field: PASSWORD}).text
    assert "Wait 15 minutes" in try_login(person.email, PASSWORD).text


def test_a_session_from_before_the_login_is_not_the_one_after(person: User) -> None:
    client = Client()
    client.get("/account/invitation/x/")
    session = client.session
    session["planted"] = True
    session.save()
    planted = str(session.session_key)
    client.cookies[configured.SESSION_COOKIE_NAME] = planted
    try_login(person.email, PASSWORD, client)
    assert is_logged_in(client)
    after = client.cookies[configured.SESSION_COOKIE_NAME].value
    assert after != planted
    thief = Client()
    thief.cookies[configured.SESSION_COOKIE_NAME] = planted
    assert not is_logged_in(thief)


# How the login library's fields read.


class Library(forms.Form):
    email = forms.EmailField(widget=forms.EmailInput({"placeholder": "Email"}))
    password1 = forms.CharField(help_text="<ul><li>rules</li></ul>")
    password2 = forms.CharField(help_text="again")
    code = forms.CharField(label="Code")


class Ours(PlainFields, Library):
    pass


def test_a_label_says_what_a_field_is_and_nothing_inside_it_does() -> None:
    fields = Ours().fields
    assert fields["email"].label == "E-mail address"
    assert "placeholder" not in fields["email"].widget.attrs
    assert fields["code"].label == "Code"


def test_a_new_password_has_one_hint_and_its_repetition_none() -> None:
    fields = Ours().fields
    assert fields["password1"].help_text.startswith("At least ten characters")
    assert fields["password2"].help_text == ""
