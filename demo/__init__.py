"""The demo: a merchant, a shop, local chains to pay on, and a report that machines buy."""

import sys
from pathlib import Path

# The tree's own distributions are imported from here, and others install them. Installed as a copy they would be stale after each
# change, and as editable they would name one tree in an environment that worktrees of a clone may share.
for _distribution in ("clients/python", "localnet"):
    sys.path.append(str(Path(__file__).resolve().parents[1] / _distribution / "src"))
