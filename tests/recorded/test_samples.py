"""Every sample says where it comes from, and the README beside it says the same."""

import re

import pytest

from tests.recorded.samples import FOLDER, names, sample

ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
ROWS = {row[1]: row for row in ROW.finditer((FOLDER / "README.md").read_text())}


def test_the_readme_lists_the_samples_and_no_others() -> None:
    assert sorted(ROWS) == names()


@pytest.mark.parametrize("name", names())
def test_the_readme_gives_a_samples_mark_source_and_test(name: str) -> None:
    told = sample(name)
    _, kind, source, read_by = ROWS[name].groups()
    assert (kind, source) == (told.kind, told.source)
    mentioned = re.findall(r"`(test_\w+\.py)`", read_by)
    assert mentioned or read_by.startswith("none:")
    stem = name.partition(".")[0]
    assert all(f'"{stem}' in (FOLDER / one).read_text() for one in mentioned)
