"""The parts of MPP without a shop: settings, what is read of a challenge, and the hash that binds signatures."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from florin_x402 import Asked, SettingsError
from florin_x402.errors import RefusedError
from florin_x402.mpp.challenges import Challenges
from florin_x402.mpp.nonces import keccak256
from standin import StandIn
from test_mpp import MPP, SECRET


@settings(deadline=None)
@given(
    st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner), max_leaves=8)
)
def test_no_object_breaks_the_reader_of_challenges(told: Any) -> None:
    issuer = Challenges([SECRET], origin="https://shop.example")
    asked = Asked("GET", ("/report",), "https://shop.example/report")
    with pytest.raises(RefusedError):
        issuer.recognised(told if isinstance(told, dict) else {"id": told, "realm": told}, asked)


@pytest.mark.parametrize(
    "fields",
    [
        {"mpp_secrets": [SECRET]},
        {"mpp_secrets": SECRET, "base_url": "https://shop.example"},
        {"mpp_secrets": ["short"], "base_url": "https://shop.example"},
        {"mpp_secrets": [SECRET, 7], "base_url": "https://shop.example"},
        {"mpp_secrets": [SECRET], "base_url": "http://shop.example"},
        {"mpp_secrets": [SECRET], "base_url": "https://me:word@shop.example"},
        {"mpp_secrets": [SECRET], "base_url": "shop.example"},
        {"mpp_secrets": [SECRET], "base_url": 'https://shop".example'},
        {"mpp_secrets": [SECRET], "base_url": "https://läden.example"},
    ],
)
def test_settings_that_would_be_unsafe_are_refused(facilitator: StandIn, fields: dict[str, Any]) -> None:
    with pytest.raises(SettingsError) as caught:
        facilitator.config({"/report": "0.01"}, **fields)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(facilitator.config({"/report": "0.01"}, **MPP))


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
        ("abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"),
        ("transfer(address,uint256)", "a9059cbb2ab09eb219583f4a59a5d0623ade346d962bcd4e46b11da047c9049b"),
    ],
)
def test_keccak_has_ethereums_known_answers(text: str, digest: str) -> None:
    assert keccak256(text.encode()).hex() == digest
