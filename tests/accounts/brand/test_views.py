"""The branding page: what is saved, what is refused, and a preview that no stranger's words get into."""

import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from accounts.brand.logos import MAX_UPLOAD_BYTES
from accounts.models import AuditEntry, Branding, Merchant
from accounts.states import Mode, Role
from tests.dashboard.people import Desk, log_in, make_desk

pytestmark = pytest.mark.django_db

EMPTY = dict.fromkeys(("display_name", "accent", "support_url", "terms_url", "return_label"), "")


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


def test_a_viewer_sees_the_look_and_changes_nothing(merchant: Merchant, viewer: Desk) -> None:
    page = viewer.get("dashboard_branding").text
    assert "Save the look" not in page
    assert save(viewer, display_name="mine").status_code == 403
    assert viewer.post("dashboard_checkout_page").status_code == 403
    assert not Branding.objects.exists()


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
