"""Beat's application has the timetable, and imports neither models nor tasks."""

import subprocess
import sys

from gateway.beat import app
from gateway.processes.timetable import TIMETABLE

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
