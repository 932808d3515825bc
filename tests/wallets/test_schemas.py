"""The description of a chain has what is told of one."""

import pytest
from django.test import Client

from tests.factories import make_key, make_merchant
from wallets.schemas import Chain


@pytest.mark.django_db
def test_the_description_has_the_fields_of_a_chain() -> None:
    _, secret = make_key(make_merchant())
    answer = Client().get("/api/v1/chains", headers={"authorization": f"Bearer {secret}"})
    assert answer.status_code == 200
    assert {frozenset(chain) for chain in answer.json()["data"]} == {frozenset(Chain().fields)}
