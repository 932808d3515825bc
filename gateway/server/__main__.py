"""`python -m gateway.server MODULE:NAME [OPTIONS]`: granian, with the application imported before it forks its workers.

The workers share what was imported, which takes less memory, and a worker that is replaced serves at once. They also share a
folder for their counters: a scrape asks one of them, and gets the sums of all.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from granian.cli import entrypoint

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def counters_folder() -> Iterator[None]:
    """Name a folder for counters in the environment, empty: the one that is named there, or a temporary one."""
    if named := os.environ.get(_VARIABLE):
        for left in Path(named).glob("*.db"):
            left.unlink()
        yield
    else:
        with TemporaryDirectory(prefix="florin-counters-") as folder:
            os.environ[_VARIABLE] = folder
            yield


if __name__ == "__main__":
    # Before the import: the counters look at it when they are made.
    with counters_folder():
        import_module(sys.argv[1].partition(":")[0])
        gc.collect()
        # A later collection would write to the objects, and so copy their pages.
        gc.freeze()
        entrypoint()  # type: ignore[no-untyped-call]  # granian has no types here
