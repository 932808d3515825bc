"""The dashboard in the language that the person keeps: words change, and no number, id or machine's word does."""

import re
from collections.abc import Iterator
from decimal import Decimal

import pytest
from django.conf import settings as configured
from django.test import Client
from django.utils import translation

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Role
from accounts.team.service import change_role, invite, mail_owners
from checkouts.models import Checkout
from mails.models import OutgoingMail
from tests import catalogues
from tests.checkouts.factories import make_completed
from tests.dashboard.people import Desk, make_desk, make_member
from tests.factories import NOON, make_merchant
from tests.gateway.operator.people import log_in_by_factor, make_operator

pytestmark = pytest.mark.django_db

WORDS = {
    "es": ("Resumen", "Cobros", "Nuevo cobro", "Completado"),
    "zh-hans": ("概览", "收款单", "新建收款单", "已完成"),
    "hi": ("अवलोकन", "चेकआउट", "नया चेकआउट", "पूरा हुआ"),
}

# A name of a page, a tab or a button within a text: in quotes, or behind one of these words.
NAMED = re.compile(r"“([^”{}%]+)”|\b(?:under|[Pp]ress) ([A-Z]\w+)( [a-z]+)?")
# The pages of a till's device are in English.
OF_THE_DEVICE = {"Sales"}


def forms(text: object) -> tuple[str, ...]:
    """A message, or its translation, with its plurals."""
    return (text,) if isinstance(text, str) else tuple(map(str, text)) if isinstance(text, (list, tuple)) else ()


def named(text: str, names: dict[str, set[str]]) -> Iterator[str]:
    """What a text calls by name: quoted words that are a name, and what stands under a page or is pressed, name or not."""
    for quoted, word, second in NAMED.findall(text):
        if word or quoted in names:
            yield quoted or (word + second if word + second in names else word)


@pytest.mark.parametrize("code", configured.DASHBOARD_LANGUAGES)
def test_a_text_calls_a_button_as_the_button_is_called(code: str) -> None:
    words: dict[str, set[str]] = {}
    for readers in catalogues.ALL:
        for message in catalogues.read_catalogue(code, readers):
            for original in forms(message.id)[:1]:
                words.setdefault(original, set()).update(forms(message.string))
    called = [
        (name, text, name in OF_THE_DEVICE or any(word in text for word in words.get(name, ())))
        for message in catalogues.read_catalogue(code, catalogues.TEAM)
        for name in named("".join(forms(message.id)[:1]), words)
        for text in forms(message.string)
    ]
    assert {"To pay", "Settle", "Being done", "Paid but not showing up?"} <= {name for name, _, _ in called}
    assert [(name, text) for name, text, right in called if not right] == []


def speak(desk: Desk, code: str) -> Desk:
    """The desk of a person who keeps a language."""
    desk.user.language = code
    desk.user.save()
    return desk


def page_of(desk: Desk, name: str, query: str = "", *, browser: str = "", **arguments: str) -> str:
    """A page's HTML."""
    answer = desk.client.get(desk.url(name, **arguments) + query, headers={"Accept-Language": browser})
    assert answer.status_code == 200
    return str(answer.text)


@pytest.mark.parametrize("code", configured.DASHBOARD_LANGUAGES)
def test_pages_are_in_the_language_that_the_person_keeps(code: str, merchant: Merchant) -> None:
    desk = speak(make_desk(merchant), code)
    paid = make_completed(merchant=merchant, amount=Decimal("1234.50"), order_ref="A-17")
    overview, checkouts, new, completed = WORDS[code]
    for name, heading in (
        ("dashboard_overview", overview),
        ("dashboard_checkouts", checkouts),
        ("dashboard_new_checkout", new),
    ):
        page = page_of(desk, name)
        assert f'<html lang="{code}"' in page
        assert f"<h1>{heading}</h1>" in page
    # The browser's language does not count where the person's is known.
    page = page_of(desk, "dashboard_checkout", browser="en-GB", checkout_id=paid.public_id)
    assert f'<html lang="{code}"' in page
    assert completed in page
    for same in (paid.public_id, "A-17", "1,234.50", "USDC"):
        assert same in page


def test_numbers_and_ids_are_those_of_the_english_page(merchant: Merchant) -> None:
    for amount in ("0.10", "25.00", "1234567.89"):
        make_completed(merchant=merchant, amount=Decimal(amount))
    desk = make_desk(merchant)
    english = page_of(desk, "dashboard_checkouts")
    for code in configured.DASHBOARD_LANGUAGES:
        page = page_of(speak(desk, code), "dashboard_checkouts")
        for figure in (r"/checkouts/[\w-]+/", r"\d[\d,]*\.\d\d", r'datetime="[^"]+"', r'name="\w+"'):
            assert re.findall(figure, page) == re.findall(figure, english)


@pytest.mark.parametrize(
    ("kept", "browser", "spoken"),
    [
        ("", "", "en"),
        ("", "es-MX,es;q=0.9,en;q=0.8", "es"),
        ("", "ar,hi;q=0.5", "hi"),
        ("", "fr-FR,de;q=0.5", "en"),
        ("", "a-" * 300, "en"),
        ("en", "es", "en"),
        ("hi", "es", "hi"),
        # Of the login pages alone.
        ("ar", "es", "en"),
        ("ar", "", "en"),
        ("xx", "es", "en"),
    ],
)
def test_which_language_a_person_gets(kept: str, browser: str, spoken: str, owner: Desk) -> None:
    page = page_of(speak(owner, kept), "dashboard_overview", "?lang=zh-hans", browser=browser)
    assert f'<html lang="{spoken}"' in page
    assert ('dir="rtl"' in page) is False


def test_one_answer_does_not_colour_the_next(merchant: Merchant) -> None:
    spanish, english = speak(make_desk(merchant), "es"), make_desk(merchant)
    assert '<html lang="es"' in page_of(spanish, "dashboard_overview")
    assert '<html lang="en"' in page_of(english, "dashboard_overview")
    assert '<html lang="en"' in str(Client().get("/account/login/").text)


def test_a_forms_errors_are_in_the_persons_language(merchant: Merchant) -> None:
    desk = speak(make_desk(merchant), "es")
    answer = desk.post("dashboard_new_checkout", {"amount": "25.001", "expires_in": "1800"})
    assert answer.status_code == 422
    # The rules of the API say it in English, which is quoted.
    [error] = answer.context["form"].errors["amount"]
    assert error.startswith("Florin no aceptó esto. La API dice: amount ")
    assert not Checkout.objects.exists()
    answer = desk.post("dashboard_invite", {"email": "no address", "role": "viewer"})
    assert answer.status_code == 422
    assert "válida" in answer.text
    assert "Enter a valid" not in answer.text


def test_files_are_in_english(merchant: Merchant) -> None:
    desk = make_desk(merchant)
    make_completed(merchant=merchant)

    def file() -> bytes:
        return b"".join(desk.get("dashboard_checkouts_csv").streaming_content)

    english = file()
    speak(desk, "es")
    assert file() == english


def test_the_operators_pages_are_english() -> None:
    operator = make_operator()
    operator.language = "es"
    operator.save()
    page = log_in_by_factor(operator).get("/operator/", follow=True, headers={"Accept-Language": "es"}).text
    assert '<html lang="en"' in page


def test_each_owner_is_mailed_in_their_own_language_whoever_acts() -> None:
    merchant = make_merchant()
    people = {code: make_member(merchant) for code in ("", "es", "zh-hans", "ar")}
    for code, person in people.items():
        person.language = code
        person.save()
    viewer = make_member(merchant, Role.VIEWER)
    # As in the page of an owner who reads Hindi.
    with translation.override("hi"):
        change_role(merchant, member=viewer, role=Role.OWNER, actor=Actor(people[""]), now=NOON)
        assert translation.get_language() == "hi"
    said = {code: OutgoingMail.objects.get(recipient=person.email) for code, person in people.items()}
    assert said[""].subject == said["ar"].subject == f"The owners of {merchant.name} change"
    assert said["es"].subject == f"Cambian los propietarios de {merchant.name}"
    assert f"{viewer.email} pasa a ser propietario de {merchant.name}." in said["es"].text
    assert "的所有者" in said["zh-hans"].text
    assert said[""].text.startswith(
        f"{viewer.email} becomes an owner of {merchant.name}. {people[''].email} made this change.\n\n"
    )


def test_what_is_not_lazy_is_mailed_as_it_is(owner: Desk) -> None:
    speak(owner, "es")
    assert mail_owners(owner.merchant.pk, key="k", subject="Overview", text="{braces}", now=NOON) == 1
    mail = OutgoingMail.objects.get()
    assert (mail.subject, mail.text) == ("Overview", "{braces}")


def test_an_invitation_is_in_the_language_of_who_is_known(merchant: Merchant) -> None:
    owner, known = make_desk(merchant), make_member(make_merchant())
    known.language = "es"
    known.save()
    for email in (known.email, "new@b.test"):
        invite(merchant, email=email, role=Role.VIEWER, actor=Actor(owner.user), now=NOON)
    assert OutgoingMail.objects.get(recipient=known.email).subject == f"Únase a {merchant.name} en Florin"
    assert OutgoingMail.objects.get(recipient="new@b.test").subject == f"Join {merchant.name} on Florin"
