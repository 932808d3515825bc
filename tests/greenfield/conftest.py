"""Plugins for the tests of the facade."""

import pytest

from tests.greenfield.plugin import Plugin, make_live_plugin, make_plugin


@pytest.fixture
def woo(db: None) -> Plugin:
    """WooCommerce's plugin in test mode."""
    return make_plugin()


@pytest.fixture
def live_woo(local_nodes: None, db: None) -> Plugin:
    """WooCommerce's plugin in live mode, of a store that takes money on Base and Polygon."""
    return make_live_plugin()
