"""Text that PostgreSQL cannot keep."""

import pytest

from gateway.core.api.fields import storable


@pytest.mark.parametrize(
    ("text", "can"), [("", True), ("é 🧋", True), ("\x00", False), ("a\udfff", False), ("\ue000", True)]
)
def test_postgresql_cannot_keep_nul_and_lone_surrogates(text: str, can: bool) -> None:
    assert storable(text) is can
