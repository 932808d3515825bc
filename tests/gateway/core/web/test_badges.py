"""The tags of every template: a badge, a time in UTC, an icon that is there."""

import re
from datetime import UTC, datetime

import pytest
from django.template import Context, Template

from gateway.core.web.badges import Badge
from tests.tree import ROOT, relative, repository_files

WHEN = datetime(2026, 11, 20, 5, 30, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("{% badge paid %}", '<span class="badge badge--ok">Paid</span>'),
        ("{% badge named %}", '<span class="badge">&lt;b&gt;</span>'),
        ("{% time when %}", '<time datetime="2026-11-20T05:30:09+00:00">20 Nov 2026, 05:30</time>'),
        ('{% time when "j M" %}', '<time datetime="2026-11-20T05:30:09+00:00">20 Nov</time>'),
        ("{% moment when %}", '<time datetime="2026-11-20T05:30Z" data-local>20 November 2026, 05:30 UTC</time>'),
        (
            '{% icon "key" %}',
            '<svg class="icon" aria-hidden="true"><use href="/static/images/dashboard-icons.svg#key" /></svg>',
        ),
        (
            '{% buyers_icon name "small" %}',
            '<svg class="icon icon--small" aria-hidden="true"><use href="/static/images/icons.svg#clock" /></svg>',
        ),
    ],
)
def test_every_template_can_write_badges_times_and_icons(text: str, written: str) -> None:
    context = {"paid": Badge("Paid", "ok"), "named": Badge("<b>", ""), "when": WHEN, "name": "clock"}
    assert Template(text).render(Context(context)) == written


@pytest.mark.parametrize(("tag", "sprite"), [("icon", "dashboard-icons"), ("buyers_icon", "icons")])
def test_every_icon_that_a_template_names_is_in_its_picture(tag: str, sprite: str) -> None:
    drawn = set(re.findall(r'id="([^"]+)"', (ROOT / f"static/images/{sprite}.svg").read_text()))
    named = {
        (relative(path), name)
        for path in repository_files(".html")
        for name in re.findall(rf'{{% {tag} "([^"]+)"', path.read_text())
    }
    assert named
    assert {(path, name) for path, name in named if name not in drawn} == set()
