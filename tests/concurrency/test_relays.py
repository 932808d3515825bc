"""Signed transfers of one payer that arrive at once: one is sent, because the balance may cover one."""

from threading import Barrier

import pytest

from accounts.models import Merchant
from localnet.anvil import Anvil
from settlements.gas import relay as relays
from settlements.gas import shares
from settlements.gas.relay import BusyPayerError, Relay
from settlements.models import GasTransaction
from tests.concurrency.races import SECONDS, together
from tests.factories import make_merchant
from tests.settlements.gas.relays import send, signed_transfer
from wallets.chains.evm.authorizations.terms import TransferAuthorization

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]

MANY = 4
UNITS = 10_000
SHOP = "0x" + "41" * 20


def try_each(node: Anvil, merchant: Merchant) -> int:
    """Send several transfers of one payer at once, while nothing is mined; return how many were sent."""
    node.set_automine(False)
    signed = [signed_transfer(node, SHOP, UNITS) for _ in range(MANY)]

    def one(number: int, what: TransferAuthorization) -> bool:
        try:
            send(what, Relay(merchant.pk, str(number), is_alone=True))
        except BusyPayerError:
            return False
        return True

    try:
        return sum(together(*[lambda number=n, what=w: one(number, what) for n, w in enumerate(signed)]))
    finally:
        node.set_automine(True)


def test_of_several_at_once_one_is_sent(base_node: Anvil, usdc: str) -> None:
    assert try_each(base_node, make_merchant()) == 1
    assert GasTransaction.objects.count() == 1


def test_without_the_lock_of_a_payer_several_would_be_sent(
    base_node: Anvil, usdc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test before this one."""
    gathered = Barrier(MANY)
    look = shares.has_open

    def look_together(chain: str, payer: str) -> bool:
        found = look(chain, payer)
        gathered.wait(SECONDS)
        return found

    monkeypatch.setattr(relays, "lock_payer", lambda *_: None)
    monkeypatch.setattr(relays, "has_open", look_together)
    assert try_each(base_node, make_merchant()) == MANY
