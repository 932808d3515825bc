"""Chain metadata of the API."""

import pytest
from django.test import Client
from django.utils import timezone

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


def test_a_chain_that_is_down_says_whether_it_contradicts_itself_or_does_not_answer(client: Client) -> None:
    make_cursor()
    make_cursor("polygon", halted_reason="a deep fork", halted_at=timezone.now())
    told = {one["chain"]: one for one in client.get("/api/v1/chains").json()["data"]}
    found = [(told[chain]["status"], told[chain]["reason"]) for chain in ("base", "polygon", "solana")]
    assert found == [("ok", None), ("down", "halted"), ("down", "unreachable")]
    assert told["polygon"]["disruption"]["heading"] == "Polygon contradicts what it told us."
    assert "No payment is lost" not in told["polygon"]["disruption"]["meaning"]
    assert "No payment is lost" in told["solana"]["disruption"]["meaning"]
