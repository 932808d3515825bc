"""When each sweep runs."""

from datetime import timedelta

from celery import current_app

from gateway.processes.timetable import TIMETABLE
from tests.cases import case


def test_each_names_a_task_and_a_tick_that_nobody_took_ends_with_the_next() -> None:
    current_app.loader.import_default_modules()
    for name, entry in TIMETABLE.items():
        with case(name):
            assert entry["task"] in current_app.tasks
            schedule, options = entry["schedule"], entry["options"]
            assert isinstance(schedule, timedelta)
            assert isinstance(options, dict)
            assert options["expires"] == max(schedule.total_seconds(), 1)


def test_no_task_is_in_it_twice() -> None:
    assert len({entry["task"] for entry in TIMETABLE.values()}) == len(TIMETABLE)
