"""Beat's application has the timetable, and imports neither models nor tasks."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery

from gateway.beat import SteadyScheduler, app
from gateway.processes.timetable import TIMETABLE
from tests.factories import NOON

_IMPORTS = """
import sys
from gateway.beat import app
app.loader.init_worker()
app.finalize()
print(len(app.conf.beat_schedule), *(name for name in ("checkouts", "wallets", "django.db.models") if name in sys.modules))
"""


def test_beat_has_the_timetable():
    assert app.conf.beat_schedule == TIMETABLE
    assert app.conf.task_default_queue == "florin"


def test_beat_imports_neither_models_nor_tasks():
    done = subprocess.run([sys.executable, "-c", _IMPORTS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(TIMETABLE))]


def test_a_clock_that_is_set_back_keeps_no_task_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert app.conf.beat_scheduler == "gateway.beat:SteadyScheduler"
    clock = [NOON + timedelta(hours=2)]
    monkeypatch.setattr(Celery, "now", lambda _app: clock[0])
    monkeypatch.setattr(SteadyScheduler, "producer", None)
    sent: list[str] = []
    monkeypatch.setattr(SteadyScheduler, "apply_entry", lambda _, entry, **__: sent.append(entry.name))
    made = Celery("of this test", fixups=(), set_as_current=False)
    made.conf.update(
        beat_schedule={"expire": {"task": "expire", "schedule": timedelta(seconds=2)}}, result_expires=None
    )
    scheduler = SteadyScheduler(app=made, schedule_filename=str(tmp_path / "beat"))
    try:
        clock[0] += timedelta(seconds=3)
        scheduler.tick()
        # The machine started with a wrong clock, and now a server told it the time.
        clock[0] = NOON
        scheduler.tick()
        clock[0] += timedelta(seconds=3)
        scheduler.tick()
    finally:
        scheduler.close()
    assert sent == ["expire", "expire"]
