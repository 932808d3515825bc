"""A merchant's style sheet holds colours and nothing else."""

import re

import pytest

from accounts.brand.colours import DARK, LIGHT, is_colour
from accounts.brand.styles import stylesheet, stylesheet_version
from tests.tree import ROOT

SCHEMES = {"light": LIGHT, "dark": DARK}


NASTY = ["#ffff00", "#000000", "#ffffff", "#808080", "#ff0000", "#00ff00", "#0000ff"]


TOKEN = re.compile(r"--([a-z-]+): (#[0-9a-f]{6});")


def tokens() -> dict[str, dict[str, str]]:
    """The colours of florin.css, by scheme and name."""
    text = (ROOT / "static" / "css" / "florin.css").read_text()
    light, _, dark = text.partition("@media (prefers-color-scheme: dark)")
    day = dict(TOKEN.findall(light))
    return {"light": day, "dark": day | dict(TOKEN.findall(dark))}


TOKENS = tokens()


@pytest.mark.parametrize("name", SCHEMES)
def test_the_grounds_are_those_of_the_style_sheet(name: str) -> None:
    names = ("surface", "surface-raised", "ground", "ground-deep")
    assert SCHEMES[name].grounds == tuple(TOKENS[name][part] for part in names)


@pytest.mark.parametrize("accent", NASTY)
def test_the_style_sheet_holds_colours_of_six_digits_and_no_other_values(accent: str) -> None:
    values = re.findall(r"[{;]--[a-z-]+:([^;}]+)", stylesheet(accent))
    assert len(values) == 12
    assert all(map(is_colour, values))
    assert stylesheet(accent).count("{") == stylesheet(accent).count("}")


@pytest.mark.parametrize("text", ["#fff", "#FFFFFF", "red", "#ffffff;}", "#ffffff\n", "url(x)", "#12345g", " #ffffff"])
def test_nothing_but_a_colour_gets_into_a_style_sheet(text: str) -> None:
    assert not is_colour(text)
    with pytest.raises(ValueError, match="not a colour"):
        stylesheet(text)


def test_the_version_changes_with_the_colour_and_is_the_same_again() -> None:
    versions = {stylesheet_version(accent) for accent in ("", *NASTY)}
    assert len(versions) == 1 + len(NASTY)
    assert stylesheet_version("#ffff00") in versions
    assert all(re.fullmatch("[0-9a-f]{16}", version) for version in versions)


def test_without_a_colour_the_style_sheet_changes_none() -> None:
    assert "--brand" not in stylesheet("")
    assert ".merchant img" in stylesheet("")
