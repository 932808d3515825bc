"""`python -m gateway.server MODULE:NAME [OPTIONS]`: granian, with the application imported before it forks its workers.

The workers share what was imported, which takes less memory, and a worker that is replaced serves at once.
"""

import gc
import sys
from importlib import import_module

from granian.cli import entrypoint

if __name__ == "__main__":
    import_module(sys.argv[1].partition(":")[0])
    gc.collect()
    # A later collection would write to the objects, and so copy their pages.
    gc.freeze()
    entrypoint()  # type: ignore[no-untyped-call]  # granian has no types here
