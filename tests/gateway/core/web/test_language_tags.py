"""Times and durations in their readers' languages."""

from datetime import UTC, datetime

import pytest
from django.utils import translation

from gateway.core.web.language_tags import duration, moment

WHEN = datetime(2026, 11, 20, 5, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("en", "20 November 2026, 05:30 UTC"),
        ("es", "20 de noviembre de 2026, 05:30 UTC"),
        ("de", "20. November 2026, 05:30 UTC"),
        ("ru", "20 ноября 2026 г., 05:30 UTC"),
        ("tr", "20 Kasım 2026, 05:30 UTC"),
        ("zh-hans", "2026年11月20日 05:30 UTC"),
        ("vi", "20 tháng 11, 2026, 05:30 UTC"),
        ("id", "20 November 2026, 05:30 UTC"),
    ],
)
def test_a_time_is_written_as_its_readers_write_it(code: str, written: str) -> None:
    with translation.override(code):
        assert moment(WHEN) == written


@pytest.mark.parametrize(
    ("seconds", "written"), [(1, "1\xa0s"), (119, "119\xa0s"), (120, "2\xa0min"), (181, "4\xa0min")]
)
def test_a_long_time_is_told_in_minutes(seconds: int, written: str) -> None:
    assert duration(seconds) == written
