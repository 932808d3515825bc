"""Links offer every chain: each has a node, and a watcher that is well."""

import pytest


@pytest.fixture(autouse=True)
def _chains_are_well(chains_are_well: None) -> None:
    pass
