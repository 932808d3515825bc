"""The operator's pages: their routes, who comes in (staff, by a second factor, who proved a moment ago who they are), and lists."""

from collections.abc import Iterator

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accounts.models import User
from gateway.operator.site import areas_at, title_at
from gateway.operator.tables import site
from tests.accounts.logins import totp_code
from tests.dashboard.people import log_in, make_member
from tests.factories import make_merchant
from tests.gateway.operator.people import PEOPLE, log_in_by_factor, make_operator

pytestmark = pytest.mark.django_db

# They only lead elsewhere.
OPEN = {"login", "logout", "password_change", "password_change_done", "stop_looking"}


def addresses() -> list[str]:
    """Every address of the operator's pages, with arguments that fit."""
    [found] = [
        item
        for item in get_resolver().url_patterns
        if isinstance(item, URLResolver) and str(item.pattern) == "operator/"
    ]
    return [address for name, address in _walk(found, "/operator/") if name not in OPEN]


def _walk(resolver: URLResolver, prefix: str) -> Iterator[tuple[str | None, str]]:
    for item in resolver.url_patterns:
        route = prefix + str(item.pattern)
        if isinstance(item, URLResolver):
            yield from _walk(item, route)
        elif isinstance(item, URLPattern):
            yield item.name, _filled(route)


def _filled(route: str) -> str:
    for argument in ("<path:object_id>", "<path:content_type_id>"):
        route = route.replace(argument, "1")
    return route.replace("^(?P<app_label>", "").split("|")[0].replace("(?P<url>.*)$", "x")


def locations(client: Client) -> set[str]:
    """Where all of them lead."""
    return {client.get(address)["Location"].split("?")[0] for address in addresses()}


def test_the_walk_sees_the_routes_there_are() -> None:
    found = addresses()
    assert {"/operator/", "/operator/health/", "/operator/accounts/merchant/"} <= set(found)


def test_nobody_is_led_to_the_only_login_and_back() -> None:
    assert locations(Client()) == {"/account/login/"}
    answer = Client().get("/operator/health/")
    assert answer["Location"] == "/account/login/?next=%2Foperator%2Fhealth%2F"
    assert Client().get("/operator/login/")["Location"] == "/operator/"


def test_operators_see_every_list_and_page(operators_browser: Client) -> None:
    lists = [reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist") for model in site._registry]
    for address in [*lists, "/operator/", "/operator/health/"]:
        answer = operators_browser.get(address)
        assert answer.status_code == 200, address
        assert answer["X-Frame-Options"] == "DENY"
        assert answer["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
        assert "unsafe" not in answer["Content-Security-Policy"]


def statuses(client: Client, method: str = "get") -> dict[str, int]:
    return {address: getattr(client, method)(address).status_code for address in addresses()}


def test_people_who_are_no_staff_find_nothing() -> None:
    owner = log_in_by_factor(make_member(make_merchant()))
    for method in ("get", "post"):
        assert set(statuses(owner, method).values()) == {404}


def test_staff_without_a_second_factor_is_led_to_setting_one_up() -> None:
    client = log_in(make_operator(has_factor=False))
    assert locations(client) == {"/account/security/"}
    assert "second factor" in client.get("/account/security/").content.decode()


def test_a_login_from_before_the_factor_was_there_proves_it_first() -> None:
    operator = make_operator(has_factor=False)
    client = log_in(operator)
    TOTP.activate(operator, generate_totp_secret())
    assert locations(client) == {"/account/second-factor/reauthenticate/"}


def test_whoever_proved_it_too_long_ago_proves_it_again() -> None:
    client = log_in_by_factor(make_operator(), seconds_ago=601)
    assert locations(client) == {"/account/second-factor/reauthenticate/"}


def test_a_person_who_was_deactivated_is_nobody(operators_browser: Client, operator: User) -> None:
    operator.is_active = False
    operator.save()
    assert locations(operators_browser) == {"/account/login/"}


def test_a_form_that_was_sent_too_late_goes_on_after_the_proof() -> None:
    merchant, key = make_merchant(), generate_totp_secret()
    strict = log_in_by_factor(make_operator(key=key), enforce_csrf_checks=True)
    address = f"/operator/accounts/merchant/{merchant.pk}/change/"
    token = {"csrfmiddlewaretoken": str(strict.get(address).context["csrf_token"])}
    session = strict.session
    for proof in session["account_authentication_methods"]:
        proof["at"] -= 601
    session.save()
    form = {"fee_tier": "growth", "fee_rate": "0.01"}
    asked = strict.post(address, token | form)
    assert "reauthenticate/?next=" in asked["Location"]
    merchant.refresh_from_db()
    assert merchant.fee_tier == "starter"
    strict.post(asked["Location"], token | {"code": totp_code(key), "next": address})
    merchant.refresh_from_db()
    assert merchant.fee_tier == "growth"


def test_a_form_from_elsewhere_is_refused(operator: User) -> None:
    strict = log_in_by_factor(operator, enforce_csrf_checks=True)
    answer = strict.post("/operator/accounts/user/", {"action": "deactivate"})
    assert answer.status_code == 403


@pytest.mark.parametrize("column", ["password", "password__startswith"])
def test_no_address_asks_for_a_hash(operators_browser: Client, column: str) -> None:
    assert operators_browser.get(PEOPLE, {column: "argon2"}).status_code in {302, 400}


def test_nothing_can_be_added_or_deleted_by_hand(operators_browser: Client) -> None:
    found = [address for address in addresses() if address.endswith(("/add/", "/delete/"))]
    assert len(found) == 2 * len(site._registry)
    assert {operators_browser.get(address).status_code for address in found} <= {302, 403}
    assert {operators_browser.post(address).status_code for address in found} <= {302, 403}


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/operator/health/", "Health"),
        ("/operator/accounts/merchant/", "Merchants"),
        ("/operator/accounts/merchant/7/change/", "Merchants"),
        ("/operator/accounts/user/", "People"),
        ("/operator/accounts/auditentry/?q=a", "Audit log"),
    ],
)
def test_a_page_belongs_to_one_area_and_has_its_name(path: str, title: str) -> None:
    assert title_at(path) == title


def test_the_index_belongs_to_none() -> None:
    areas = areas_at("/operator/")
    assert not any(area["is_here"] for area in areas)
    urls = [area["url"] for area in areas]
    assert len(set(urls)) == len(urls)


def test_the_fiat_waitlist_is_of_merchants_who_want_cards() -> None:
    [words] = [area["words"] for area in areas_at("/operator/") if area["title"] == "Fiat waitlist"]
    assert "card payments" in words
