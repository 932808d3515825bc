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
from payouts.batches.service import Wanted, batch_order, cancel_batch, close_batches, make_batch
from payouts.following.service import follow_movements
from payouts.models import Payout, PayoutBatch
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
LINES: Final = [(5_000_000, BUYER), (7_000_000, OTHER_BUYER)]
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


class Safe:
    """A Safe of two owners, who must both sign. It holds 12 USDC."""

    def __init__(self, node: Anvil) -> None:
        make = partial(deploy, node)
        self._node = node
        self._contracts = {name: make(SAFE / path) for name, path in CONTRACTS.items()}
        singleton, handler = self._contracts["safeSingletonAddress"], self._contracts["fallbackHandlerAddress"]
        self.address = make(SAFE / "proxies/SafeProxy.sol/SafeProxy.json", singleton)
        self.multi_send = self._contracts["multiSendCallOnlyAddress"]
        set_up(node, self.address, handler)
        paying.transfer(node, payer(node), USDC, self.address, 12_000_000)

    def executes(self, file: str) -> dict[str, Any]:
        """What Safe's kit did with a file, signed by all owners."""
        given = {
            "RPC_URL": self._node.url,
            "SAFE": self.address,
            "OWNER_KEYS": ",".join(account.key for account in self._node.accounts[:OWNERS]),
            "CONTRACTS": json.dumps(self._contracts),
        }
        command = ["node", str(ROOT / "tests/payouts/safe.mjs")]
        done = subprocess.run(
            command, env=os.environ | given, input=file, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said


def frozen_for(safe: Safe, watcher: Any) -> PayoutBatch:
    """Payouts of 5 and 7 USDC that a Safe is asked for."""
    merchant = make_merchant()
    person, now = make_approver(merchant), timezone.now()
    watch_wallet(merchant, mode=Mode.LIVE, chain="base", address=safe.address, now=now - timedelta(hours=1))
    read_all(watcher)
    payouts = [approved(make_payout(merchant, units, address=to), person) for units, to in LINES]
    # The chain's blocks may have an older time than the tests' noon.
    Payout.objects.update(created_at=now - timedelta(days=365))
    wanted = Wanted([one.public_id for one in payouts], safe.address, Method.SAFE)
    return make_batch(merchant, Mode.LIVE, wanted, actor=Actor(person), now=now)


def told(watcher: Any) -> list[Any]:
    """What the payouts are once all is read: their statuses, exceptions and transactions."""
    read_all(watcher)
    follow_movements(now=timezone.now())
    return list(Payout.objects.values_list("status", "exception", "movement__tx_hash").distinct())


def test_safes_own_kit_executes_the_file_and_the_payouts_are_paid_and_survive_reorgs(
    base_node: Anvil, base_watcher: Any, settings: Any
) -> None:
    settings.MOVEMENT_CONSUMERS = []
    safe = Safe(base_node)
    batch = frozen_for(safe, base_watcher)
    before = [balance_of(base_node, USDC, to) for _, to in LINES]
    said = safe.executes(batch_order(batch).safe_file(safe.address, at=batch.created_at))
    # All or none: one call of the contract that makes several.
    assert (said["status"], said["to"], said["nonce"]) == ("success", safe.multi_send, 0)
    got = [balance_of(base_node, USDC, to) - had for (_, to), had in zip(LINES, before, strict=True)]
    assert (got, balance_of(base_node, USDC, safe.address)) == ([5_000_000, 7_000_000], 0)
    go_through_reorgs(base_node, base_watcher, said["hash"])


def test_a_file_is_paid_after_another_transaction_used_the_nonce_so_that_frees_nothing(
    base_node: Anvil, base_watcher: Any, settings: Any
) -> None:
    """Decision 42: a nonce ends what was signed with it, and no file."""
    settings.MOVEMENT_CONSUMERS = []
    safe = Safe(base_node)
    batch = frozen_for(safe, base_watcher)
    file = batch_order(batch).safe_file(safe.address, at=batch.created_at)
    cancel_batch(batch, actor=Actor(batch.created_by), now=timezone.now())
    # Signers reject what is queued by a transaction of the same nonce with nothing in it.
    nothing = {"transactions": [{"to": safe.address, "value": "0", "data": "0x"}]}
    said = safe.executes(json.dumps(json.loads(file) | nothing))
    assert (said["status"], said["nonce"]) == ("success", 0)
    base_node.mine(CONFIRMATIONS)
    assert told(base_watcher) == [(PayoutStatus.SENDING, "", None)]
    assert close_batches(now=timezone.now()) == 0
    assert told(base_watcher) == [(PayoutStatus.SENDING, "", None)]
    said = safe.executes(file)
    assert (said["status"], said["nonce"]) == ("success", 1)
    base_node.mine(CONFIRMATIONS)
    assert told(base_watcher) == [(PayoutStatus.PAID, "", said["hash"])]
    assert balance_of(base_node, USDC, safe.address) == 0


def go_through_reorgs(node: Anvil, watcher: Any, tx_hash: str) -> None:
    """A reorg takes the Safe's transaction back before it is final, it returns and pays, and is taken back once more."""
    before, raw = node.block_number() - 1, node.rpc("eth_getRawTransactionByHash", tx_hash)

    assert told(watcher) == [(PayoutStatus.SENDING, "", tx_hash)]
    node.reorg(node.block_number() - before)
    node.mine()
    # Nothing of it counts any more, and nothing is free to be paid in another way.
    assert told(watcher) == [(PayoutStatus.SENDING, "", None)]
    # Whoever has the transaction sends it again; the Safe's number lets it in once.
    assert send_raw(node, raw) == tx_hash
    node.mine(CONFIRMATIONS)
    assert told(watcher) == [(PayoutStatus.PAID, "", tx_hash)]
    node.reorg(node.block_number() - before)
    node.mine(3)
    assert told(watcher) == [(PayoutStatus.PAID, "", tx_hash)]
    assert ChainCursor.objects.get().halted_reason
    resume("base", height=before, now=timezone.now())
    assert told(watcher) == [(PayoutStatus.PAID, PayoutException.REVERSED, tx_hash)]
