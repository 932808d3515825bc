"""The demo: a merchant, a shop, local chains to pay on, and a report that machines buy."""

import sys
from pathlib import Path

# The demo imports the client packages from this repository; a merchant installs them.
sys.path.append(str(Path(__file__).resolve().parents[1] / "clients/python/src"))
