"""What a path of the dashboard may say."""

import re

import pytest

from accounts.dashboard.converters import MerchantConverter, ModeConverter
from accounts.states import Mode
from tests.factories import make_merchant


@pytest.mark.django_db
def test_a_merchants_id_is_one() -> None:
    assert re.fullmatch(MerchantConverter.regex, make_merchant().public_id)


@pytest.mark.parametrize("text", ["mer_", "mer_" + "0" * 25, "mer_" + "i" * 26, "usr_" + "0" * 26])
def test_other_text_is_none(text: str) -> None:
    assert re.fullmatch(MerchantConverter.regex, text) is None


def test_a_mode_is_read_and_written_as_paths_spell_it() -> None:
    converter = ModeConverter()
    assert re.fullmatch(converter.regex, "demo") is None
    assert converter.to_python("test") is Mode.TEST
    assert converter.to_url(Mode.LIVE) == "live"
