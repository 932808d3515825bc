"""Whatever colour a merchant chooses, what is drawn in it can be read and seen, by day and by night."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accounts.brand.colours import DARK, LIGHT, READABLE, VISIBLE, Palette, Scheme, contrast, is_colour, palette
from accounts.brand.facts import stylesheet, stylesheet_version
from tests.tree import ROOT

SCHEMES = {"light": LIGHT, "dark": DARK}
TOKEN = re.compile(r"--([a-z-]+): (#[0-9a-f]{6});")
colours = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


def tokens() -> dict[str, dict[str, str]]:
    """The colours of florin.css, by scheme and name."""
    text = (ROOT / "static" / "css" / "florin.css").read_text()
    light, _, dark = text.partition("@media (prefers-color-scheme: dark)")
    day = dict(TOKEN.findall(light))
    return {"light": day, "dark": day | dict(TOKEN.findall(dark))}


TOKENS = tokens()


def mixed(one: str, other: str, share: float) -> str:
    """CSS's color-mix in srgb: so much of one, the rest of the other."""
    pairs = ((int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def drawn_pairs(name: str, drawn: Palette) -> Iterator[tuple[str, str, float]]:
    """Everything the style sheets draw with the accent: what on what, and the contrast it needs."""
    token = TOKENS[name]
    grounds = SCHEMES[name].grounds
    yield drawn.ink, drawn.fill, READABLE
    yield drawn.ink, drawn.hover, READABLE
    for ground in (*grounds, drawn.soft):
        yield drawn.text, ground, READABLE
    for ground in grounds:
        yield drawn.edge, ground, VISIBLE
    chosen_card = mixed(drawn.soft, token["surface"], 0.45)
    for words in ("ink", "ink-soft", "ink-faint", "warn"):
        yield token[words], chosen_card, READABLE
    yield token["ink"], drawn.soft, READABLE


@pytest.mark.parametrize("name", SCHEMES)
@settings(max_examples=200, deadline=None)
@given(accent=colours)
@example(accent="#ffff00")
@example(accent="#000000")
@example(accent="#ffffff")
def test_everything_drawn_keeps_its_contrast(name: str, accent: str) -> None:
    drawn = palette(accent, SCHEMES[name])
    short = [
        (what, ground, needed) for what, ground, needed in drawn_pairs(name, drawn) if contrast(what, ground) < needed
    ]
    assert short == []
    assert drawn.fill == accent
    assert drawn.hover != drawn.fill
    assert all(map(is_colour, (drawn.hover, drawn.ink, drawn.soft, drawn.text)))


def test_the_rule_sees_a_colour_that_is_drawn_as_it_was_chosen() -> None:
    plain = Palette(fill="#ffff00", hover="#ffff00", ink="#ffffff", soft="#ffff00", text="#ffff00", edge="#ffff00")
    short = [what for what, ground, needed in drawn_pairs("light", plain) if contrast(what, ground) < needed]
    assert len(short) > 10


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("#000000", "#ffffff", 21.0),
        ("#777777", "#ffffff", 4.48),
        ("#0000ff", "#ffffff", 8.59),
        ("#2440d8", "#2440d8", 1.0),
    ],
)
def test_contrast_is_what_the_guidelines_say(one: str, other: str, ratio: float) -> None:
    assert contrast(one, other) == pytest.approx(ratio, abs=0.005)
    assert contrast(other, one) == contrast(one, other)


def is_moved(accent: str, scheme: Scheme) -> bool:
    return palette(accent, scheme).text != accent


def test_a_colour_that_can_be_read_as_it_is_stays_what_it_is() -> None:
    assert not is_moved("#2440d8", LIGHT)
    assert is_moved("#2440d8", DARK)
    assert not is_moved("#ffff00", DARK)
    assert is_moved("#ffff00", LIGHT)


def test_a_button_that_would_be_lost_on_its_ground_gets_an_edge() -> None:
    assert palette("#2440d8", LIGHT).edge == "#2440d8"
    for accent, scheme in (("#ffff00", LIGHT), ("#ffffff", LIGHT), ("#000000", DARK)):
        drawn = palette(accent, scheme)
        assert drawn.edge == drawn.text != accent


# A merchant's style sheet holds colours and nothing else.


NASTY = ["#ffff00", "#000000", "#ffffff", "#808080", "#ff0000", "#00ff00", "#0000ff"]


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
