"""What a colour does to a merchant's pages, before it is saved."""

import pytest

from accounts.brand.preview import preview_notes, preview_stylesheet


@pytest.mark.parametrize("accent", ["", "blue", "#12345"])
def test_what_is_no_colour_draws_nothing(accent: str) -> None:
    assert preview_stylesheet(accent) == ""


def test_a_colour_is_drawn_in_both_themes() -> None:
    drawn = preview_stylesheet("#2440d8")
    assert ".preview--light{" in drawn
    assert ".preview--dark{" in drawn


def test_words_say_which_letters_buttons_get() -> None:
    assert "white text" in preview_notes("#2440d8")[0]
    assert "dark text" in preview_notes("#ffe94d")[0]


def test_words_say_what_is_moved_so_that_it_can_be_read() -> None:
    assert any("links are drawn darker" in note for note in preview_notes("#ffe94d"))
    assert any("links are drawn lighter" in note for note in preview_notes("#00004d"))


def test_without_a_colour_words_say_whose_is_drawn() -> None:
    [unset], [unreadable] = preview_notes(""), preview_notes("blue")
    assert unset.endswith("your pages use ours.")
    assert "#2440d8" in unreadable
