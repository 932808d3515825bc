"""The description of reports names what they can be narrowed by."""

from gateway.core.api.pagination import FORMATS
from reports.schemas import SUMMARY_PARAMETERS, TRANSACTION_PARAMETERS


def test_whatever_narrows_a_summary_narrows_its_lines() -> None:
    names = [parameter.name for parameter in TRANSACTION_PARAMETERS]
    assert names[: len(SUMMARY_PARAMETERS)] == [one.name for one in SUMMARY_PARAMETERS]
    assert len(set(names)) == len(names)


def test_each_format_is_described() -> None:
    [format_] = [one for one in TRANSACTION_PARAMETERS if one.name == "format"]
    assert format_.enum == list(FORMATS)
