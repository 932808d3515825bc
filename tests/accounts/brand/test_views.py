"""The branding page: what is saved, what is refused, and a preview that no stranger's words get into."""

import io
from collections.abc import Callable
from typing import Any, cast

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from accounts.audit.actors import Actor
from accounts.brand import views
from accounts.brand.facts import Brand, brand_of, stylesheet, stylesheet_version, with_brand
from accounts.brand.service import MAX_UPLOAD_BYTES, BrandingChanges, change_branding
from accounts.brand.views import preview_notes, preview_stylesheet
from accounts.models import AuditEntry, Branding, Merchant
from accounts.states import Mode, Role
from checkouts.models import Checkout
from gateway.core.api.rate_limits import Limit
from tests.dashboard.people import Desk, log_in, make_desk
from tests.factories import NOON, make_checkout, make_merchant, make_user

pytestmark = pytest.mark.django_db


EMPTY = dict.fromkeys(("display_name", "accent", "support_url", "terms_url", "return_label", "legal_lines"), "")


def picture() -> SimpleUploadedFile:
    out = io.BytesIO()
    Image.new("RGB", (64, 64), "#0b6e4f").save(out, "PNG")
    return SimpleUploadedFile("logo.png", out.getvalue(), "image/png")


def save(desk: Desk, **typed: Any) -> Any:
    return desk.post("dashboard_branding", EMPTY | typed)


def test_a_look_is_saved_shown_and_audited(merchant: Merchant, admin: Desk) -> None:
    answer = save(admin, display_name="Halden", accent="#0B6E4F", logo=picture())
    assert answer.status_code == 302
    branding = Branding.objects.get()
    assert (branding.display_name, branding.accent) == ("Halden", "#0b6e4f")
    page = admin.get("dashboard_branding").text
    assert branding.logo_digest in page
    assert 'value="Halden"' in page
    entry = AuditEntry.objects.get(action="merchant.branding_changed")
    assert (entry.actor, entry.address) == (admin.user, "127.0.0.1")


def test_legal_lines_are_kept_as_lines_and_shown_again(admin: Desk) -> None:
    save(admin, legal_lines="Halden Coffee GmbH\r\n\r\n Kai 4, 20457 Hamburg \r\nDE 123456789")
    branding = Branding.objects.get()
    assert branding.legal_lines == "Halden Coffee GmbH\nKai 4, 20457 Hamburg\nDE 123456789"
    assert "Kai 4, 20457 Hamburg" in admin.get("dashboard_branding").text


def test_saving_without_a_file_keeps_the_logo_and_a_tick_removes_it(admin: Desk) -> None:
    save(admin, logo=picture())
    digest = Branding.objects.get().logo_digest
    save(admin, display_name="Halden")
    assert Branding.objects.get().logo_digest == digest
    save(admin, remove_logo="on")
    assert Branding.objects.get().logo_digest == ""


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("accent", "red", "must be a colour"),
        ("accent", "#fff}body{display:none", "must be a colour"),
        ("display_name", "x" * 81, "longer than 80"),
        ("display_name", "a\u202eb", "visible characters"),
        ("return_label", "x" * 41, "longer than 40"),
        ("legal_lines", "a\n" * 7, "more than 6 lines"),
        ("legal_lines", "x" * 401, "longer than 400"),
        ("legal_lines", "Halden\nVAT \u202e1", "visible characters"),
        ("support_url", "javascript:alert(1)", "Where buyers get help must"),
        ("terms_url", "not a link", "Your terms of sale must"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(admin: Desk, name: str, value: str, words: str) -> None:
    answer = save(admin, **{name: value})
    assert answer.status_code == 422
    assert words in answer.text
    assert f'id="id_{name}_error"' in answer.text
    assert not Branding.objects.exists()


@pytest.mark.parametrize("data", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"GIF89a", b"\0" * 10])
def test_a_file_that_is_no_picture_is_refused_in_words(admin: Desk, data: bytes) -> None:
    answer = save(admin, logo=SimpleUploadedFile("logo.png", data))
    assert answer.status_code == 422
    assert "must be a PNG, JPEG, WebP or GIF" in answer.text


def test_a_file_that_is_too_large_is_refused_unread(admin: Desk) -> None:
    large = SimpleUploadedFile("logo.png", b"\0" * (MAX_UPLOAD_BYTES + 1))
    answer = save(admin, logo=large)
    assert answer.status_code == 422
    assert "must not be larger than 2 MB" in answer.text


def test_a_viewer_is_not_offered_to_save_the_look(viewer: Desk) -> None:
    assert "Save the look" not in viewer.get("dashboard_branding").text


def test_the_look_is_the_same_in_both_modes(admin: Desk) -> None:
    save(admin, display_name="Halden")
    admin.mode = Mode.TEST
    assert 'value="Halden"' in admin.get("dashboard_branding").text


def test_a_form_changes_its_own_merchant_and_its_own_fields(admin: Desk) -> None:
    other = make_desk().merchant
    save(admin, display_name="mine", merchant=other.pk, merchant_id=other.pk, fee_rate=0)
    assert Branding.objects.get().merchant == admin.merchant
    admin.post("dashboard_checkout_page", {"mails_receipts": "on", "fee_tier": "custom"})
    admin.merchant.refresh_from_db()
    assert admin.merchant.mails_receipts
    assert admin.merchant.fee_tier == "starter"


def test_a_form_of_another_site_changes_no_look(admin: Desk) -> None:
    client = log_in(admin.user, enforce_csrf_checks=True)
    answer = client.post(admin.url("dashboard_branding"), EMPTY)
    assert answer.status_code == 403


def test_the_checkout_pages_switches_are_saved_and_audited(admin: Desk) -> None:
    admin.post("dashboard_checkout_page", {"buyers_may_retry": "on"})
    admin.merchant.refresh_from_db()
    assert (admin.merchant.buyers_may_retry, admin.merchant.mails_receipts) == (True, False)
    admin.post("dashboard_checkout_page")
    admin.merchant.refresh_from_db()
    assert not admin.merchant.buyers_may_retry
    entries = AuditEntry.objects.filter(action="merchant.retry_switched")
    assert [entry.address for entry in entries] == ["127.0.0.1"] * 2


def test_payments_without_a_fee_are_switched_only_where_the_operator_pays_them(admin: Desk, settings: Any) -> None:
    admin.post("dashboard_checkout_page")
    admin.merchant.refresh_from_db()
    assert admin.merchant.is_gas_free
    settings.GAS_FREE = ["base"]
    admin.post("dashboard_checkout_page")
    assert not Merchant.objects.get(pk=admin.merchant.pk).is_gas_free
    assert AuditEntry.objects.filter(action="merchant.gas_free_switched").count() == 1


def test_a_name_that_is_a_script_is_only_a_name(admin: Desk) -> None:
    name = "<script>alert(1)</script>"
    save(admin, display_name=name, return_label="<img src=x>")
    query = "?display_name=%3Cscript%3Ealert(1)%3C/script%3E&return_label=%3Cimg%20src=x%3E"
    for page in (admin.get("dashboard_branding").text, admin.get("dashboard_branding_preview", query).text):
        assert name not in page
        assert "<img src=x>" not in page
        assert "&lt;script&gt;" in page


def test_the_preview_says_what_is_done_to_a_yellow(viewer: Desk) -> None:
    page = viewer.get("dashboard_branding_preview", "?accent=%23ffe14d").text
    assert "dark text" in page
    assert "On light screens, links are drawn darker" in page
    assert "On light screens, buttons get a border" in page


def test_the_previews_colours_are_a_file_for_both_themes(viewer: Desk) -> None:
    answer = viewer.get("dashboard_branding_style", "?accent=%230B6E4F")
    assert answer["Content-Type"].startswith("text/css")
    assert ".preview--light{--brand:#0b6e4f" in answer.text
    assert ".preview--dark{--brand:#0b6e4f" in answer.text


@pytest.mark.parametrize("accent", ["", "red", "%23fff", "%230b6e4f%7D*%7Bdisplay:none", "%23zzzzzz"])
def test_nothing_but_a_colour_gets_into_the_style_sheet(viewer: Desk, accent: str) -> None:
    assert viewer.get("dashboard_branding_style", f"?accent={accent}").text == ""


@pytest.mark.parametrize("role", Role)
def test_every_member_sees_the_preview(merchant: Merchant, role: Role) -> None:
    desk = make_desk(merchant, role)
    assert desk.get("dashboard_branding_preview").status_code == 200


def test_a_merchant_may_have_round_prices_beside_an_expired_checkout_reviewed(admin: Desk) -> None:
    page = admin.get("dashboard_branding").text
    assert "Review round payments when another checkout" in page
    admin.post("dashboard_checkout_page", {"round_price_rivals": "on"})
    cautious = Merchant.objects.filter(round_price_rivals=True)
    assert cautious.get() == admin.merchant
    action = "merchant.round_price_rivals_switched"
    assert AuditEntry.objects.get(action=action).actor == admin.user


# How style sheets and logos are served.


def a_logo(colour: str = "navy") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(out, "JPEG")
    return out.getvalue()


def change(merchant: Merchant, **changes: Any) -> Branding:
    return change_branding(merchant, changes=cast("BrandingChanges", changes), now=NOON)


def paths_of(merchant: Merchant) -> tuple[str, str]:
    brand = brand_of(Merchant.objects.get(pk=merchant.pk))
    folder = f"/brand/{merchant.public_id}"
    return f"{folder}/{brand.style_version}.css", f"{folder}/{brand.logo_digest}.png"


def test_style_sheet_and_logo_are_kept_for_ever_and_can_do_nothing_else(
    client: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    merchant = make_merchant()
    branding = change(merchant, accent="#ffff00", logo=a_logo())
    style_path, logo_path = paths_of(merchant)
    expected = {
        style_path: ("text/css", stylesheet("#ffff00").encode()),
        logo_path: ("image/png", bytes(branding.logo)),
    }
    for path, (kind, body) in expected.items():
        with django_assert_num_queries(1):
            answer = client.get(path)
        assert answer.status_code == 200
        assert answer.content == body
        assert answer["Content-Type"] == kind
        assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer["Content-Security-Policy"] == "default-src 'none'"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert client.post(path).status_code == 405


def test_whoever_asks_too_often_is_asked_for_patience(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    merchant = make_merchant()
    change(merchant, accent="#ffff00", logo=a_logo())
    monkeypatch.setattr(views, "BRAND", Limit("brand.none", 0))
    for path in paths_of(merchant):
        refused = client.get(path)
        assert refused.status_code == 429
        assert int(refused["Retry-After"]) > 0
        assert refused["Cache-Control"] == "no-store"


# What a colour does to a merchant's pages, before it is saved.


@pytest.mark.parametrize("accent", ["", "blue", "#12345"])
def test_what_is_no_colour_draws_nothing(accent: str) -> None:
    assert preview_stylesheet(accent) == ""


def test_a_colour_is_drawn_in_both_themes() -> None:
    drawn = preview_stylesheet("#2440d8")
    assert ".preview--light{" in drawn
    assert ".preview--dark{" in drawn


def test_words_say_which_letters_buttons_get() -> None:
    assert "white text" in preview_notes("#2440d8")[0]
    assert "dark text" in preview_notes("#ffe94d")[0]


def test_words_say_what_is_moved_so_that_it_can_be_read() -> None:
    assert any("links are drawn darker" in note for note in preview_notes("#ffe94d"))
    assert any("links are drawn lighter" in note for note in preview_notes("#00004d"))


def test_without_a_colour_words_say_whose_is_drawn() -> None:
    [unset], [unreadable] = preview_notes(""), preview_notes("blue")
    assert unset.endswith("your pages use ours.")
    assert "#2440d8" in unreadable


# What pages know of a merchant's brand.


FULL = BrandingChanges(
    display_name="Halden",
    accent="#D2001A",
    support_url="https://halden.example/help",
    terms_url="https://halden.example/terms",
    return_label="Back to the beans",
)


@pytest.mark.parametrize(
    ("name", "mark"), [("Halden Roasters", "HR"), ("florin", "F"), ("Ćevapi & Sons Ltd", "ĆS"), ("***", "")]
)
def test_a_merchant_is_marked_by_its_initials(name: str, mark: str) -> None:
    assert Brand(name).mark == mark


def test_a_merchant_without_branding_has_its_name_and_nothing_else() -> None:
    merchant = make_merchant()
    assert merchant.shown_name == "Halden Roasters"
    assert brand_of(merchant) == Brand("Halden Roasters")


def test_what_was_chosen_is_what_pages_show() -> None:
    merchant = make_merchant()
    branding = change_branding(merchant, changes={**FULL, "logo": a_logo()}, now=NOON, actor=Actor(make_user()))
    read = Merchant.objects.get(pk=merchant.pk)
    assert read.shown_name == "Halden"
    assert brand_of(read) == Brand(
        name="Halden",
        merchant_id=merchant.public_id,
        style_version=stylesheet_version("#d2001a"),
        logo_digest=branding.logo_digest,
        support_url="https://halden.example/help",
        terms_url="https://halden.example/terms",
        return_label="Back to the beans",
    )
    assert branding.updated_at == NOON
    assert bytes(read.branding.logo).startswith(b"\x89PNG")


def test_a_page_reads_the_brand_in_its_own_query_and_leaves_the_logo_where_it_is(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    branded = make_merchant()
    change(branded, logo=a_logo())
    codes = [make_checkout(merchant).code for merchant in (branded, make_merchant())]
    with django_assert_num_queries(2) as asked:
        brands = [brand_of(with_brand(Checkout.objects.all()).get(code=code).merchant) for code in codes]
    assert [bool(brand.logo_digest) for brand in brands] == [True, False]
    assert '"logo"' not in asked.captured_queries[0]["sql"]
