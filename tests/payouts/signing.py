"""Somebody who hands out payouts on a local Base, where the paying wallet signs for USDC (EIP-3009) and our gas account sends."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.utils import timezone
from eth_account import Account

from accounts.audit.actors import Actor
from accounts.models import Merchant, User
from accounts.states import Mode
from localnet.anvil import Anvil, FundedAccount
from localnet.tokens import balance_of
from payouts.batches.authorizations import authorization_of, take_signature
from payouts.batches.relays import send_signed
from payouts.batches.service import Wanted, make_batch
from payouts.following.service import follow_movements
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.states import Method
from tests.payouts.factories import BUYER, OTHER_BUYER, approved, make_approver, make_payout
from tests.wallets.factories import read_all
from wallets import selectors
from wallets.chains.registry import open_pool
from wallets.models import ChainCursor
from wallets.networks import chain_spec
from wallets.watcher_process import open_watcher

UNITS = 5_000_000
CHANGES: list[dict[str, Any]] = [{"address": OTHER_BUYER}, {"units": UNITS + 1}, {"reference": "another"}]
"""What may become another in a payout's row."""


class Desk:
    """A merchant on Base whose wallet holds USDC, and a person who hands out payouts."""

    def __init__(self, node: Anvil, usdc: str, merchant: Merchant) -> None:
        self.node, self.usdc, self.merchant = node, usdc, merchant
        self.wallet: FundedAccount = node.accounts[1]
        self.person: User = make_approver(merchant)

    def payout(self, **values: Any) -> Payout:
        """An approved payout."""
        return approved(make_payout(self.merchant, UNITS, **values), self.person)

    def hand_out(self, *payouts: Payout, now: datetime | None = None) -> PayoutBatch:
        """A batch of approved payouts, to be signed."""
        wanted = Wanted([one.public_id for one in payouts], self.wallet.address, Method.AUTHORIZATION)
        return make_batch(self.merchant, Mode.LIVE, wanted, actor=Actor(self.person), now=now or timezone.now())

    def signature(self, payout: Payout, key: str | None = None) -> str:
        """What a key, the paying wallet's by default, signs of what was handed out last."""
        request = PayoutRequest.objects.filter(payout=payout).latest("pk")
        typed = authorization_of(request).typed()
        return "0x" + bytes(Account.sign_typed_data(key or self.wallet.key, full_message=typed).signature).hex()

    def sign(self, batch: PayoutBatch, payout: Payout, **values: Any) -> PayoutRequest:
        """Sign a payout in the wallet, and give the server the signature."""
        return take_signature(batch, payout.public_id, self.signature(payout, **values), now=timezone.now())

    def pay(self, payout: Payout) -> PayoutRequest:
        """Hand a payout out, sign it, and let the gas account send it."""
        self.sign(self.hand_out(payout), payout)
        send_signed(now=timezone.now())
        return PayoutRequest.objects.filter(payout=payout).latest("pk")

    def received(self, address: str = BUYER) -> int:
        """What a recipient holds."""
        return balance_of(self.node, self.usdc, address)


def open_desk(node: Anvil, usdc: str, merchant: Merchant, settings: Any) -> Desk:
    """Return a merchant's, whose outflows nobody follows but the test."""
    settings.MOVEMENT_CONSUMERS = []
    return Desk(node, usdc, merchant)


def following_base() -> Iterator[Callable[[], None]]:
    """Yield what reads Base to its head, and follows what was read."""
    spec = chain_spec("base")
    watcher = open_watcher(spec, open_pool(spec), owner="one")

    def follow() -> None:
        read_all(watcher)
        follow_movements(now=timezone.now())

    yield follow
    watcher.close()


def read_until(when: datetime) -> None:
    """Base was read up to a moment."""
    ChainCursor.objects.filter(chain="base").update(read_through_at=when, head_time=when)
    selectors.forget()


def forgotten(desk: Desk, payout: Payout) -> Payout:
    """The shop asks for a payout again, which a restored database knows nothing of; its recipient has another address now."""
    Payout.objects.filter(pk=payout.pk).update(reference="")
    return desk.payout(reference="rma-17", address=OTHER_BUYER)
