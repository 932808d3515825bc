"""What stands in the dashboard's sidebar."""

from typing import Any

import pytest

from gateway.dashboard.navigation import GROUPS
from tests.dashboard.people import Desk
from tests.rates.playing import price_in


def test_no_page_is_listed_twice_and_no_name_is_used_twice() -> None:
    entries = [entry for group in GROUPS for entry in group.entries]
    for names in ([entry.route for entry in entries], [entry.label for entry in entries]):
        assert len(set(names)) == len(names)


@pytest.mark.django_db
def test_an_owner_sees_every_entry_and_each_leads_somewhere(owner: Desk, settings: Any) -> None:
    price_in(settings, "EUR")
    page = owner.get("dashboard_overview")
    for group in GROUPS:
        for entry in group.entries:
            url = owner.url(entry.route)
            assert f'href="{url}"' in page.text
            assert owner.client.get(url).status_code == 200, url
