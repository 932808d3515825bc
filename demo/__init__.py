"""The demonstration: a merchant, a shop that sells to you, chains to pay on, and what machines pay for."""

import sys
from pathlib import Path

# The client packages are used as they lie in this repository; a merchant installs them.
sys.path.append(str(Path(__file__).resolve().parents[1] / "clients/python/src"))
