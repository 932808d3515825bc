"""Pieces that every route's description shares."""

from rest_framework import serializers as s

from gateway.core.api.openapi import PAGE_PARAMETERS, errors, listed, paginated
from gateway.core.api.pagination import MAX_LIMIT, parse_page


class Thing(s.Serializer[None]):
    """Something that is listed."""

    id = s.CharField()


def test_a_route_that_reads_a_body_may_get_none_in_time_or_have_no_room() -> None:
    assert list(errors(413)) == [408, 413, 503]


def test_a_route_that_needs_a_key_may_refuse_what_the_key_may_not_do() -> None:
    assert list(errors(404, 401)) == [401, 403, 404]


def test_a_page_has_its_rows_and_where_it_is() -> None:
    fields = paginated("ThingPage", Thing).fields
    assert set(fields) == {"data", "total", "limit", "offset"}
    assert not fields["total"].required
    assert isinstance(fields["data"], s.ListSerializer)
    assert set(listed("Things", Thing, wallet=s.CharField()).fields) == {"data", "wallet"}


def test_the_bounds_that_are_described_are_those_that_are_kept() -> None:
    [limit] = [one for one in PAGE_PARAMETERS if one.name == "limit"]
    assert isinstance(limit.type, dict)
    assert limit.type["maximum"] == MAX_LIMIT
    assert parse_page({"limit": str(limit.type["maximum"])}).limit == MAX_LIMIT
    assert parse_page({}).limit == limit.type["default"]
