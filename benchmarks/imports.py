"""How long a process imports before it can work, with modules compiled before, as an installation has them."""

import os
import resource
import subprocess
import sys
import time
from typing import Final

from benchmarks import stack
from benchmarks.report import Claim, Report, Series

MOST_SECONDS: Final = 1.5
# What the entry points of the two kinds of process import before they begin, and Django alone as the control.
_IMPORTS: Final = {
    "web": "import gateway.rsgi",
    "worker": "import gateway.celery; gateway.celery.app.loader.import_default_modules()",
    "Django alone": "import django.core.wsgi, django.urls, django.template, django.db.models",
}
_COMPILED: Final = stack.HOME / "compiled"


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Import each, `rounds` times in turn; `seconds` changes nothing."""
    del seconds
    passed = {name: Series(f"{name}, passed", "s") for name in _IMPORTS}
    worked = {name: Series(f"{name}, worked", "s") for name in _IMPORTS}
    for code in _IMPORTS.values():
        # Compiles the modules, and reads them from disk once.
        _import(code)
    for _ in range(rounds):
        for name, code in _IMPORTS.items():
            took, used = _import(code)
            passed[name].rounds.append(took)
            worked[name].rounds.append(used)
    claims = [Claim(f"{name}, s", passed[name].median, MOST_SECONDS, at_most=True) for name in ("web", "worker")]
    series = [one for name in _IMPORTS for one in (passed[name], worked[name])]
    return [Report("imports", series, claims)]


def _import(code: str) -> tuple[float, float]:
    """Import in a new process; return the seconds that passed, and those of processor time."""
    environment = dict(os.environ) | {
        "DJANGO_SETTINGS_MODULE": "gateway.settings",
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing",
        "FLORIN_ENV": "development",
        "PYTHONPYCACHEPREFIX": str(_COMPILED),
        "REDIS_URL": "redis://127.0.0.1:9/0",
    }
    # Somebody who measures may have told Python not to keep what it compiled.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-c", code], cwd=stack.ROOT, env=environment, check=True)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, used
