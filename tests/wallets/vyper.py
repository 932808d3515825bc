"""The mark of tests that compile contracts."""

import sys

import pytest

needs_vyper = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="a part of vyper has no wheel for Python 3.14; earlier ones compile"
)
