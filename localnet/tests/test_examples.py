"""The examples of the README run."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=["evm", "solana", "ton", "tron"])
def test_each_node_starts_and_is_paid_on_as_the_readme_says(code: str) -> None:
    exec(compile(code, str(README), "exec"), {})
