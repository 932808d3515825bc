"""Reading the query string of a list. Pure."""

from datetime import UTC, datetime

import pytest

from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.pagination import Page, list_body, parse_page, parse_text, parse_time

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_nothing_asked_is_the_first_twenty() -> None:
    assert parse_page({}) == Page(limit=20, offset=0, starting_after=None, include_total=True)


def test_everything_asked_is_read() -> None:
    query = {"limit": "100", "offset": "7", "starting_after": "chk_1", "include_total": "false"}
    assert parse_page(query) == Page(limit=100, offset=7, starting_after="chk_1", include_total=False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("limit", text) for text in ("0", "101", "-1", "٣", "1.0", " 1", "1_0")),
        *(("offset", text) for text in ("-1", "x", str(2**31), "9" * 5000)),
        *(("include_total", text) for text in ("True", "0", "no")),
        ("starting_after", "\x00"),
    ],
)
def test_what_is_out_of_range_is_named(name: str, text: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_page({name: text})
    assert (caught.value.param, caught.value.code) == (name, "parameter_invalid")


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-20T12:00:00Z",
        "2026-11-20T12:00:00",
        "2026-11-20T14:00:00+02:00",
        "2026-11-20T14:00:00 02:00",
        "2026-11-20T14:00:00+0200",
        "20261120T120000Z",
        "2026-11-20 12:00:00",
        "2026-11-20 12:00:00+00:00",
    ],
)
def test_times_are_read_as_utc(text: str) -> None:
    found = parse_time({"at": text}, "at")
    assert found == NOON
    assert found is not None
    assert found.tzinfo is UTC


def test_a_day_begins_at_midnight() -> None:
    midnight = NOON.replace(hour=0)
    assert parse_time({"at": "2026-11-20"}, "at") == midnight


@pytest.mark.parametrize("text", ["", None])
def test_no_time_is_none(text: str | None) -> None:
    query = {} if text is None else {"at": text}
    assert parse_time(query, "at") is None


@pytest.mark.parametrize(
    "text",
    [
        "now",
        "1763640000",
        "2026-11-20T12:00:00ZZ",
        "2026-11-20T24:01:00Z",
        "2026-02-30",
        "0000-01-01",
        "10000-01-01",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "2026-11-20T12:00:00Z\x00",
        "٢٠٢٦-11-20",
    ],
)
def test_what_is_no_time_is_named(text: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_time({"at": text}, "at")
    assert caught.value.param == "at"


def test_a_text_is_itself_or_none_and_never_holds_a_nul() -> None:
    assert parse_text({"a": "x"}, "a") == "x"
    assert parse_text({"a": ""}, "a") is None
    assert parse_text({}, "a") is None
    with pytest.raises(InvalidRequestError):
        parse_text({"a": "x\x00"}, "a")


@pytest.mark.parametrize("total", [0, 5, None])
def test_the_envelope_has_a_total_only_if_it_was_counted(total: int | None) -> None:
    body = list_body([1], parse_page({"limit": "3", "offset": "2"}), total)
    wanted = {"data": [1], "limit": 3, "offset": 2}
    assert body == wanted if total is None else body == wanted | {"total": total}
