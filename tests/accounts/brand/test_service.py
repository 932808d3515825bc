"""What a merchant may say about its pages, how it is kept and audited, and how style sheet and logo are served."""

import io
from pathlib import Path
from typing import Any, cast

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from PIL import Image

from accounts.audit.actors import Actor
from accounts.brand.facts import brand_of
from accounts.brand.service import BrandingChanges, change_branding
from accounts.models import AuditEntry, Branding, Merchant
from gateway.core.api.errors import InvalidRequestError
from tests.factories import NOON, make_merchant, make_user

pytestmark = pytest.mark.django_db

FULL = BrandingChanges(
    display_name="Halden",
    accent="#D2001A",
    support_url="https://halden.example/help",
    terms_url="https://halden.example/terms",
    return_label="Back to the beans",
)


def a_logo(colour: str = "navy") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(out, "JPEG")
    return out.getvalue()


def change(merchant: Merchant, **changes: Any) -> Branding:
    return change_branding(merchant, changes=cast("BrandingChanges", changes), now=NOON)


def test_each_change_is_audited_with_what_was_there_before_and_no_logo() -> None:
    merchant, owner = make_merchant(), make_user()
    for changes in (
        BrandingChanges(accent="#112233", logo=a_logo()),
        BrandingChanges(accent="#112233", logo=a_logo(), return_label="Back"),
        BrandingChanges(accent="", logo=b""),
    ):
        change_branding(merchant, changes=changes, now=NOON, actor=Actor(owner, address="192.0.2.7"))
    first, second, third = AuditEntry.objects.order_by("pk")
    digest = (first.after or {})["logo_digest"]
    assert first.before == {"accent": "", "logo_digest": ""}
    assert first.after == {"accent": "#112233", "logo_digest": digest}
    assert second.after == {"return_label": "Back"}
    assert third.before == {"accent": "#112233", "logo_digest": digest}
    assert third.after == {"accent": "", "logo_digest": ""}
    assert {entry.action for entry in (first, second, third)} == {"merchant.branding_changed"}
    assert first.actor == owner
    assert first.address == "192.0.2.7"


def test_saying_the_same_again_changes_nothing() -> None:
    merchant = make_merchant()
    for _ in range(2):
        change_branding(merchant, changes={**FULL, "logo": a_logo()}, now=NOON)
    assert AuditEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"display_name": "Halden\u202eretsaoR"}, "display_name"),
        ({"display_name": "Halden\u2066Roasters"}, "display_name"),
        ({"display_name": "Halden\u200bRoasters"}, "display_name"),
        ({"display_name": "Halden\nRoasters"}, "display_name"),
        ({"display_name": "Halden\u2028Roasters"}, "display_name"),
        ({"display_name": "Halden\x00"}, "display_name"),
        ({"display_name": "\ue000"}, "display_name"),
        ({"display_name": "\u200d\u0301"}, "display_name"),
        ({"display_name": "H" * 81}, "display_name"),
        ({"return_label": "B" * 41}, "return_label"),
        ({"return_label": "Back\u202e"}, "return_label"),
        ({"accent": "red"}, "accent"),
        ({"accent": "#12345"}, "accent"),
        ({"accent": "#123456;}"}, "accent"),
        ({"support_url": "javascript:alert(1)"}, "support_url"),
        ({"support_url": "https://user:word@halden.example"}, "support_url"),
        ({"support_url": "halden.example"}, "support_url"),
        ({"terms_url": "https://halden.example/" + "a" * 2048}, "terms_url"),
        ({"terms_url": "https://halden.example/\u202e"}, "terms_url"),
        ({"logo": b"<svg/>"}, "logo"),
    ],
)
def test_what_could_deceive_or_break_a_page_is_refused_whole(changes: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        change(make_merchant(), **({"return_label": "Back"} | changes))
    assert refused.value.param == param
    assert not Branding.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("name", ["محمصة القهوة", "नमस्ते कॉफ़ी", "می\u200cخواهم", "咖啡", "👩‍🍳 Halden", "  Halden  "])
def test_names_of_every_writing_are_taken(name: str) -> None:
    assert change(make_merchant(), display_name=name).display_name == name.strip()


def test_links_are_https_alone_in_production(settings: Any) -> None:
    settings.PRODUCTION = False
    change(make_merchant(), support_url="http://halden.example/help")
    settings.PRODUCTION = True
    with pytest.raises(InvalidRequestError, match="must use https"):
        change(make_merchant(), support_url="http://halden.example/help")


def paths_of(merchant: Merchant) -> tuple[str, str]:
    brand = brand_of(Merchant.objects.get(pk=merchant.pk))
    folder = f"/brand/{merchant.public_id}"
    return f"{folder}/{brand.style_version}.css", f"{folder}/{brand.logo_digest}.png"


def test_only_the_present_version_is_served(client: Client) -> None:
    merchant, stranger = make_merchant(), make_merchant()
    change(merchant, accent="#ffff00", logo=a_logo("navy"))
    old = paths_of(merchant)
    change(merchant, accent="#112233", logo=a_logo("red"))
    present = paths_of(merchant)
    elsewhere = [path.replace(merchant.public_id, stranger.public_id) for path in present]
    for path in (*old, *elsewhere, "/brand/mer_1/0.css", f"{present[0]}/x"):
        assert client.get(path).status_code == 404, path
    change(merchant, logo=b"")
    assert client.get(present[1]).status_code == 404


def test_the_command_sets_what_is_named_and_takes_back_what_is_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    merchant = make_merchant()
    logo = tmp_path / "logo.jpg"
    logo.write_bytes(a_logo())
    call_command(
        "brand_merchant",
        merchant.public_id,
        *("--name", "Halden", "--logo", str(logo), "--accent", "#d2001a"),
        *("--support", "https://halden.example/help", "--return-label", "Back"),
    )
    assert "show Halden, accent #d2001a" in capsys.readouterr().out
    call_command("brand_merchant", merchant.public_id, "--name", "", "--logo", "")
    branding = Branding.objects.get()
    assert branding.display_name == branding.logo_digest == ""
    assert bytes(branding.logo) == b""
    assert branding.return_label == "Back"
    assert branding.support_url == "https://halden.example/help"
    assert AuditEntry.objects.earliest("pk").actor_label == "manage.py brand_merchant"


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    merchant = make_merchant()
    drawing = tmp_path / "logo.svg"
    drawing.write_text("<svg/>")
    for arguments, words in (
        (["mer_1", "--accent", "#d2001a"], "There is no merchant mer_1"),
        ([merchant.public_id, "--logo", str(drawing)], "PNG, JPEG, WebP or GIF"),
        ([merchant.public_id, "--logo", str(tmp_path / "gone")], "No such file"),
        ([merchant.public_id, "--accent", "red"], "must be a colour"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("brand_merchant", *arguments)
    assert not Branding.objects.exists()
