"""What query strings narrow lists of transfers by."""

import pytest

from gateway.core.api.errors import InvalidRequestError
from tests.factories import NOON
from wallets.states import Direction
from wallets.transfers.selectors import parse_chain, parse_direction, parse_span, parse_token


def test_what_is_not_named_leaves_nothing_out() -> None:
    assert parse_chain({}) == ""
    assert parse_token({}, known=["USDC"]) == ""
    assert parse_direction({}) is None
    assert parse_span({}) == (None, None)


def test_what_is_named_is_read() -> None:
    assert parse_chain({"chain": "base"}) == "base"
    assert parse_token({"token": "USDC"}, known=["USDC"]) == "USDC"
    assert parse_direction({"direction": "out"}) is Direction.OUT
    assert parse_span({"from": NOON.isoformat()})[0] == NOON


def test_a_chain_that_nobody_knows_is_refused_by_its_code() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_chain({"chain": "dogecoin"})
    assert (caught.value.param, caught.value.code) == ("chain", "chain_unsupported")


def test_a_token_that_the_list_does_not_know_is_refused_by_its_code() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_token({"token": "USDT"}, known=["USDC"])
    assert (caught.value.param, caught.value.code) == ("token", "token_unsupported")


def test_a_direction_is_in_or_out() -> None:
    with pytest.raises(InvalidRequestError, match="in or out"):
        parse_direction({"direction": "up"})


def test_a_span_does_not_end_before_it_begins() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_span({"from": "2026-11-21T00:00:00Z", "to": "2026-11-20T00:00:00Z"})
    assert caught.value.param == "to"
