"""The page at the root."""

import pytest

from tests.factories import LOCAL_NODES, make_live_chain

pytestmark = pytest.mark.django_db


def test_the_root_says_what_this_is_and_which_chains_are_read(client, settings):
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_live_chain("base")
    response = client.get("/")
    text = response.content.decode()
    assert response.status_code == 200
    assert "Florin is running" in text
    assert "Base" in text
    for address in ("/account/login/", "/docs/", "/status"):
        assert f'href="{address}"' in text


def test_without_chains_it_says_what_works(client, settings):
    settings.CHAIN_SETTINGS = {}
    assert "test keys work" in client.get("/").content.decode()
