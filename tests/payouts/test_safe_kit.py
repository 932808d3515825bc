"""A batch's file for a Safe is executed on a real chain by Safe's own kit, and the network calls its payouts paid."""

import json
import os
import subprocess
from datetime import timedelta
from functools import partial
from typing import Any, Final

import pytest
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of
from payouts.batches.service import Wanted, batch_order, make_batch
from payouts.following.service import follow_movements
from payouts.models import Payout
from payouts.states import Method, PayoutException, PayoutStatus
from tests.factories import make_merchant
from tests.payouts.factories import BUYER, OTHER_BUYER, approved, make_approver, make_payout
from tests.settlements.chain import USDC
from tests.tree import ROOT
from tests.wallets import paying
from tests.wallets.factories import read_all
from tests.wallets.paying import send_raw
from tests.wallets.receiving.test_real_contracts import SAFE, deploy, set_up
from wallets.models import ChainCursor
from wallets.watched.service import watch_wallet
from wallets.watchers.ingest import resume

pytestmark = pytest.mark.django_db

SECONDS: Final = 60
CONFIRMATIONS: Final = 6
OWNERS: Final = 2
# The names by which the kit knows Safe's contracts.
CONTRACTS: Final = {
    "safeSingletonAddress": "SafeL2.sol/SafeL2.json",
    "safeProxyFactoryAddress": "proxies/SafeProxyFactory.sol/SafeProxyFactory.json",
    "multiSendAddress": "libraries/MultiSend.sol/MultiSend.json",
    "multiSendCallOnlyAddress": "libraries/MultiSendCallOnly.sol/MultiSendCallOnly.json",
    "fallbackHandlerAddress": "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json",
    "signMessageLibAddress": "libraries/SignMessageLib.sol/SignMessageLib.json",
    "createCallAddress": "libraries/CreateCall.sol/CreateCall.json",
    "simulateTxAccessorAddress": "accessors/SimulateTxAccessor.sol/SimulateTxAccessor.json",
}


def executed(node: Anvil, safe: str, contracts: dict[str, str], file: str) -> dict[str, Any]:
    """What Safe's kit did with a file, signed by all owners."""
    given = {
        "RPC_URL": node.url,
        "SAFE": safe,
        "OWNER_KEYS": ",".join(account.key for account in node.accounts[:OWNERS]),
        "CONTRACTS": json.dumps(contracts),
    }
    command = ["node", str(ROOT / "tests/payouts/safe.mjs")]
    done = subprocess.run(
        command, env=os.environ | given, input=file, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_safes_own_kit_executes_the_file_and_the_payouts_are_paid_and_survive_reorgs(
    base_node: Anvil, base_watcher: Any, settings: Any
) -> None:
    settings.MOVEMENT_CONSUMERS = []
    make = partial(deploy, base_node)
    contracts = {name: make(SAFE / path) for name, path in CONTRACTS.items()}
    safe = make(SAFE / "proxies/SafeProxy.sol/SafeProxy.json", contracts["safeSingletonAddress"])
    set_up(base_node, safe, contracts["fallbackHandlerAddress"])
    paying.transfer(base_node, payer(base_node), USDC, safe, 12_000_000)
    merchant = make_merchant()
    person, now = make_approver(merchant), timezone.now()
    watch_wallet(merchant, mode=Mode.LIVE, chain="base", address=safe, now=now - timedelta(hours=1))
    read_all(base_watcher)
    lines = [(5_000_000, BUYER), (7_000_000, OTHER_BUYER)]
    payouts = [approved(make_payout(merchant, units, address=to), person) for units, to in lines]
    # The chain's blocks may have an older time than the tests' noon.
    Payout.objects.update(created_at=now - timedelta(days=365))
    wanted = Wanted([one.public_id for one in payouts], safe, Method.SAFE)
    batch = make_batch(merchant, Mode.LIVE, wanted, actor=Actor(person), now=now)
    before = [balance_of(base_node, USDC, to) for _, to in lines]
    said = executed(base_node, safe, contracts, batch_order(batch).safe_file(safe, at=now))
    # All or none: one call of the contract that makes several.
    assert (said["status"], said["to"], said["nonce"]) == ("success", contracts["multiSendCallOnlyAddress"], 0)
    got = [balance_of(base_node, USDC, to) - had for (_, to), had in zip(lines, before, strict=True)]
    assert (got, balance_of(base_node, USDC, safe)) == ([5_000_000, 7_000_000], 0)
    go_through_reorgs(base_node, base_watcher, said["hash"])


def go_through_reorgs(node: Anvil, watcher: Any, tx_hash: str) -> None:
    """A reorg takes the Safe's transaction back before it is final, it returns and pays, and is taken back once more."""
    before, raw = node.block_number() - 1, node.rpc("eth_getRawTransactionByHash", tx_hash)

    def told() -> list[Any]:
        read_all(watcher)
        follow_movements(now=timezone.now())
        return list(Payout.objects.values_list("status", "exception", "movement__tx_hash").distinct())

    assert told() == [(PayoutStatus.SENDING, "", tx_hash)]
    node.reorg(node.block_number() - before)
    node.mine()
    # Nothing of it counts any more, and nothing is free to be paid in another way.
    assert told() == [(PayoutStatus.SENDING, "", None)]
    # Whoever has the transaction sends it again; the Safe's number lets it in once.
    assert send_raw(node, raw) == tx_hash
    node.mine(CONFIRMATIONS)
    assert told() == [(PayoutStatus.PAID, "", tx_hash)]
    node.reorg(node.block_number() - before)
    node.mine(3)
    assert told() == [(PayoutStatus.PAID, "", tx_hash)]
    assert ChainCursor.objects.get().halted_reason
    resume("base", height=before, now=timezone.now())
    assert told() == [(PayoutStatus.PAID, PayoutException.REVERSED, tx_hash)]
