"""What the published code of tokens, wallets and routers is taken for.

The code comes from npm packages with their own licences, for tests only: canonical-weth (GPL-3.0), @safe-global/safe-contracts
(LGPL-3.0), @account-abstraction/contracts (MIT). None of it is in this repository.
"""

from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from localnet.abi import encode_arguments
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.permit2 import MULTICALL3, PERMIT2, lay_multicall, lay_permit2
from localnet.tokens import execute
from tests.tree import ROOT
from tests.wallets.receiving.test_inspection import look, refusal
from wallets.forwarders.addresses import checksum

pytestmark = pytest.mark.django_db

WETH = Path("canonical-weth/build/contracts/WETH9.json")
SAFE = Path("@safe-global/safe-contracts/build/artifacts/contracts")
ERC_4337 = Path("@account-abstraction/contracts/artifacts")
NOBODY = "0x" + "00" * 20
NO_WALLET = "does not answer as a wallet"


def deploy(node: Anvil, artifact: Path, *address: str) -> str:
    """Deploy a package's contract, which takes at most an address; return where it is."""
    path = ROOT / "node_modules" / artifact
    assert path.is_file(), f"no {path}: run script/test once, or npm install"
    code: str = orjson.loads(path.read_bytes())["bytecode"]
    data = code + encode_arguments(["address"] * len(address), *address).hex()
    sent = {"from": payer(node).address, "data": data, "gas": hex(12_000_000)}
    receipt = node.receipt(node.rpc("eth_sendTransaction", sent))
    assert receipt["status"] == "0x1"
    return checksum(bytes.fromhex(receipt["contractAddress"][2:]))


def set_up(node: Anvil, safe: str, handler: str) -> None:
    """Give a Safe two owners, who must both sign."""
    owners = [account.address for account in node.accounts[:2]]
    setup = "setup(address[],uint256,address,bytes,address,address,uint256,address)"
    execute(node, payer(node), safe, setup, owners, 2, NOBODY, b"", handler, NOBODY, 0, NOBODY)


def test_real_contracts_are_wallets_only_once_somebody_owns_them(base_node: Anvil, settings: Any) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    make = partial(deploy, base_node)
    for token in (make(WETH), make(SAFE / "test/ERC20Token.sol/ERC20Token.json")):
        assert "token contract" in refusal("base", token)
    singleton = make(SAFE / "SafeL2.sol/SafeL2.json")
    handler = make(SAFE / "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json")
    factory = make(SAFE / "proxies/SafeProxyFactory.sol/SafeProxyFactory.json")
    batches = make(SAFE / "libraries/MultiSend.sol/MultiSend.json")
    entry_point = make(ERC_4337 / "EntryPoint.json")
    for contract in (singleton, handler, factory, batches, entry_point):
        assert NO_WALLET in refusal("base", contract)
    for fallback in (NOBODY, handler):
        safe = make(SAFE / "proxies/SafeProxy.sol/SafeProxy.json", singleton)
        assert NO_WALLET in refusal("base", safe)
        set_up(base_node, safe, fallback)
        assert look("base", safe).warning
    assert look("base", make(ERC_4337 / "SimpleAccount.json", entry_point)).warning


def test_contracts_that_only_pass_tokens_on_are_no_wallets(base_node: Anvil, settings: Any) -> None:
    """Permit2 and Multicall3 as published, at their own addresses."""
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    lay_permit2(base_node)
    lay_multicall(base_node)
    for contract in (PERMIT2, MULTICALL3):
        assert NO_WALLET in refusal("base", contract)
