"""What a business may be called."""

import pytest

from accounts.team.forms import MerchantForm


@pytest.mark.parametrize("name", ["Halden\u202esretsaoR", "Hal\nden", "Hal\u200bden", "\u2066Halden", "Hal\x7f"])
def test_no_business_has_a_name_that_hides_something_from_its_buyers(name: str) -> None:
    assert not MerchantForm({"name": name}).is_valid()


@pytest.mark.parametrize("name", ["Halden Roasters", "क्‍षेत्र", "می‌خواهم", "متجر هالدن", "株式会社"])
def test_a_business_has_a_name_in_any_script(name: str) -> None:
    form = MerchantForm({"name": f" {name} "})
    assert form.is_valid()
    assert form.cleaned_data["name"] == name
