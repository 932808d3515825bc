"""Each chain has the logo of its name; what has none gets a neutral one."""

import re

from tests.tree import ROOT
from wallets.chains.registry import CHAINS
from wallets.templatetags.logos import logo


def test_each_logo_is_a_view_of_the_sprite() -> None:
    sprite = (ROOT / "static/images/logos.svg").read_text()
    views = set(re.findall(r'<view id="([\w-]+)"', sprite))
    named = {facts.name: logo(facts.name) for facts in CHAINS}
    assert named == {facts.name: facts.name if facts.has_logo else "other" for facts in CHAINS}
    assert {*named.values(), logo("dogecoin")} <= views


def test_a_chain_without_a_view_is_shown_by_the_neutral_one() -> None:
    assert logo("dogecoin") == logo("") == "other"
