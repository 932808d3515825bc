"""The demo's first page and its login page."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.demo.shop.client import CREDENTIALS
from tests.demo.shop.client import settings as demo_settings

PASSWORD_FIELD = f'value="{CREDENTIALS.owner_password}"'
NODE: dict[str, object] = {"rpc_url": "http://127.0.0.1:9/node", "tokens": {"USDC": "0x1"}}
CHAINS: dict[str, dict[str, object]] = {"base": {**NODE}}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _demo(settings: Any, tmp_path: Path) -> None:
    settings.ROOT_URLCONF = "demo.front.urls"
    settings.VAR_DIR = tmp_path
    folder = Path("demo/front/templates").resolve()
    # Assigned as a whole, so that engines made before are made anew, now and at the end.
    [templates] = settings.TEMPLATES
    settings.TEMPLATES = [{**templates, "DIRS": [folder, *templates["DIRS"]]}]
    demo_settings("http://127.0.0.1:8001", CHAINS).write(tmp_path / "demo.json")


def local(path: str, **extra: Any) -> str:
    """The page as a browser on this machine gets it."""
    return Client(SERVER_NAME="127.0.0.1").get(path, **extra).content.decode()


def test_the_first_page_links_everything_and_shows_no_secret() -> None:
    text = local("/")
    for link in ("http://127.0.0.1:8001/", "/dashboard/", "/docs/", "/docs/quickstart/"):
        assert f'href="{link}"' in text
    assert 'href="/docs/api/explorer/"' in text
    assert Client().get("/docs/").status_code == 200
    assert reverse("account_login", "demo.front.urls") == "/account/login/"
    assert "http://127.0.0.1:9/node" in text
    assert "The login is filled in" in text
    secrets = (CREDENTIALS.owner_password, CREDENTIALS.live_key)
    assert [secret for secret in secrets if f">{secret}<" in text] == []


def test_without_chains_the_first_page_says_how_checkouts_are_paid(tmp_path: Path) -> None:
    demo_settings("http://127.0.0.1:8001", {}).write(tmp_path / "demo.json")
    text = local("/")
    assert "test checkouts are paid automatically" in text
    assert "No local chains run" in text


def test_the_login_is_filled_in_on_this_machine() -> None:
    text = local("/account/login/")
    assert PASSWORD_FIELD in text
    assert f'value="{CREDENTIALS.owner_email}"' in text


@pytest.mark.parametrize(
    "extra",
    [
        {"REMOTE_ADDR": "192.0.2.7"},
        {"SERVER_NAME": "testserver"},
        {"HTTP_X_FORWARDED_FOR": "192.0.2.7"},
        {"HTTP_FORWARDED": "for=192.0.2.7"},
    ],
)
def test_no_other_machine_gets_the_password(extra: dict[str, str]) -> None:
    assert PASSWORD_FIELD not in local("/account/login/", **extra)
    assert "The login is in the terminal" in local("/", **extra)


def test_a_refused_login_does_not_show_the_password() -> None:
    client = Client(SERVER_NAME="127.0.0.1")
    form = {"login": "owner@demo.example", "password": "wrong-password"}
    text = client.post("/account/login/", form).content.decode()
    assert "The e-mail address or the password is wrong." in text
    assert PASSWORD_FIELD not in text


def test_the_product_itself_fills_nothing_in(settings: Any) -> None:
    settings.ROOT_URLCONF = "gateway.urls"
    assert PASSWORD_FIELD not in local("/account/login/")
