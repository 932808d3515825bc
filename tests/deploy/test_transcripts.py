"""The transcripts of script/try-install show every step on both machines, and no secret."""

import re

import pytest

from tests.deploy.florinctl import florinctl
from tests.tree import ROOT

STEPS = (
    "florinctl install",
    "florinctl backup",
    "florinctl drill",
    "florinctl upgrade",
    "florinctl rollback",
    "florinctl restore",
    "florinctl manage after_restore",
    "florinctl check",
)


@pytest.mark.parametrize("way", florinctl.WAYS)
def test_a_transcript_shows_each_step_with_its_time(way: str) -> None:
    text = (ROOT / "deploy" / "transcripts" / f"{way}.md").read_text()
    typed = [line for line in text.splitlines() if line.startswith("# ")]
    assert [one for one in STEPS if not any(one in line for line in typed)] == []
    for step in ("install", "drill", "upgrade", "rollback", "restore"):
        assert re.search(rf"^\| {step} \| [\d.]+ s \|$", text, re.MULTILINE)
    assert re.search(r"Image of Florin: \d+ MB", text)
    assert "99.0.0" in text
    # What was written after the first backup came back.
    after = text.partition("manage after_restore")[2]
    assert "['Halden Roasters', 'Later']" in after


@pytest.mark.parametrize("way", florinctl.WAYS)
def test_a_transcript_has_no_key(way: str) -> None:
    text = (ROOT / "deploy" / "transcripts" / f"{way}.md").read_text()
    assert not re.search(r"(?:sk_live_|sk_test_|whsec_)[\w+/=-]{10}", text)
    assert "AGE-SECRET-KEY" not in text
