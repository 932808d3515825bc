"""POST /checkouts: which values each field takes, and how the others are refused."""

from typing import Any

import pytest

from checkouts.models import Checkout
from tests.contract.client import ApiClient

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]

INVALID = "parameter_invalid"
NOT_STRINGS = [1, 1.5, True, [], {}, ["a"], {"a": "b"}]


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("0.10", "0.10"),
        ("0.1", "0.10"),
        ("1", "1.00"),
        ("25", "25.00"),
        ("25.5", "25.50"),
        ("999999.99", "999999.99"),
        ("1000000", "1000000.00"),
        ("1000000.00", "1000000.00"),
    ],
)
def test_amounts_have_two_decimals_in_answers(tester: ApiClient, sent: str, shown: str) -> None:
    body = tester.created(amount=sent)
    assert body["amount"] == shown
    assert body["amount_remaining"] == f"{shown}0000"
    assert tester.get(f"/checkouts/{body['id']}").body["amount"] == shown


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        (None, "parameter_missing"),
        *((number, "amount_not_string") for number in (25, 25.0, 0, -1, 10**40, 1e300)),
        *((kind, "amount_invalid") for kind in (True, False, [], {}, ["25"], {"a": 1})),
        *(
            (text, "amount_invalid")
            for text in (
                "",
                " ",
                "25.",
                ".5",
                "25.001",
                "25.000",
                "+25",
                "-25",
                "1e2",
                "1E2",
                " 25",
                "25 ",
                "25\n",
                "1,000",
                "1_000",
                "1 000",
                "25,00",
                "0x19",
                "NaN",
                "Infinity",
                "٢٥",
                "２５",
                "25.0٠",
                "25\x00",
                "$25",
                "25 USD",
            )
        ),
        *((text, "amount_out_of_range") for text in ("0", "0.00", "0.09", "1000000.01", "1000001", "999999999999999")),
    ],
)
def test_other_amounts_are_refused(tester: ApiClient, amount: Any, code: str) -> None:
    assert tester.create(amount=amount).refusal == (400, code, "amount")
    assert not Checkout.objects.exists()


@pytest.mark.parametrize("field", ["amount", "currency"])
def test_required_fields_are_required(tester: ApiClient, field: str) -> None:
    body = {"amount": "25.00", "currency": "USD"}
    del body[field]
    answer = tester.post("/checkouts", body)
    assert answer.refusal == (400, "parameter_missing", field)


@pytest.mark.parametrize("currency", ["EUR", "usd", "USD ", "", "USDC", 840, ["USD"], True])
def test_only_usd_is_supported(tester: ApiClient, currency: Any) -> None:
    answer = tester.create(currency=currency)
    assert answer.refusal == (400, "currency_unsupported", "currency")


@pytest.mark.parametrize(
    "field",
    [
        "description",
        "metadata",
        "customer_email",
        "redirect_url",
        "webhook_url",
        "expires_in",
        "customer_ref",
        "product_ref",
        "order_ref",
        "test_scenario",
    ],
)
def test_null_means_not_given(tester: ApiClient, field: str) -> None:
    plain, with_null = tester.created(), tester.created(**{field: None})
    same = {"description", "metadata", "references", "amount", "status"}
    assert {name: with_null[name] for name in same} == {name: plain[name] for name in same}


def test_unknown_fields_are_ignored(tester: ApiClient) -> None:
    body = tester.created(id="chk_test_mine", status="completed", livemode=True, nope=[1])
    assert body["id"] != "chk_test_mine"
    assert (body["status"], body["livemode"]) == ("pending", False)
    assert "nope" not in body


@pytest.mark.parametrize("field", ["description", "customer_ref", "product_ref", "order_ref"])
def test_texts_may_be_as_long_as_promised_and_no_longer(tester: ApiClient, field: str) -> None:
    longest = 256 if field == "description" else 128
    body = tester.created(**{field: "é" * longest})
    shown = body[field] if field == "description" else body["references"][field]
    assert shown == "é" * longest
    answer = tester.create(**{field: "é" * (longest + 1)})
    assert answer.refusal == (400, "parameter_too_long", field)


@pytest.mark.parametrize(
    "field",
    ["description", "customer_email", "redirect_url", "webhook_url", "customer_ref", "product_ref", "order_ref"],
)
@pytest.mark.parametrize("value", NOT_STRINGS)
def test_texts_are_strings(tester: ApiClient, field: str, value: Any) -> None:
    assert tester.create(**{field: value}).refusal == (400, INVALID, field)


@pytest.mark.parametrize("field", ["description", "customer_ref", "order_ref"])
@pytest.mark.parametrize("text", [r"\u0000", r"a\ud800"])
def test_what_the_database_cannot_keep_is_refused(tester: ApiClient, field: str, text: str) -> None:
    body = f'{{"amount":"25","currency":"USD","{field}":"{text}"}}'.encode()
    assert tester.post("/checkouts", body).refusal == (400, INVALID, field)


@pytest.mark.parametrize("seconds", [300, 301, 1800, 86399, 86400])
def test_a_lifetime_within_the_bounds_is_kept(tester: ApiClient, seconds: int) -> None:
    checkout_id = tester.created(expires_in=seconds)["id"]
    checkout = Checkout.objects.get(public_id=checkout_id)
    assert (checkout.expires_at - checkout.created_at).total_seconds() == seconds


@pytest.mark.parametrize("seconds", [299, 86401, 0, -1, 10**9, 10**17, 10**40, -(10**40)])
def test_a_lifetime_out_of_bounds_is_refused(tester: ApiClient, seconds: int) -> None:
    answer = tester.create(expires_in=seconds)
    assert answer.refusal == (400, "expires_in_out_of_range", "expires_in")


@pytest.mark.parametrize("value", ["1800", 1800.5, True, [], {}, ""])
def test_a_lifetime_is_a_whole_number(tester: ApiClient, value: Any) -> None:
    assert tester.create(expires_in=value).refusal == (400, INVALID, "expires_in")


@pytest.mark.parametrize("scenario", ["Completed", "", "refunded", 1, True, [], {}])
def test_an_unknown_scenario_is_refused(tester: ApiClient, scenario: Any) -> None:
    assert tester.create(test_scenario=scenario).refusal == (400, INVALID, "test_scenario")


@pytest.mark.parametrize("address", ["buyer", "@", "a@", "a b@example.test", "a@b\n", "x" * 300])
def test_no_address_of_a_buyer_is_a_reason_to_refuse_a_payment(tester: ApiClient, address: str) -> None:
    answer = tester.create(customer_email=address)
    assert answer.status == 201
    assert [notice["param"] for notice in answer.body["notices"]] == ["customer_email"]
    assert Checkout.objects.get().customer_email == ""


@pytest.mark.parametrize("field", ["redirect_url", "webhook_url"])
@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.test",
        "https://shop.example.test:8443/thanks?order=1#top",
        "HTTPS://SHOP.EXAMPLE.TEST/",
        "https://shop.example.test/" + "a" * 2000,
        "https://münchen.example.test/",
        "http://shop.example.test/",
    ],
)
def test_http_urls_are_taken(tester: ApiClient, field: str, url: str) -> None:
    checkout_id = tester.created(**{field: url})["id"]
    assert getattr(Checkout.objects.get(public_id=checkout_id), field) == url


@pytest.mark.parametrize("field", ["redirect_url", "webhook_url"])
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("shop.example.test", "url_invalid"),
        ("/thanks", "url_invalid"),
        ("//shop.example.test/", "url_invalid"),
        ("javascript:alert(1)", "url_invalid"),
        ("JavaScript://shop.example.test/%0aalert(1)", "url_invalid"),
        ("data:text/html,x", "url_invalid"),
        ("ftp://shop.example.test/", "url_invalid"),
        ("https://", "url_invalid"),
        ("https:///path", "url_invalid"),
        ("https://shop.example.test:99999/", "url_invalid"),
        ("https://shop.example.test:x/", "url_invalid"),
        ("https://[::1/", "url_invalid"),
        ("https://shop .example.test/", "url_invalid"),
        ("https://shop.example.test/\n", "url_invalid"),
        ("https://shop.example.test/\u202e", "url_invalid"),
        ("https://user@shop.example.test/", "url_forbidden"),
        ("https://user:word@shop.example.test/", "url_forbidden"),
        ("https://@shop.example.test/", "url_forbidden"),
        ("https://shop.example.test/" + "a" * 2048, "parameter_too_long"),
    ],
)
def test_other_urls_are_refused(tester: ApiClient, field: str, url: str, code: str) -> None:
    assert tester.create(**{field: url}).refusal == (400, code, field)


@pytest.mark.parametrize("field", ["redirect_url", "webhook_url"])
def test_production_takes_https_only(tester: ApiClient, field: str, settings: Any) -> None:
    settings.PRODUCTION = True
    answer = tester.create(**{field: "http://shop.example.test/"})
    assert answer.refusal == (400, "url_forbidden", field)
    assert tester.create(**{field: "https://shop.example.test/"}).status == 201


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[fe80::1]",
        "[fd00::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ],
)
def test_webhooks_to_inner_addresses_are_refused_and_redirects_are_the_buyers_matter(
    tester: ApiClient, host: str, settings: Any
) -> None:
    settings.WEBHOOK_ALLOW_LOOPBACK = False
    url = f"https://{host}/hook"
    answer = tester.create(webhook_url=url)
    assert answer.refusal == (400, "url_forbidden", "webhook_url")
    assert tester.create(redirect_url=url).status == 201


def test_development_may_allow_loopback_and_nothing_else(tester: ApiClient, settings: Any) -> None:
    settings.WEBHOOK_ALLOW_LOOPBACK = True
    assert tester.create(webhook_url="http://127.0.0.1:9/hook").status == 201
    assert tester.create(webhook_url="http://10.0.0.1/hook").code == "url_forbidden"
