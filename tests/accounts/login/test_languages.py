"""Pages where people log in, and their mails, in the language of the browser, of the person's choice, or the one that they keep."""

from typing import Any

import pytest
from django.conf import settings as configured
from django.test import Client
from django.utils import translation

from accounts.errors import LockedError
from accounts.login.adapter import LETTERS, MESSAGES, letter
from gateway.core.web.login_languages import COOKIE, login_languages
from mails.models import OutgoingMail
from tests.accounts.logins import try_login
from tests.dashboard.people import PASSWORD, Desk, make_member
from tests.factories import make_merchant

pytestmark = pytest.mark.django_db

LOGIN = "/account/login/"
HEADINGS = {"en": "Log in", "es": "Entrar", "zh-hans": "登录", "hi": "लॉग इन करें", "ar": "تسجيل الدخول"}


def heading(client: Client, query: str = "", **headers: str) -> str:
    """The heading of the login page, and its language and direction before it."""
    return str(client.get(f"{LOGIN}{query}", headers=headers).text)


@pytest.mark.parametrize(
    ("query", "browser", "spoken"),
    [
        ("", "", "en"),
        ("", "es-MX,es;q=0.9,en;q=0.8", "es"),
        ("", "zh-CN", "zh-hans"),
        # German has buyers' pages alone; the next choice counts.
        ("", "de-DE,de;q=0.9,hi;q=0.8", "hi"),
        ("", "de-DE,de;q=0.9", "en"),
        ("?lang=ar", "es", "ar"),
        ("?lang=de", "es", "es"),
        ("?lang=../../x", "es", "es"),
        ("?lang=" + "a-" * 300, "es", "es"),
    ],
)
def test_the_login_page_speaks_the_language_that_was_chosen_or_the_browsers(
    query: str, browser: str, spoken: str, client: Client
) -> None:
    page = heading(client, query, **{"Accept-Language": browser})
    assert f'<html lang="{spoken}"' in page
    assert f"<h1>{HEADINGS[spoken]}</h1>" in page
    assert ('dir="rtl"' in page) is (spoken == "ar")


def test_a_choice_is_kept_on_these_pages_alone(client: Client) -> None:
    answer = client.get(f"{LOGIN}?next=/dashboard/&lang=es")
    cookie = answer.cookies[COOKIE]
    assert (cookie.value, cookie["path"], cookie["httponly"]) == ("es", "/account/", True)
    assert "<h1>Entrar</h1>" in heading(client)
    # The links to other languages keep where the person wanted to go.
    assert 'href="?next=%2Fdashboard%2F&amp;lang=ar"' in answer.text
    assert COOKIE not in client.get(f"{LOGIN}?lang=xx").cookies
    assert client.get(f"{LOGIN}?lang=en").cookies[COOKIE].value == "en"


def test_every_language_is_a_link_away(client: Client) -> None:
    page = heading(client)
    assert [code for code, _ in login_languages()] == ["en", *configured.LOGIN_LANGUAGES]
    for code, name in login_languages():
        assert f'lang="{code}"' in page
        assert name in page


def test_a_person_keeps_a_language_for_their_pages(owner: Desk) -> None:
    spanish = {"Accept-Language": "es"}
    assert "Cómo entra" in owner.client.get("/account/security/", headers=spanish).text
    form = owner.client.get("/account/security/").text
    assert 'action="/account/language/"' in form
    assert '<option value="">As the browser says</option>' in " ".join(form.split())
    for code, heading in (("es", "Cómo entra"), ("ar", 'dir="rtl"')):
        answer = owner.client.post("/account/language/", {"language": code})
        assert (answer.status_code, answer["Location"]) == (302, "/account/security/")
        owner.user.refresh_from_db()
        assert owner.user.language == code
        page = owner.client.get("/account/security/", headers={"Accept-Language": "hi"}).text
        assert f'<html lang="{code}"' in page
        assert heading in page
    owner.client.post("/account/language/", {"language": ""})
    assert '<html lang="hi"' in owner.client.get("/account/security/", headers={"Accept-Language": "hi"}).text


@pytest.mark.parametrize("language", ["de", "xx", "es-MX", "../es", "e" * 300, "\u202e"])
def test_a_language_that_our_form_does_not_offer_is_not_kept(language: str, owner: Desk) -> None:
    assert owner.client.post("/account/language/", {"language": language}).status_code == 400
    owner.user.refresh_from_db()
    assert owner.user.language == ""


def test_a_language_is_kept_for_the_person_alone_who_asks(owner: Desk, client: Client) -> None:
    answer = client.post("/account/language/", {"language": "es"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/account/login/")
    assert owner.client.get("/account/language/").status_code == 405
    owner.user.refresh_from_db()
    assert owner.user.language == ""


@pytest.mark.parametrize(("kept", "then"), [("", "hi"), ("es", "es")])
def test_what_is_chosen_where_a_person_logs_in_is_kept_unless_they_keep_one(
    kept: str, then: str, client: Client
) -> None:
    person = make_member(make_merchant())
    person.language = kept
    person.save()
    client.cookies[COOKIE] = "hi"
    assert try_login(person.email, PASSWORD, client).status_code == 302
    person.refresh_from_db()
    assert person.language == then


@pytest.mark.parametrize(
    ("kept", "chosen", "said"), [("", "hi", True), ("", "ar", False), ("", "en", False), ("es", "hi", False)]
)
def test_who_keeps_a_language_by_a_login_hears_of_it(kept: str, chosen: str, said: bool, client: Client) -> None:
    # A link can choose it, and mails follow it.
    person = make_member(make_merchant())
    person.language = kept
    person.save()
    client.cookies[COOKIE] = chosen
    try_login(person.email, PASSWORD, client)
    page = client.get("/dashboard/", follow=True).text
    assert ("अब से आपके पेज और मेल इस भाषा में हैं: हिन्दी" in page) is said


def test_a_wrong_password_is_told_in_the_pages_language(client: Client) -> None:
    person = make_member(make_merchant())
    answer = client.post(LOGIN, {"login": person.email, "password": "wrong"}, headers={"Accept-Language": "es"})
    assert "El correo electrónico o la contraseña no son correctos." in answer.text
    with translation.override("ar"):
        assert "انتظر 15 دقيقة" in str(LockedError(15)).replace("\u2068", "").replace("\u2069", "")


def test_a_mail_that_a_person_asked_for_is_in_their_language(client: Client) -> None:
    person = make_member(make_merchant())
    client.post("/account/password/reset/", {"email": person.email}, headers={"Accept-Language": "es"})
    mail = OutgoingMail.objects.get(recipient=person.email)
    assert mail.subject == "Restablezca su contraseña de Florin"
    assert "Elija aquí una contraseña nueva." in mail.text


@pytest.mark.parametrize("code", configured.LOGIN_LANGUAGES)
def test_every_mail_and_message_has_its_facts_in_every_language(code: str) -> None:
    words: dict[str, Any] = {
        "base_url": "https://pay.example",
        "ip": "192.0.2.7",
        "code": "ABCD-EFGH",
        "password_reset_url": "https://pay.example/r",
        "from_email": "a@example.test",
        "to_email": "b@example.test",
        "deleted_email": "a@example.test",
    }
    with translation.override(code):
        for name in LETTERS:
            subject, text = letter(name, words)
            assert "%(" not in subject + text
            assert "Florin" in subject + text
        for message in MESSAGES.values():
            assert "%(" not in str(message) % {"email": "a@example.test"}


def test_who_logs_in_with_another_language_comes_to_the_same_place(client: Client) -> None:
    person = make_member(make_merchant())
    client.cookies[COOKIE] = "hi"
    assert try_login(person.email, PASSWORD, client).status_code == 302
