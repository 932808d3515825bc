"""The languages of the buyers' pages: whole catalogues, and a choice that lasts without a cookie."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from babel.messages.catalog import Message
from django.conf import settings as configured
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.utils import translation

from accounts.dashboard.audit_log import ACTIONS
from accounts.dashboard.audit_sentences import CODES, SENTENCES
from gateway.core.web.languages import LanguageMiddleware
from tests import catalogues
from tests.cases import case
from tests.checkouts.factories import (
    make_chains_well,
    make_completed,
    make_exact_checkout,
    make_expired,
    make_page_checkout,
    make_seen,
    make_test_checkout,
)
from tests.factories import make_merchant, make_wallet
from tests.links.factories import make_donation, make_link, make_subscription_link
from tests.links.payer import Payer
from tests.tree import relative, repository_files
from wallets.chains.family import ChainSpec
from wallets.networks import chains

# Every template and module is read for its messages: one worker does it for all of them.
pytestmark = pytest.mark.xdist_group("languages")

LANGUAGES = [code for code, _ in configured.LANGUAGES]
TRANSLATED = catalogues.languages()

TAG = re.compile(r"{%.*?%}|{{.*?}}|{#.*?#}", re.DOTALL)
TRANSLATED_BLOCK = re.compile(r"{% blocktranslate.*?{% endblocktranslate %}", re.DOTALL)
# The name of an icon.
ICON = re.compile(r"{% block icon %}\w+{% endblock icon %}")
HTML = re.compile(r"<(?:[^<>]|<[^<>]*>)*>")
SPOKEN = re.compile(r'\b(?:aria-label|title|alt|placeholder|content)="([^"]*)"')
WORD = re.compile(r"[^\W\d_]{3,}")
# Names, units and addresses, which no language writes otherwise.
NO_WORDS = {"Florin", "UTC", "USD", "width", "device", "initial", "scale", "viewport"}
NO_WORDS |= {"fit", "cover", "noindex", "nofollow", "light", "dark", "telephone", "url"}
# Names and units of the dashboard, and samples of what people type.
NAMES = {"CSV", "JSON", "URL", "USDC", "ada", "base", "payroll", "yes"}
OWN_ADDRESS = re.compile(r"{% url '(?:checkout|link)[\w-]*'[^%]*%}(.{0,16})", re.DOTALL)


def buyers_templates() -> list[Path]:
    """Every template that buyers may see, mails included."""
    found = (path for path in repository_files(".html") if "templates" in path.parts)
    return [path for path in found if catalogues.is_for_buyers(relative(path))]


def login_templates() -> list[Path]:
    """Every template of the pages where people log in."""
    found = (path for path in repository_files(".html") if "templates" in path.parts)
    return [path for path in found if catalogues.PEOPLE.read(relative(path))]


def dashboard_templates() -> list[Path]:
    """Every template of the dashboard, but for the pages of a till's device, which no person is logged in at."""
    found = (path for path in repository_files(".html") if relative(path).startswith("templates/dashboard/"))
    return [path for path in found if "till" not in path.parts]


def untranslated(path: Path) -> set[str]:
    """The words of a template that no catalogue can translate."""
    text = TAG.sub("", TRANSLATED_BLOCK.sub("", ICON.sub("", path.read_text())))
    spoken = " ".join(SPOKEN.findall(text))
    return set(WORD.findall(f"{HTML.sub(' ', text)} {spoken}")) - NO_WORDS


def escaping(templates: list[Path], allowed: set[str]) -> dict[str, set[str]]:
    """Such words by template, but for those that are allowed."""
    assert len(templates) > 10
    return {relative(path): words for path in templates if (words := untranslated(path) - allowed)}


@pytest.fixture(scope="module", autouse=True)
def _messages_are_read() -> None:
    # From every template and module, once: the first language would be the slow one.
    catalogues.used_messages()


@pytest.mark.parametrize("code", TRANSLATED)
def test_every_message_is_translated_as_it_must_be(code: str) -> None:
    assert catalogues.faults(code) == []


@pytest.mark.parametrize("code", TRANSLATED)
def test_the_files_are_as_the_command_writes_them(code: str) -> None:
    written = catalogues.po_text(catalogues.updated(code))
    assert catalogues.catalogue_path(code).read_bytes() == written
    compiled = catalogues.mo_bytes(catalogues.read_catalogue(code))
    assert catalogues.catalogue_path(code, ".mo").read_bytes() == compiled


@pytest.mark.parametrize("code", catalogues.languages(catalogues.PEOPLE))
def test_the_catalogues_of_people_who_log_in_are_whole_and_as_the_command_writes_them(code: str) -> None:
    people = catalogues.PEOPLE
    assert catalogues.faults(code, people) == []
    written = catalogues.po_text(catalogues.updated(code, people))
    assert catalogues.catalogue_path(code, readers=people).read_bytes() == written
    compiled = catalogues.mo_bytes(catalogues.read_catalogue(code, people))
    assert catalogues.catalogue_path(code, ".mo", people).read_bytes() == compiled


@pytest.mark.parametrize("code", catalogues.languages(catalogues.TEAM))
def test_the_catalogues_of_teams_are_whole_and_as_the_command_writes_them(code: str) -> None:
    team = catalogues.TEAM
    assert catalogues.faults(code, team) == []
    written = catalogues.po_text(catalogues.updated(code, team))
    assert catalogues.catalogue_path(code, readers=team).read_bytes() == written
    compiled = catalogues.mo_bytes(catalogues.read_catalogue(code, team))
    assert catalogues.catalogue_path(code, ".mo", team).read_bytes() == compiled


def test_no_words_of_the_dashboard_escape_translation() -> None:
    assert escaping(dashboard_templates(), NAMES) == {}


def test_no_words_of_a_login_page_escape_translation() -> None:
    assert escaping(login_templates(), {"recovery", "codes", "data", "text", "plain", "charset", "utf"}) == {}


def test_every_label_and_sentence_of_the_audit_log_is_a_message() -> None:
    kept = {message.id for message in catalogues.used_messages(catalogues.TEAM)}
    words = {word for codes in CODES.values() for word in codes.values()}
    said = {sentence.words for sentence in SENTENCES.values()} | {one.label for one in SENTENCES.values() if one.label}
    assert (words | said | {*ACTIONS.values()}) - kept == set()
    # Its filter names each action.
    assert SENTENCES.keys() - ACTIONS.keys() == set()


def test_there_is_a_catalogue_for_each_language_and_no_other() -> None:
    kept = {path.parts[-3] for path in catalogues.LOCALE.glob("*/LC_MESSAGES/*")}
    assert kept == {translation.to_locale(code) for code in TRANSLATED}


@pytest.mark.parametrize("code", catalogues.languages(catalogues.PEOPLE))
def test_a_message_of_two_catalogues_is_said_in_one_way(code: str) -> None:
    # The first catalogue of LOCALE_PATHS wins, whoever reads: a word in another sense needs a context.
    said: dict[str, set[str]] = {}
    for readers in catalogues.ALL:
        for message in catalogues.read_catalogue(code, readers) if code in readers.codes else ():
            if message.id:
                said.setdefault(f"{message.context}: {message.id}", set()).add(str(message.string))
    assert {key: strings for key, strings in said.items() if len(strings) > 1} == {}


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (Message("Copy", ""), "not translated"),
        (Message("Copy", "  "), "not translated"),
        (Message("Copy", "نسخ", flags=["fuzzy"]), "uncertain"),
        (Message("Pay %(a)s", "ادفع"), "other placeholders or tags"),
        (Message("Pay %(a)s", "ادفع \u2068%(b)s\u2069"), "other placeholders or tags"),
        (Message("Pay <b>now</b>", "ادفع <i>الآن</i>"), "other placeholders or tags"),
        (Message("Pay <b>now</b>", "ادفع <b>الآن"), "other placeholders or tags"),
        (Message("Pay {a}", "ادفع {b}"), "other placeholders or tags"),
        (Message("Until {at:%H:%M}", "حتى {at:%H}"), "other placeholders or tags"),
        (Message("Copy", 'نسخ" onclick="'), "markup that the original does not have"),
        (Message("Copy", "نسخ &lt;"), "markup that the original does not have"),
        (Message("j F Y, H:i", "ينقضي"), "not a form of the same date"),
        (Message("j F Y, H:i", "j F Y"), "not a form of the same date"),
        (Message("t F Y", "j F Y"), "not a form of the same date"),
        (Message("Pay %(a)s", "ادفع %(a)s"), "a placeholder that is not isolated"),
        (Message("Pay $%(a)s", "ادفع $\u2068%(a)s\u2069"), "a placeholder that is not isolated"),
        (Message("Pay %(a)s", "ادفع \u2066\u2068%(a)s\u2069"), "an isolate that is not closed"),
        (Message(("one", "many"), ("a", "b")), "not as many forms as the language has"),
        (Message(("one", "many"), ("a", "b", "c", "d", "", "f")), "not translated"),
    ],
)
def test_a_catalogue_does_not_pass_with(message: Message, fault: str) -> None:
    assert list(catalogues.message_faults(message, 6, "ar")) == [fault]


@pytest.mark.parametrize(
    "message",
    [
        Message("j F Y, H:i", "Y年n月j日 H:i"),
        Message("l, j F Y", r"l, j \d\e F \d\e Y"),
        Message("Find", "Buscar"),
        Message('the link "{name}"', "el enlace «{name}»"),
        Message("in <b>%(a)s</b>&nbsp;s", "<b>%(a)s</b>秒後に"),
    ],
)
def test_a_catalogue_passes_with(message: Message) -> None:
    assert list(catalogues.message_faults(message, 1, "es")) == []


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("%(a)s", "\u2068%(a)s\u2069"),
        ("\u2068%(a)s\u2069", "\u2068%(a)s\u2069"),
        ("$%(a)s", "\u2066$\u2068%(a)s\u2069\u2069"),
        ("\u2066%(a)s %(b)s\u2069", "\u2066\u2068%(a)s\u2069 \u2068%(b)s\u2069\u2069"),
    ],
)
def test_isolates_that_a_translator_typed_stay_closed(typed: str, kept: str) -> None:
    assert catalogues.isolated(typed) == kept
    assert catalogues.isolated(kept) == kept


def test_a_message_nobody_says_any_more_and_one_that_is_missing_are_found() -> None:
    kept = catalogues.read_catalogue("de")
    kept.delete("Copy")
    kept.add("Bygone", "Vergangen")
    faults = catalogues.catalogue_faults(kept, "de")
    assert faults == ["missing: (None, 'Copy')", "nobody says: (None, 'Bygone')"]


@pytest.mark.parametrize(
    ("count", "noun"), [(2, "تأكيدين"), (3, "تأكيدات"), (11, "تأكيدًا"), (99, "تأكيدًا"), (100, "تأكيد")]
)
def test_arabic_counts_take_their_own_forms(count: int, noun: str) -> None:
    singular = "<b>%(done)s of %(required)s</b> confirmation"
    with translation.override("ar"):
        text = translation.ngettext(singular, f"{singular}s", count)
    assert text.endswith(f" {noun}")


def test_no_words_of_a_template_escape_translation() -> None:
    assert escaping(buyers_templates(), set()) == {}


def test_addresses_of_ours_in_a_template_keep_the_language() -> None:
    for path in buyers_templates():
        with case(relative(path)):
            # The script that asks for the status and follows the stream adds the page's own query.
            text = path.read_text().replace("{% url 'checkout-status' page.code %}", "")
            after = OWN_ADDRESS.findall(text)
            assert [rest for rest in after if not rest.startswith("{{ lang_query }}")] == []


def answer(path: str, **headers: str) -> HttpResponse:
    """The middleware's answer around a view that says which language is in force."""

    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(translation.get_language())

    return LanguageMiddleware(view)(RequestFactory().get(path, headers=headers))


@pytest.mark.parametrize(
    ("query", "browser", "spoken"),
    [
        ("", "", "en"),
        ("", "ar", "ar"),
        ("", "pt-BR,pt;q=0.9,en;q=0.8", "pt"),
        ("", "zh-CN,zh;q=0.9", "zh-hans"),
        ("", "zh", "zh-hans"),
        ("", "es-419,es;q=0.9", "es"),
        ("", "nl,tr;q=0.4,fr;q=0.7", "fr"),
        ("", "nl,*;q=0.5", "en"),
        ("", "en-GB,de;q=0.9", "en"),
        ("", "not a language;;;q=x", "en"),
        ("?lang=ar", "de", "ar"),
        ("?lang=DE", "", "de"),
        ("?lang=pt-BR", "", "pt"),
        ("?lang=tlh", "de", "de"),
        ("?lang=", "de", "de"),
        ("?lang=../../etc/passwd", "hi", "hi"),
        (f"?lang={'a-' * 3000}", "vi", "vi"),
        ("?lang=%00%0d%0aSet-Cookie:a", "id", "id"),
        ("?lang=xx&lang=ru", "", "ru"),
    ],
)
def test_the_address_decides_and_then_the_browser(query: str, browser: str, spoken: str) -> None:
    response = answer(f"/c/x{query}", **{"Accept-Language": browser})
    assert response.content.decode() == spoken
    assert response["Content-Language"] == spoken
    assert response["Vary"] == "Accept-Language"
    assert not response.cookies


@pytest.mark.parametrize(
    "path",
    ["/api/v1/checkouts", "/metrics", "/healthz", "/dashboard/", "/account/x/", "/verify", "/.well-known/jwks.json"],
)
def test_what_no_buyer_reads_has_one_language(path: str) -> None:
    response = answer(f"{path}?lang=ar", **{"Accept-Language": "ar"})
    assert response.content == b"en"
    assert "Content-Language" not in response
    assert "Vary" not in response


@pytest.mark.parametrize("spec", chains().values(), ids=lambda spec: spec.name)
def test_what_a_network_is_called_for_is_a_message(spec: ChainSpec) -> None:
    assert spec.badge is None or catalogues.used_messages().get(spec.badge) is not None


@pytest.mark.django_db
class TestPages:
    """What a buyer sees who asked for a language."""

    @pytest.fixture(autouse=True)
    def _chains(self, settings: Any) -> None:
        make_chains_well(settings)

    def test_the_page_says_its_language_and_direction(self, client: Client) -> None:
        path = f"/c/{make_page_checkout().code}"
        for code in LANGUAGES:
            with case(code):
                start = re.search(rb'<html lang="([\w-]+)"\s+dir="(\w+)">', client.get(f"{path}?lang={code}").content)
                assert start
                direction = b"rtl" if code in configured.LANGUAGES_BIDI else b"ltr"
                assert start.groups() == (code.encode(), direction)

    def test_a_status_is_another_one_in_another_language(self, client: Client) -> None:
        path = f"/c/{make_seen().code}/status"
        german = client.get(f"{path}?lang=de")
        assert "Zahlung erkannt" in german.json()["panel"]
        header = {"If-None-Match": german["ETag"]}
        assert client.get(f"{path}?lang=de", headers=header).status_code == 304
        french = client.get(f"{path}?lang=fr", headers=header)
        assert french.status_code == 200
        assert "Paiement détecté" in french.json()["panel"]
        browser = client.get(path, headers={"Accept-Language": "de"} | header)
        # Its links do not name the language, so it is another page.
        assert browser.status_code == 200

    def test_choosing_a_network_leads_back_in_the_same_language(self, client: Client) -> None:
        checkout = make_exact_checkout()
        page = client.get(f"/c/{checkout.code}?lang=de").content.decode()
        assert f'action="/c/{checkout.code}/choose?lang=de"' in page
        chosen = client.post(f"/c/{checkout.code}/choose?lang=de", {"chain": "tron"})
        expected = f"/c/{checkout.code}?chain=tron&token=USDT&lang=de"
        assert chosen["Location"] == expected
        assert "Senden Sie genau" in client.get(expected).content.decode()

    def test_a_wallet_app_comes_back_to_the_page_in_its_language(self, client: Client) -> None:
        checkout = make_exact_checkout()
        chosen = client.post(f"/c/{checkout.code}/choose?lang=de", {"chain": "tron"})
        text = client.get(chosen["Location"]).content.decode()
        [link] = re.findall(r'href="(tronlinkoutside://[^"]+)"', text)
        assert f"{checkout.code}?chain=tron&token=USDT&lang=de" in unquote(link)

    def test_a_second_try_and_a_receipt_keep_the_language(self, client: Client) -> None:
        shop = make_merchant(buyers_may_retry=True)
        make_wallet(shop)
        expired = make_expired(merchant=shop)
        again = client.post(f"/c/{expired.code}/again?lang=de")
        assert again["Location"].endswith("?lang=de")
        paid = make_completed()
        page = client.get(f"/c/{paid.code}?lang=de").content.decode()
        assert f'href="/c/{paid.code}/receipt?lang=de"' in page
        receipt = client.get(f"/c/{paid.code}/receipt?lang=de").content.decode()
        assert f'href="/c/{paid.code}?lang=de"' in receipt
        unpaid = client.get(f"/c/{make_seen().code}/receipt?lang=de")
        assert unpaid["Location"].endswith("?lang=de")

    @pytest.mark.parametrize("host", ["", "https://pay.example.test"])
    def test_a_link_leads_to_its_checkout_in_the_same_language(self, host: str, client: Client, settings: Any) -> None:
        settings.CHECKOUT_HOST = host or settings.CHECKOUT_HOST
        led = Payer(client).press(f"/p/{make_link().code}?lang=de")
        assert led.status_code == 303
        assert led["Location"].endswith("?lang=de")

    @pytest.mark.parametrize("make", [make_link, make_donation, make_subscription_link])
    def test_the_pages_of_links_are_translated(self, make: Any, client: Client) -> None:
        text = client.get(f"/p/{make().code}?lang=de").content.decode()
        assert "Sie zahlen direkt an" in text
        assert ("Wählen Sie ein Netzwerk." if make is make_link else "Weiter zur Zahlung") in text

    @pytest.mark.parametrize("path", ["/nothing-here", "/c/0", "/p/0"])
    def test_error_pages_speak_the_buyers_language(self, path: str, client: Client) -> None:
        response = client.get(path, headers={"Accept-Language": "de"})
        assert response.status_code == 404
        assert "Seite nicht gefunden" in response.content.decode()

    def test_the_api_speaks_english_whoever_asks(self, client: Client) -> None:
        response = client.get("/api/v1/checkouts?lang=de", headers={"Accept-Language": "de"})
        assert response.status_code == 401
        assert "Content-Language" not in response
        english = client.get("/api/v1/checkouts").json()["error"]["message"]
        assert response.json()["error"]["message"] == english

    def test_other_languages_are_two_links_away_and_keep_the_choice(self, client: Client) -> None:
        path = f"/c/{make_test_checkout().code}"
        page = client.get(f"{path}?chain=polygon&lang=de").content.decode()
        [listed] = re.findall(r'id="languages" href="([^"]+)"', page)
        assert listed == "?chain=polygon&amp;lang=de&amp;languages=1#languages"
        page = client.get(f"{path}?chain=polygon&lang=de&languages=1").content.decode()
        links = dict(re.findall(r'<a lang="([\w-]+)" href="([^"]+)"', page))
        assert list(links) == LANGUAGES
        assert links["ar"] == "?chain=polygon&amp;lang=ar"
        for _, name in configured.LANGUAGES:
            assert f">{name}</a>" in page

    def test_a_hostile_query_is_not_repeated(self, client: Client) -> None:
        path = f"/c/{make_page_checkout().code}?languages=1&lang=de"
        text = client.get(f"{path}&evil={'x' * 1000}&found=%22%3E").content.decode()
        assert "x" * 20 not in text
        assert '"">' not in text


def test_templates_of_buyers_are_found() -> None:
    names = {relative(path) for path in buyers_templates()}
    assert {"templates/404.html", "templates/checkouts/_pay.html"} <= names
    assert not [name for name in names if "dashboard" in name]
