"""The routes of the API and of the dashboard do not stand in each other's way."""

import re

from django.urls import resolve

from accounts.states import Mode
from tests.routes import sample_of, written_routes

HERE = {"mer_id": "mer_" + "0" * 26, "mode": Mode.LIVE}


def test_each_address_leads_to_its_own_view_whatever_routes_stand_before_it() -> None:
    routes = [route for route in written_routes() if route.path.startswith(("api/v1/", "dashboard/"))]
    assert len(routes) > 100
    for path, pattern, converters in routes:
        address = "/" + path
        for name, converter in converters.items():
            address = re.sub(rf"<\w+:{name}>", str(HERE.get(name) or sample_of(converter)), address)
        found = resolve(address)
        assert found.func is pattern.callback, f"{address} leads to {found.view_name}"
