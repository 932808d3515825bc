"""`script/record-chain` writes what a node answers, and none of our keys."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from localnet import tokens
from localnet.anvil import Anvil
from localnet.funding import payer
from tests.nodes.proxy import RpcProxy, limits_rate
from tests.recorded.stages import NOBODYS_HASH
from tests.tree import ROOT

KEY = "sup3rsecretkey"
BUYER = "0x" + "5a" * 20


def run(url: str, folder: Path, *named: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    environment = os.environ | {"CHAIN_NETWORK": "local", "CHAIN_BASE_TOKEN_USDC": tokens.token_address("USDC")}
    script = str(ROOT / "script/record-chain")
    command = [script, "base", url, *named, "--to", str(folder)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    files = sorted(folder.glob("*.json"))
    return ended, [json.loads(path.read_text()) for path in files]


def test_the_answers_of_a_node_are_recorded_without_its_key(base_node: Anvil, tmp_path: Path) -> None:
    usdc = tokens.token_address("USDC")
    # The script reads the four newest blocks: what prepared the chain is below them.
    base_node.mine(4)
    tx_hash = tokens.transfer(base_node, payer(base_node), usdc, BUYER, 25)
    with RpcProxy(base_node.url) as proxy:
        url = f"{proxy.url}/v2/{KEY}?token={KEY}"
        ended, told = run(url, tmp_path, NOBODYS_HASH)
    assert (ended.returncode, ended.stderr) == (0, "")
    asked = {one["request"]["name"] for one in told}
    assert asked >= {
        "eth_chainId",
        "eth_getBlockByNumber",
        "eth_getLogs",
        "eth_getTransactionReceipt",
        "eth_getTransactionByHash",
    }
    assert {one["kind"] for one in told} == {"recorded"}
    receipts = [one["response"]["result"] for one in told if one["request"]["name"] == "eth_getTransactionReceipt"]
    # One of the payment, and none of a transaction that nobody sent.
    assert {one and one["transactionHash"] for one in receipts} == {tx_hash, None}
    assert KEY not in json.dumps(told) + ended.stdout


def test_a_rate_limit_is_recorded_too(base_node: Anvil, tmp_path: Path) -> None:
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = limits_rate
        ended, told = run(proxy.url, tmp_path)
    assert ended.returncode == 0
    assert "limits our rate" in ended.stderr
    assert [one["response"] for one in told][:1] == ["Too Many Requests"]
    assert told[0]["notes"] == "HTTP status 429."


def test_a_node_that_is_not_there_gives_no_samples(tmp_path: Path) -> None:
    ended, told = run("http://127.0.0.1:9", tmp_path)
    assert (ended.returncode, told) == (1, [])
