"""The operator's sidebar."""

import pytest

from gateway.operator.areas import areas_at, title_at


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/operator/health/", "Health"),
        ("/operator/accounts/merchant/", "Merchants"),
        ("/operator/accounts/merchant/7/change/", "Merchants"),
        ("/operator/accounts/user/", "People"),
        ("/operator/accounts/auditentry/?q=a", "Audit log"),
    ],
)
def test_a_page_belongs_to_one_area_and_has_its_name(path: str, title: str) -> None:
    assert title_at(path) == title


def test_the_index_belongs_to_none() -> None:
    areas = areas_at("/operator/")
    assert not any(area["is_here"] for area in areas)
    urls = [area["url"] for area in areas]
    assert len(set(urls)) == len(urls)
