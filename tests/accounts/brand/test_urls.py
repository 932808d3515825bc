"""How style sheets and logos of brands are addressed."""

import pytest

from tests.routes import MERCHANT, assert_leads_to

PATHS = {
    f"/brand/{MERCHANT}/0123456789abcdef.css": "brand-stylesheet",
    f"/brand/{MERCHANT}/0123456789abcdef0123456789abcdef.png": "brand-logo",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_each_address_leads_to_its_page_and_no_other(path: str, name: str) -> None:
    assert_leads_to(path, name)
