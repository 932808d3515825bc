"""What a request to create a checkout may say, and how the rest is refused. Pure: no database, no settings."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts.creation.forms import notices_of, parse_choice, parse_create
from checkouts.inputs import NewCheckout, OptionChoice
from checkouts.states import TestScenario as Scenario
from gateway.core import json
from gateway.core.api.errors import InvalidRequestError
from gateway.core.currencies import DECIMALS, USD
from gateway.core.outbound import UrlPolicy

STRICT = UrlPolicy(https_only=True, loopback_allowed=False)
LENIENT = UrlPolicy(https_only=False, loopback_allowed=True)
LEAST = {"amount": "25", "currency": "USD"}
TEXTS = ("description", "customer_email", "redirect_url", "webhook_url", "customer_ref", "product_ref", "order_ref")
OPTIONAL = (*TEXTS, "metadata", "expires_in", "test_scenario", "escrow")


def read(policy: UrlPolicy = STRICT, /, **fields: Any) -> NewCheckout:
    return parse_create(LEAST | fields, policy)


def refusal(policy: UrlPolicy = STRICT, /, **fields: Any) -> tuple[str | None, str | None]:
    with pytest.raises(InvalidRequestError) as caught:
        read(policy, **fields)
    return caught.value.param, caught.value.code


def test_the_least_request_gets_every_default() -> None:
    assert read() == NewCheckout(
        amount=Decimal("25.00"),
        currency="USD",
        description="",
        metadata="{}",
        customer_email="",
        redirect_url="",
        webhook_url="",
        expires_in=1800,
        customer_ref="",
        product_ref="",
        order_ref="",
        test_scenario=Scenario.COMPLETED,
    )


def test_the_fullest_request_is_read_whole() -> None:
    fields: dict[str, Any] = {
        "description": "Coffee",
        "metadata": {"b": 1, "a": [1]},
        "customer_email": "buyer@example.test",
        "redirect_url": "https://shop.example.test/thanks",
        "webhook_url": "https://shop.example.test/hook",
        "expires_in": 300,
        "customer_ref": "c",
        "product_ref": "p",
        "order_ref": "o",
        "test_scenario": "reorg",
    }
    found = read(**fields)
    assert found.metadata == '{"b":1,"a":[1]}'
    assert found.test_scenario is Scenario.REORG
    for name in set(fields) - {"metadata", "test_scenario"}:
        assert getattr(found, name) == fields[name]


@pytest.mark.parametrize("field", OPTIONAL)
def test_null_means_not_given(field: str) -> None:
    assert read(**{field: None}) == read()


@pytest.mark.parametrize("field", ["amount", "currency"])
def test_required_fields_are_required(field: str) -> None:
    assert refusal(**{field: None}) == (field, "parameter_missing")


@pytest.mark.parametrize(
    ("code", "values"),
    [
        ("amount_invalid", [True, False, [], {}, ["25"], {"a": 1}]),
        (
            "amount_invalid",
            ["", " ", "25.", ".5", "25.001", "25.000", "+25", "-25", "1e2", "1E2", " 25", "25 ", "25\n"],
        ),
        ("amount_invalid", ["1,000", "1_000", "1 000", "25,00", "0x19", "NaN", "Infinity", "$25", "25 USD", "25\x00"]),
        ("amount_invalid", ["٢٥", "２５", "25.0٠"]),
        ("amount_out_of_range", ["0", "0.00", "0.09", "1000000.01", "1000001", "999999999999999"]),
    ],
)
def test_other_amounts_are_refused(code: str, values: list[Any]) -> None:
    assert {refusal(amount=value) for value in values} == {("amount", code)}


def test_amounts_at_the_limits_are_taken() -> None:
    assert [str(read(amount=text).amount) for text in ("0.1", "999999.99", "1000000")] == [
        "0.10",
        "999999.99",
        "1000000.00",
    ]


@pytest.mark.parametrize("currency", ["EUR", "usd", "USD ", "", "USDC", 840, ["USD"], True])
def test_only_usd_is_supported(currency: Any) -> None:
    assert refusal(currency=currency) == ("currency", "currency_unsupported")


@pytest.mark.parametrize("field", TEXTS)
def test_texts_are_strings(field: str) -> None:
    for value in (1, 1.5, True, [], {}, ["a"], {"a": "b"}):
        assert refusal(**{field: value}) == (field, "parameter_invalid")


@pytest.mark.parametrize(
    ("field", "longest"), [("description", 256), ("customer_ref", 128), ("product_ref", 128), ("order_ref", 128)]
)
def test_texts_may_be_as_long_as_promised_and_no_longer(field: str, longest: int) -> None:
    assert getattr(read(**{field: "é" * longest}), field) == "é" * longest
    assert refusal(**{field: "é" * (longest + 1)}) == (field, "parameter_too_long")


@pytest.mark.parametrize(
    ("field", "values", "code"),
    [
        ("expires_in", [299, 86401, 0, -1, 10**9, 10**17, 10**40, -(10**40)], "expires_in_out_of_range"),
        ("expires_in", ["1800", 1800.5, True, [], {}, ""], "parameter_invalid"),
        ("test_scenario", ["Completed", "", "refunded", 1, True, [], {}], "parameter_invalid"),
        ("metadata", [[], "{}", 1, 1.5, True, "", [{}]], "parameter_invalid"),
        ("escrow", ["true", 1, 0, [], {}], "parameter_invalid"),
    ],
)
def test_other_values_are_refused(field: str, values: list[Any], code: str) -> None:
    assert [refusal(**{field: value}) for value in values] == [(field, code)] * len(values)


@pytest.mark.parametrize("seconds", [300, 301, 86399, 86400])
def test_a_lifetime_within_the_bounds_is_kept(seconds: int) -> None:
    assert read(expires_in=seconds).expires_in == seconds


@pytest.mark.parametrize("scenario", Scenario)
def test_every_scenario_can_be_asked_for(scenario: Scenario) -> None:
    assert read(test_scenario=scenario.value).test_scenario is scenario


@pytest.mark.parametrize("value", ["nonsense", 7, None, ["late"], {}, "\x00", ""])
def test_a_live_key_ignores_the_scenario(value: Any) -> None:
    found = parse_create(LEAST | {"test_scenario": value}, STRICT, is_test=False)
    assert found.test_scenario is Scenario.COMPLETED


@pytest.mark.parametrize("amount", ["1" + "0" * 15, "9" * 16 + ".99", "9" * 200_000])
def test_an_amount_of_any_number_of_digits_is_out_of_range(amount: str) -> None:
    assert refusal(amount=amount) == ("amount", "amount_out_of_range")
    assert read(amount="0" * 200_000 + "25").amount == 25


BLANKS = [" ", "\t\n", "\u00a0\u3000", "\u200b\ufeff", "\u2028", "\u2800\u3164", "\u202e"]


@pytest.mark.parametrize("blank", BLANKS)
def test_a_reference_of_blanks_names_nothing(blank: str) -> None:
    assert refusal(order_ref=blank) == ("order_ref", "parameter_invalid")
    assert read(customer_ref=blank, product_ref=blank).customer_ref == ""
    metadata = {"order_ref": blank, "order_id": 7, "user_id": blank}
    found = read(customer_ref=blank, metadata=metadata)
    assert (found.order_ref, found.customer_ref) == ("7", "")
    assert read(order_ref=f"a{blank}b").order_ref == f"a{blank}b"


@pytest.mark.parametrize("name", ["description", "order_ref", "customer_ref"])
@pytest.mark.parametrize("character", ["\x00", "\x01", "\x1b", "\x7f", "\x9b", "\ud800"])
def test_characters_that_no_text_has_get_their_own_message(name: str, character: str) -> None:
    said = "valid Unicode" if character == "\ud800" else rf"control characters \(U\+{ord(character):04X}\)"
    with pytest.raises(InvalidRequestError, match=said) as caught:
        parse_create(LEAST | {name: f"a{character}"}, STRICT)
    assert (caught.value.param, caught.value.code) == (name, "parameter_invalid")
    assert read(description="a\tb\r\nc\u2028\U0001f44b").description
    if character != "\ud800":
        assert read(metadata={name: f"a{character}"}).order_ref == ""


@pytest.mark.parametrize(
    "text",
    ["ada", "a@b", "@", "a\x00@b.test", "a@b.test\r\nBcc: c@d.test", "a b@c.test", "ü@" + "x" * 64 + ".test",
     "x" * 65 + "@example.test", "x@" + "y." * 130 + "test", "\ud800@b.test", "a\u2028@b.test", "a..b@c.test"],
)  # fmt: skip
def test_a_buyers_address_that_cannot_be_written_to_is_left_out_with_a_notice(text: str) -> None:
    body = LEAST | {"customer_email": text}
    found = parse_create(body, STRICT)
    assert found.customer_email == ""
    [notice] = notices_of(body, found)
    assert (notice["param"], notice["code"]) == ("customer_email", "email_unusable")


@pytest.mark.parametrize(
    "text", ["ürsula@köln.example", "用户@例子.广告", "δοκιμή@example.test", " a+b@c.test ", "\"a b\"@c.test", ""]
)  # fmt: skip
def test_other_addresses_are_kept_without_a_notice(text: str) -> None:
    body = LEAST | {"customer_email": text}
    assert parse_create(body, STRICT).customer_email == text.strip()
    assert notices_of(body, parse_create(body, STRICT)) == []


def test_amounts_are_equal_however_they_are_spelled() -> None:
    amounts = {read(amount=text).amount for text in ("25", "25.0", "25.00")}
    assert amounts == {Decimal(25)}
    assert all(amount.as_tuple().exponent == -2 for amount in amounts)


@pytest.mark.parametrize("spelled", [b"25", b"25.00", b"0", b"-1", b"1e2", b"1e300", b"9" * 41, b"9" * 5000, b"-0.0"])
def test_a_json_number_is_no_amount(spelled: bytes) -> None:
    amount = json.loads(b"[" + spelled + b"]")[0]
    assert refusal(amount=amount) == ("amount", "amount_not_string")


@pytest.mark.parametrize("spelled", [b"300.0", b"3e2", b"1800.5"])
def test_a_lifetime_with_a_fraction_or_exponent_is_not_a_whole_number(spelled: bytes) -> None:
    value = json.loads(b"[" + spelled + b"]")[0]
    assert refusal(expires_in=value) == ("expires_in", "parameter_invalid")


def test_an_integer_of_any_length_is_out_of_range_and_no_more() -> None:
    for spelled in (b"9" * 100, b"-" + b"9" * 100):
        value = json.loads(b"[" + spelled + b"]")[0]
        assert refusal(expires_in=value) == ("expires_in", "expires_in_out_of_range")


def test_metadata_keeps_numbers_as_they_were_spelled() -> None:
    text = b'{"z":1.10,"a":123456789012345678901234567890,"e":1E+2,"b":-0}'
    assert read(metadata=json.loads(text)).metadata.encode() == text


def test_metadata_is_measured_in_bytes() -> None:
    longest = {"a": "é" * 2044}
    assert len(read(metadata=longest).metadata.encode()) == 4096
    assert refusal(metadata={"a": "é" * 2044 + "x"}) == ("metadata", "metadata_too_large")


def test_a_lone_surrogate_in_metadata_is_refused() -> None:
    assert refusal(metadata={"a": "\ud800"}) == ("metadata", "parameter_invalid")


@pytest.mark.parametrize("field", ["redirect_url", "webhook_url"])
@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.test",
        "https://shop.example.test:8443/thanks?order=1#top",
        "HTTPS://SHOP.EXAMPLE.TEST/",
        "https://münchen.example.test/",
        "https://shop.example.test/" + "a" * 2000,
    ],
)
def test_https_urls_are_taken_as_they_were_written(field: str, url: str) -> None:
    assert getattr(read(**{field: url}), field) == url


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
def test_other_urls_are_refused(field: str, url: str, code: str) -> None:
    assert refusal(LENIENT, **{field: url}) == (field, code)


@pytest.mark.parametrize("field", ["redirect_url", "webhook_url"])
def test_production_takes_https_only(field: str) -> None:
    url = "http://shop.example.test/"
    assert refusal(**{field: url}) == (field, "url_forbidden")
    assert getattr(read(LENIENT, **{field: url}), field) == url


@pytest.mark.parametrize(
    "hosts",
    [
        ["127.0.0.1", "127.1", "127.0.0.1.", "2130706433", "0x7f.0.0.1", "0x7f000001", "0177.0.0.1", "0.0.0.0"],
        ["1２7.0.0.1", "127。0。0.1", "127．0｡0.1", "①0.0.0.1", "%31%32%37.0.0.1", "127%2e0%2e0%2e1"],
        [
            "10.0.0.1",
            "10.1",
            "172.16.0.1",
            "192.168.1.1",
            "192.168.0.257",
            "169.254.169.254",
            "100.64.0.1",
            "224.0.0.1",
        ],
        ["[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]"],
        ["[2002:7f00:1::]", "localhost", "localhost.", "LOCALHOST", "lｏcalhost", "me.localhost", "ip6-localhost"],
        ["localhost.localdomain", "printer.local", "metadata.google.internal", "nas.lan", "home.arpa", "nas.home.arpa"],
        ["intranet", "a..b", ".com", "shop.example..", "a" * 64 + ".example", "exa%00mple.com", "exa<mple.com"],
        ["shop.example:0", "shop.example:00", ".".join(["a" * 63] * 3 + ["b" * 59, "io"])],
    ],
)
def test_no_spelling_of_a_private_host_is_a_webhook_url(hosts: list[str]) -> None:
    refused = {host: refusal(webhook_url=f"https://{host}/hook") for host in hosts}
    assert refused == dict.fromkeys(hosts, ("webhook_url", "url_forbidden"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.0.0.1", "[::1]", "[fd00::1]"])
def test_where_the_buyers_browser_goes_is_the_buyers_matter(host: str) -> None:
    assert read(redirect_url=f"https://{host}/").redirect_url == f"https://{host}/"


@pytest.mark.parametrize(
    "host",
    [
        "8.8.8.8",
        "[2606:4700::1111]",
        "shop.example",
        "shop.example.:8443",
        "bücher.example",
        "local.example",
        "internal-hooks.example",
        "my_hooks.example",
        "mylan.example",
        "0x8.8.8.8",
        ".".join(["a" * 63] * 3 + ["b" * 58, "io"]),
    ],
)
def test_a_public_host_stays_a_webhook_url_as_it_was_written(host: str) -> None:
    url = f"https://{host}/hook"
    assert read(webhook_url=url).webhook_url == url


def test_development_may_name_its_own_machine_and_its_neighbours_and_nothing_else() -> None:
    for host in ("127.0.0.1:8001", "[::1]", "localhost", "me.localhost", "ip6-localhost", "0x7f.1", "receiver"):
        assert read(LENIENT, webhook_url=f"http://{host}/").webhook_url
    for host in ("nas.lan", "10.0.0.1", "169.254.169.254"):
        assert refusal(LENIENT, webhook_url=f"http://{host}/") == ("webhook_url", "url_forbidden")


def test_a_refusal_names_the_first_field_that_is_wrong() -> None:
    assert refusal(amount="x", currency="EUR", expires_in=1)[0] == "amount"
    assert refusal(currency="EUR", expires_in=1)[0] == "currency"


def test_a_choice_is_a_chain_and_a_token() -> None:
    choice = parse_choice({"chain": "base", "token": "USDC", "more": 1})
    assert choice == OptionChoice(chain="base", token="USDC")


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({}, "chain", "parameter_missing"),
        ({"chain": "base", "token": ""}, "token", "parameter_missing"),
        ({"chain": 1, "token": "USDC"}, "chain", "parameter_invalid"),
        ({"chain": "base", "token": "\x00"}, "token", "parameter_invalid"),
        ({"chain": "x" * 17, "token": "USDC"}, "chain", "parameter_too_long"),
    ],
)
def test_other_choices_are_refused(body: dict[str, Any], param: str, code: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_choice(body)
    assert (caught.value.param, caught.value.code) == (param, code)


OTHERS = sorted(DECIMALS.keys() - {USD})
# The specification's answer, word for word.
ONLY_USD = {
    "error": {
        "type": "invalid_request",
        "message": 'Only "USD" is supported.',
        "param": "currency",
        "code": "currency_unsupported",
    }
}


def refused_currency(value: Any) -> dict[str, Any]:
    with pytest.raises(InvalidRequestError) as caught:
        read(currency=value)
    return caught.value.body()


def test_without_the_setting_each_currency_that_it_could_name_is_refused_word_for_word() -> None:
    assert len(OTHERS) > 50
    assert [one for one in OTHERS if refused_currency(one) != ONLY_USD] == []


@given(st.from_regex(r"[A-Za-z]{3}", fullmatch=True) | st.text(max_size=8) | st.integers() | st.lists(st.text()))
def test_without_the_setting_whatever_is_no_usd_is_refused_word_for_word(value: Any) -> None:
    if value != USD:
        assert refused_currency(value) == ONLY_USD
