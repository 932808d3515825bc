"""The consent page: who gives a plugin a key, what the key may do, and where it is sent."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.models import ApiKey, AuditEntry, Merchant
from accounts.states import Mode, Preset, Role
from greenfield.models import Connection
from greenfield.permissions import scopes_of
from tests.dashboard.people import Desk, make_desk, make_member
from tests.factories import make_checkout, make_merchant
from tests.greenfield.plugin import MAGENTO, PRESTASHOP, SHOPWARE, WOO, Plugin, make_plugin

pytestmark = pytest.mark.django_db

BACK = "https://shop.example/?btcpay-settings-callback"


def address(*permissions: str, slash: str = "", **query: str) -> str:
    """The page's address as the library writes it: one parameter for each permission."""
    named = [("permissions", name) for name in permissions or WOO]
    rest = {"applicationName": "WooCommerce", "strict": "true", "selectiveStores": "true", "redirect": BACK} | query
    return f"/btcpay/api-keys/authorize{slash}?{urlencode([*named, *rest.items()])}"


def agree(desk: Desk, *permissions: str, mode: Mode = Mode.LIVE, **query: str) -> Any:
    return desk.client.post(address(*permissions, **query), {"store": f"{desk.merchant.public_id}/{mode}"})


def fields_of(page: str) -> list[tuple[str, str]]:
    return re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page)


def test_the_page_says_who_asks_for_what_and_where_the_key_goes(owner: Desk) -> None:
    page = owner.client.get(address())
    assert page.status_code == 200
    assert "WooCommerce" in page.text
    assert '<b class="mono">shop.example</b>' in page.text
    for words in ("Create checkouts, and cancel unpaid ones", "Ask for refunds"):
        assert words in page.text
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("canviewstoresettings", "and checkouts"),
        ("canviewinvoices", "Read checkouts"),
        ("canmodifyinvoices", "Create checkouts"),
        ("cancreateinvoice", "cancel unpaid ones"),
        ("webhooks.canmodifywebhooks", "delete all that were added"),
        ("cancreatepullpayments", "payouts, to any address"),
    ],
)
def test_the_page_says_all_that_the_keys_scopes_allow(owner: Desk, asked: str, said: str) -> None:
    """A key that may read settings reads checkouts, too: both need one scope. Nobody should learn that later."""
    assert said in owner.client.get(address(f"btcpay.store.{asked}")).text


@pytest.mark.parametrize(
    "asked", [WOO, PRESTASHOP, MAGENTO, SHOPWARE], ids=["woo", "prestashop", "magento", "shopware"]
)
@pytest.mark.parametrize("mode", Mode)
def test_the_key_is_posted_to_the_shop_with_exactly_the_permissions(
    owner: Desk, asked: tuple[str, ...], mode: Mode
) -> None:
    page = agree(owner, *asked, mode=mode)
    assert page.status_code == 200
    store = owner.merchant.public_id
    key, connection = ApiKey.objects.get(), Connection.objects.get()
    sent = fields_of(page.text)
    [secret] = [value for name, value in sent if name == "apiKey"]
    assert [value for name, value in sent if name == "permissions[]"] == [f"{name}:{store}" for name in asked]
    assert ("userId", owner.user.public_id) in sent
    assert (key.mode, key.merchant, key.created_by) == (mode, owner.merchant, owner.user)
    assert (tuple(key.scopes), key.preset) == (scopes_of(asked), Preset.SHOP_PLUGIN)
    assert connection.permissions == list(asked)
    told = Plugin(secret, owner.merchant, mode).get("/api-keys/current")
    assert told["permissions"] == [f"{name}:{store}" for name in asked]
    # WooCommerce's plugin keeps only these characters of a key.
    assert re.fullmatch(r"[A-Za-z0-9_-]+", secret)


@pytest.mark.parametrize("word", ["true", "false", "maybe"])
def test_a_person_agrees_to_all_permissions_of_one_store_whatever_the_address_says_of_it(
    owner: Desk, word: str
) -> None:
    """At BTCPay Server `strict=false` lets people drop permissions, and without `selectiveStores` a key is for all stores."""
    said: dict[str, Any] = {"strict": word, "selectiveStores": word}
    page = owner.client.get(address(**said)).text
    assert 'type="checkbox"' not in page
    answer = agree(owner, **said)
    sent = [value for name, value in fields_of(answer.text) if name == "permissions[]"]
    assert sent == [f"{name}:{owner.merchant.public_id}" for name in WOO]
    assert Connection.objects.get().permissions == list(WOO)


def test_only_the_shops_host_may_get_the_form_and_nobody_keeps_the_page(owner: Desk) -> None:
    page = agree(owner)
    assert f'action="{BACK}"' in page.text.replace("&amp;", "&")
    assert "form-action 'self' https://shop.example" in page["Content-Security-Policy"]
    assert "no-store" in page["Cache-Control"]
    assert page["X-Frame-Options"] == "DENY"
    [secret] = [value for name, value in fields_of(page.text) if name == "apiKey"]
    assert secret not in str(list(AuditEntry.objects.values())) + str(dict(owner.client.session))


def test_without_a_redirect_the_person_copies_the_key(owner: Desk) -> None:
    """PrestaShop's settings have such a link beside the button."""
    page = agree(owner, *MAGENTO, redirect="")
    assert "shown once" in page.text
    assert "sk_live_" in page.text
    assert 'id="handover"' not in page.text
    assert owner.merchant.public_id in page.text


def test_shopwares_address_has_a_slash(owner: Desk) -> None:
    assert owner.client.get(address(*SHOPWARE, slash="/")).status_code == 200


@pytest.mark.parametrize(
    "redirect",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//evil.example/",
        "https://user:pass@shop.example/",
        "https://shop.example;script-src *;/x",
        "https://shop.example;script-src/",
        "https://shop.example\nx/",
        "x" * 3_000,
        "https:///nothing",
    ],
)
def test_a_redirect_that_leads_astray_is_refused(owner: Desk, redirect: str) -> None:
    for page in (owner.client.get(address(redirect=redirect)), agree(owner, redirect=redirect)):
        assert page.status_code == 400
        assert "script-src *" not in page["Content-Security-Policy"]
    assert not ApiKey.objects.exists()


def test_a_host_is_shown_as_the_browser_reads_it(owner: Desk) -> None:
    """The second letter is Cyrillic."""
    page = owner.client.get(address(redirect="https://sh\u043ep.example/back"))
    assert "xn--shp-ted.example" in page.text


def test_plain_http_is_refused_in_production(owner: Desk, settings: Any) -> None:
    settings.PRODUCTION = True
    assert owner.client.get(address(redirect="http://shop.example/"), secure=True).status_code == 400


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (("btcpay.server.canmodifyserversettings",), "btcpay.server.canmodifyserversettings"),
        ((*WOO, "btcpay.store.canuselightningnode"), "btcpay.store.canuselightningnode"),
        (("unrestricted",), "unrestricted"),
        (("btcpay.store.canmodifystoresettings",), "allow nothing"),
        (("<script>alert(1)</script>",), "&lt;script&gt;"),
    ],
)
def test_a_permission_that_florin_has_not_is_refused_by_name(owner: Desk, asked: tuple[str, ...], named: str) -> None:
    page = owner.client.get(address(*asked))
    assert page.status_code == 400
    assert named in page.text
    assert agree(owner, *asked).status_code == 400
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_only_an_owner_gives_a_key(merchant: Merchant, role: Role) -> None:
    desk = make_desk(merchant, role)
    assert "Only an owner" in desk.client.get(address()).text
    assert agree(desk).status_code == 422
    assert not ApiKey.objects.exists()


def test_nobody_gives_a_key_of_another_merchant(owner: Desk, stranger: Desk) -> None:
    assert agree(stranger).status_code == 422
    other = make_merchant()
    make_member(other)
    assert owner.client.post(address(), {"store": f"{other.public_id}/live"}).status_code == 422
    for wrong in ("", "x", f"{owner.merchant.public_id}/note", f"{owner.merchant.public_id}"):
        assert owner.client.post(address(), {"store": wrong}).status_code == 422
    assert not ApiKey.objects.exists()


def test_a_stranger_logs_in_first_and_comes_back() -> None:
    answer = Client().get(address())
    assert answer.status_code == 302
    assert "next=%2Fbtcpay%2Fapi-keys%2Fauthorize%3F" in answer["Location"]


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_person_whose_login_is_old_proves_it_again(merchant: Merchant, method: str) -> None:
    desk = make_desk(merchant, fresh=False)
    answer = desk.client.get(address()) if method == "get" else agree(desk)
    assert answer.status_code == 302
    assert "reauthenticate" in answer["Location"]
    assert not ApiKey.objects.exists()


def test_a_form_of_another_site_gives_no_key(owner: Desk) -> None:
    client = Client(enforce_csrf_checks=True)
    client.cookies = owner.client.cookies
    answer = client.post(address(), {"store": f"{owner.merchant.public_id}/live"})
    assert answer.status_code == 403
    assert not ApiKey.objects.exists()


def test_what_a_plugin_calls_itself_is_text_of_one_line(owner: Desk) -> None:
    page = agree(owner, applicationName="<b>Shop</b>\u202e\n" + "x" * 200)
    assert page.status_code == 200
    assert "<b>Shop</b>" not in page.text
    name = ApiKey.objects.get().name
    assert len(name) <= 80
    assert name.isprintable()
    # However long its name is, people find where the key went.
    assert name.endswith(" at shop.example")


def test_a_long_host_keeps_the_end_that_says_whose_it_is(owner: Desk) -> None:
    host = "shop-example." * 8 + "evil.example"
    assert agree(owner, redirect=f"https://{host}/").status_code == 200
    assert ApiKey.objects.get().name == f" at {host}"[-80:]


def test_a_team_member_is_led_from_an_invoice_to_the_dashboard_and_nobody_else(
    owner: Desk, stranger: Desk, woo: Plugin
) -> None:
    mine = make_plugin(owner.merchant)
    invoice = mine.order()["id"]
    answer = owner.client.get(f"/btcpay/invoices/{invoice}")
    assert (answer.status_code, answer["Location"]) == (
        302,
        f"/dashboard/{owner.merchant.public_id}/test/checkouts/{invoice}/",
    )
    assert stranger.client.get(f"/btcpay/invoices/{invoice}").status_code == 404
    assert owner.client.get(f"/btcpay/invoices/{woo.order()['id']}").status_code == 404
    assert owner.client.get(f"/btcpay/invoices/{make_checkout(owner.merchant).public_id}").status_code == 404
    assert "/account/login" in Client().get(f"/btcpay/invoices/{invoice}")["Location"]
