"""What a printed sign says, and in which languages."""

import pytest
from django.conf import settings
from django.utils import translation

from checkouts.till.paper import MOST_LANGUAGES, PAPERS, asked_guides, asked_paper
from tests.tree import ROOT


def test_a_sign_is_in_the_installations_language_unless_others_are_chosen() -> None:
    for asked in ([], ["xx"], ["", "../de"]):
        [guide] = asked_guides(asked)["guides"]
        assert (guide.language, guide.direction) == ("en", "ltr")
        assert guide.steps[1] == "Type the amount that you were told"


def test_a_fixed_price_is_not_typed() -> None:
    [guide] = asked_guides([], has_price=True)["guides"]
    assert guide.steps[1] == "Choose your network"


def test_each_language_once_and_no_more_than_fit() -> None:
    found = asked_guides(["ar", "de", "ar", "fa", "ja"])
    assert [(guide.language, guide.direction) for guide in found["guides"]] == [
        ("ar", "rtl"),
        ("de", "ltr"),
        ("fa", "rtl"),
    ]
    assert len(found["guides"]) == MOST_LANGUAGES
    assert [code for code, _, is_chosen in found["languages"] if is_chosen] == ["de", "ar", "fa"]


def test_a_sign_is_of_a_known_size() -> None:
    for asked in ("", "a4", "a6", "A5", "../a5"):
        assert asked_paper(asked) == {"paper": "a6", "papers": [("a6", "A6", True), ("a5", "A5", False)]}
    assert asked_paper("a5")["paper"] == "a5"


def test_each_size_has_its_page_in_the_style_sheet() -> None:
    style = (ROOT / "static" / "css" / "dashboard" / "terminals.css").read_text()
    assert all(f".sign--{size} {{" in style and f"@page sign-{size} {{" in style for size in PAPERS)


@pytest.mark.parametrize("code", [code for code, _ in settings.LANGUAGES if code != "en"])
def test_the_steps_are_translated_and_the_page_stays_in_its_own_language(code: str) -> None:
    [english] = asked_guides([])["guides"]
    [guide] = asked_guides([code])["guides"]
    assert len(guide.steps) == 3
    assert not set(guide.steps) & set(english.steps)
    assert translation.get_language() == "en"
