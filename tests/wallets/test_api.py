"""Chain metadata of the API."""

import pytest
from django.test import Client

from tests.wallets.test_selectors import make_cursor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


def test_chain_metadata_needs_no_key_and_lists_six_chains_by_priority(client: Client) -> None:
    make_cursor()
    answer = client.get("/api/v1/chains", headers={"Authorization": "Bearer nonsense"})
    assert answer.status_code == 200
    data = answer.json()["data"]
    assert [one["chain"] for one in data] == ["base", "polygon", "solana", "ton", "tron", "ethereum"]
    assert data[0] == {
        "chain": "base",
        "name": "Base",
        "chainId": 8453,
        "tokens": ["USDC"],
        "tokenContracts": {"USDC": {"address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "decimals": 6}},
        "exactAmountRequired": False,
        "estimatedConfirmSec": 24,
        "confirmations": 12,
        "gasTier": "low",
        "priority": 0,
        "badge": "Recommended",
        "reason": None,
        "explorerTx": None,
        "status": "ok",
        "disruption": None,
    }
    assert data[1]["disruption"]["heading"] == "Polygon is not answering."
    assert data[1]["tokens"] == ["USDC", "USDT"]
    assert [one["status"] for one in data[1:]] == ["down"] * 5
    assert answer["X-RateLimit-Limit"] == "60"
