"""The settings of the demo's pages load in development only."""

import pytest

from tests.demo.debug.test_settings import NO_CODE, loaded


@pytest.mark.parametrize("kind", ["production", "Development"])
def test_they_do_not_load_in_production(kind: str) -> None:
    told = loaded("demo.front.settings", FLORIN_ENV=kind)
    assert told.returncode != 0
    assert NO_CODE in told.stderr.splitlines()[-1]
