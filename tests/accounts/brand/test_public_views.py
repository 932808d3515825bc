"""How style sheets and logos are served."""

import io
from collections.abc import Callable
from typing import Any, cast

import pytest
from django.test import Client
from PIL import Image

from accounts.brand import public_views
from accounts.brand.facts import brand_of
from accounts.brand.service import BrandingChanges, change_branding
from accounts.brand.styles import stylesheet
from accounts.models import Branding, Merchant
from gateway.core.api.rate_limits import Limit
from tests.factories import NOON, make_merchant

pytestmark = pytest.mark.django_db


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
    monkeypatch.setattr(public_views, "BRAND", Limit("brand.none", 0))
    for path in paths_of(merchant):
        refused = client.get(path)
        assert refused.status_code == 429
        assert int(refused["Retry-After"]) > 0
        assert refused["Cache-Control"] == "no-store"
