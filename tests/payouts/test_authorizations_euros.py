"""Payouts of EURC by EIP-3009 on a local Base: signed under its own name, and only where our gas account sends it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError
from localnet.anvil import Anvil
from localnet.authorizations import lay_eurc
from localnet.tokens import balance_of
from payouts.batches.authorizations import authorization_of, domain_of
from payouts.batches.relays import send_signed
from payouts.models import Payout, PayoutRequest
from payouts.states import PayoutStatus
from tests.checkouts.watcher import Watcher, attribute
from tests.factories import make_checkout
from tests.payouts.factories import BUYER, approved, refund_of
from tests.payouts.signing import UNITS, Desk, following_base, open_desk
from tests.x402.euros import take_euros
from wallets.chains.evm.authorizations import domains
from wallets.chains.family import TokenDomain
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(base_node: Anvil, usdc: str, merchant: Merchant, settings: Any) -> Desk:
    """The merchant's."""
    return open_desk(base_node, usdc, merchant, settings)


@pytest.fixture
def follow(desk: Desk) -> Iterator[Callable[[], None]]:
    """Reads Base to its head, and follows what was read."""
    del desk
    yield from following_base()


@pytest.fixture
def eurc(desk: Desk) -> str:
    """EURC's address: a second token that takes authorisations. The paying wallet has a million."""
    domains._domains.clear()
    return lay_eurc(desk.node)


def owed_in_euros(desk: Desk) -> Payout:
    """An approved refund of euros that came for a checkout in dollars."""
    checkout, watcher = make_checkout(desk.merchant), Watcher()
    came = watcher.sees(checkout, UNITS, token="EURC")
    watcher.confirms()
    attribute()
    return approved(refund_of(checkout, transfer=came, address=BUYER).payout, desk.person)


def test_euros_are_signed_for_under_their_own_name_and_paid_in_euros(
    desk: Desk, follow: Callable[[], None], eurc: str, settings: Any
) -> None:
    take_euros(settings)
    payout = owed_in_euros(desk)
    batch = desk.hand_out(payout)
    follow()
    request = PayoutRequest.objects.get()
    domain = authorization_of(request).typed()["domain"]
    assert domain == {"name": "EURC", "version": "2", "chainId": 8453, "verifyingContract": eurc}
    desk.sign(batch, payout)
    assert send_signed(now=timezone.now()) == 1
    assert (balance_of(desk.node, eurc, BUYER), desk.received()) == (UNITS, 0)
    desk.node.mine(chain_spec("base").confirmations)
    follow()
    payout.refresh_from_db()
    assert (payout.status, payout.token) == (PayoutStatus.PAID, "EURC")


def test_a_token_that_our_gas_account_never_sends_is_not_signed_for(desk: Desk, eurc: str, settings: Any) -> None:
    """Euros that came where the operator takes none: what is signed for them would wait for its end, a day long."""
    del eurc
    assert domain_of(chain_spec("base"), "EURC") is None
    payout = owed_in_euros(desk)
    with pytest.raises(InvalidRequestError, match="cannot be asked"):
        desk.hand_out(payout)
    take_euros(settings)
    assert domain_of(chain_spec("base"), "EURC") == TokenDomain("EURC", "2")
