"""Signed bytes are forgotten once nobody could send them again, and what they were for is not."""

from datetime import timedelta

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from settlements.gas.broadcast import find_receipt
from settlements.gas.node import GasNode
from settlements.gas.retention import RAW_KEPT, SPANS_KEPT, prune_raw, prune_spans
from settlements.gas.upkeep import tend
from settlements.models import GasAttempt, GasSpan, GasTransaction
from settlements.states import TransactionState
from settlements.tasks import prune_gas_task
from tests.settlements.calls import ask
from tests.settlements.chain import CONFIRMATIONS

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def test_the_bytes_of_used_numbers_are_emptied_after_ninety_days(base_gas_node: GasNode, base_node: Anvil) -> None:
    now = timezone.now()
    mined = ask(base_gas_node, "one")
    tend("base", node=base_gas_node, now=now)
    base_node.mine(CONFIRMATIONS)
    tend("base", node=base_gas_node, now=now)
    waiting = ask(base_gas_node, "two")
    assert prune_raw(now=now + RAW_KEPT - DAY) == 0
    assert prune_raw(now=now + RAW_KEPT + DAY) == 1
    assert bytes(mined.attempts.get().raw) == b""
    assert bytes(waiting.attempts.get().raw) != b""
    receipt = find_receipt(mined, node=base_gas_node)
    assert receipt is not None
    assert receipt.tx_hash == mined.attempts.get().tx_hash
    assert prune_raw(now=now + RAW_KEPT + DAY) == 0


def test_a_node_that_forgot_an_old_transaction_makes_nobody_send_it_again(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    now = timezone.now()
    old = ask(base_gas_node, "one")
    long_ago = now - RAW_KEPT - DAY
    GasTransaction.objects.filter(pk=old.pk).update(state=TransactionState.MINED, mined_at=long_ago)
    GasAttempt.objects.update(signed_at=long_ago)
    prune_gas_task()
    ask(base_gas_node, "two")
    tend("base", node=base_gas_node, now=now)
    old.refresh_from_db()
    assert old.state == TransactionState.MINED


def test_sums_of_gas_are_kept_for_a_week(base_gas_node: GasNode) -> None:
    ask(base_gas_node, "one")
    now = timezone.now()
    assert prune_spans(now=now + SPANS_KEPT - DAY) == 0
    assert prune_spans(now=now + SPANS_KEPT + DAY) == 1
    assert not GasSpan.objects.exists()
