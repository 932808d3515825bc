"""The local chains and the machines' package are built and installed from the tree, and run where Florin is not."""

import re
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.clients.packages import CLIENTS, install_alone, run
from tests.tree import APPS, ROOT
from tests.x402.exact.environment import foreign_python

pytestmark = pytest.mark.slow

# Imports every module of a package, and prints where the package lies and which top packages came along.
IMPORT_ALL: Final = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(package.__path__[0])
print(*{name.partition(".")[0] for name in sys.modules})
"""


@pytest.mark.parametrize(
    ("source", "package"),
    [(ROOT / "localnet", "localnet"), (CLIENTS / "python", "florin_x402")],
    ids=["chains", "x402"],
)
def test_every_module_of_the_installed_package_is_imported_without_florin(
    source: Path, package: str, tmp_path: Path
) -> None:
    installed = install_alone(source, tmp_path, foreign_python("mcp"))
    told = run([sys.executable, "-B", "-c", IMPORT_ALL, package], tmp_path, {"PYTHONPATH": str(installed)})
    place, loaded = told.splitlines()
    assert Path(place) == installed / package
    assert set(loaded.split()) & {*APPS, "tests"} == set()


def test_the_installed_chains_do_what_their_readme_says(tmp_path: Path) -> None:
    installed = install_alone(ROOT / "localnet", tmp_path, foreign_python("mcp"))
    # npm's packages are found above the package, as beside a .venv.
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    examples = re.findall(r"^```python\n(.*?)^```", (ROOT / "localnet/README.md").read_text(), re.MULTILINE | re.DOTALL)
    evm, solana = examples[:2]
    run([sys.executable, "-B", "-c", evm + solana], tmp_path, {"PYTHONPATH": str(installed)})
