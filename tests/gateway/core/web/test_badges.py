"""The tags of lists: a badge, and a time in UTC."""

from datetime import UTC, datetime

import pytest
from django.template import Context, Template

from gateway.core.web.badges import Badge

WHEN = datetime(2026, 11, 20, 5, 30, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("{% badge paid %}", '<span class="badge badge--ok">Paid</span>'),
        ("{% badge named %}", '<span class="badge">&lt;b&gt;</span>'),
        ("{% time when %}", '<time datetime="2026-11-20T05:30:09+00:00">20 Nov 2026, 05:30</time>'),
        ('{% time when "j M" %}', '<time datetime="2026-11-20T05:30:09+00:00">20 Nov</time>'),
        ("{% moment when %}", '<time datetime="2026-11-20T05:30Z" data-local>20 November 2026, 05:30 UTC</time>'),
    ],
)
def test_every_template_can_write_badges_and_times(text: str, written: str) -> None:
    context = {"paid": Badge("Paid", "ok"), "named": Badge("<b>", ""), "when": WHEN}
    assert Template(text).render(Context(context)) == written
