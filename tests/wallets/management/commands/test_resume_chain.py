"""A person has a stopped chain read on."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from localnet.anvil import Anvil
from localnet.funding import payer
from tests.wallets.factories import address_of, make_deposit, read_all
from tests.wallets.paying import transfer
from tests.wallets.watchers.test_blocks_reorgs import ORPHANED, USDC, assert_follows_the_node, fork
from wallets.models import Transfer
from wallets.watchers.blocks import Watcher

pytestmark = pytest.mark.django_db


def test_a_person_can_let_a_stopped_chain_go_on_from_where_it_forked(base_node: Anvil, watcher: Watcher) -> None:
    forked_at = base_node.block_number()
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    base_node.mine(6)
    read_all(watcher)
    fork(base_node, 7)
    base_node.mine()
    read_all(watcher)
    told = StringIO()
    call_command("resume_chain", "base", str(forked_at), stdout=told)
    assert "1 transfers count as orphaned" in told.getvalue()
    assert Transfer.objects.get().state == ORPHANED
    read_all(watcher)
    assert_follows_the_node(base_node)


@pytest.mark.parametrize("arguments", [("base", "5"), ("base", "-1")], ids=["unread", "negative"])
def test_only_a_chain_that_was_read_can_go_on(arguments: tuple[str, str]) -> None:
    with pytest.raises(CommandError):
        call_command("resume_chain", "--", *arguments)
